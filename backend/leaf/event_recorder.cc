#include "backend/leaf/event_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/fnv.h"
#include "wire/registration.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kWindowBytes = 1u << 20;
// Rows of this number of ranks fit into a small journal at once.
constexpr std::size_t kRanksAtOnce = 1024;
constexpr std::size_t kMaxNameBytes = 256;
constexpr Nanos kShortestWindow = 1 * kMillisecond;
constexpr std::uint32_t kMaxRanks = 1u << 20;

// Makes a 16-byte key from two hashes of the same bytes. So different names give different keys in
// practice.
wire::WorldKey key_of_world(const EventSourceOptions& options) {
  wire::WorldKey key{};
  for (std::size_t half = 0; half < 2; ++half) {
    Fnv1a hash(half);
    for (const char c : options.world) hash.add(static_cast<std::uint8_t>(c));
    for (int shift = 0; shift < 32; shift += 8) {
      hash.add(static_cast<std::uint8_t>(options.world_size >> shift));
    }
    for (std::size_t i = 0; i < 8; ++i) {
      key[8 * half + i] = static_cast<std::uint8_t>(hash.value() >> (8 * i));
    }
  }
  return key;
}

// The classes are those of the records; event_source.h names them for users of the library.
static_assert(static_cast<int>(SourceFunction::Class::kPointToPoint) ==
              static_cast<int>(capture::FunctionClass::kPointToPoint));
static_assert(static_cast<int>(SourceFunction::Class::kTool) ==
              static_cast<int>(capture::FunctionClass::kTool));

std::uint16_t flags_of(SourceCall::Direction direction) {
  if (direction == SourceCall::Direction::kSend) return capture::kRecordSend;
  if (direction == SourceCall::Direction::kReceive) return capture::kRecordReceive;
  return 0;
}

TimedRecord record_of(const SourceCall& event) {
  TimedRecord timed;
  timed.begin_ns = event.begin_ns;
  timed.end_ns = event.end_ns;
  timed.record = {};
  timed.record.bytes = std::min(event.bytes, capture::kMaxRecordBytes) & capture::kMaxRecordBytes;
  timed.record.comm = capture::kNoComm;
  timed.record.peer = event.peer ? static_cast<std::int32_t>(raw(*event.peer)) : capture::kNoPeer;
  timed.record.tag = event.tag;
  timed.record.calls = 1;
  timed.record.function = raw(event.function) & (capture::kMaxFunctions - 1);
  timed.record.flags = flags_of(event.direction);
  timed.record.cpu = capture::kNoCpu;
  capture::set_result(timed.record, event.result);
  timed.thread = event.thread;
  return timed;
}

Unexpected wrong(const std::string& why) {
  return unexpected(Code::kInvalidArgument, "event source: " + why);
}

Result<void> check_length(const std::string& what, const std::string& text) {
  if (text.size() <= kMaxNameBytes) return {};
  return wrong(what + " has " + std::to_string(text.size()) + " bytes; " +
               std::to_string(kMaxNameBytes) + " are the most");
}

}  // namespace

Result<void> EventRecorder::check(const EventSourceOptions& options) {
  if (options.ranks == 0) return wrong("it has no ranks");
  if (options.world_size > kMaxRanks) {
    return wrong("a world of " + std::to_string(options.world_size) + " ranks; " +
                 std::to_string(kMaxRanks) + " are the most");
  }
  const std::uint32_t first_rank = raw(options.first_rank);
  if (first_rank >= options.world_size || options.ranks > options.world_size - first_rank) {
    return wrong("ranks " + std::to_string(first_rank) + " and " +
                 std::to_string(options.ranks - 1) + " more are not in a world of " +
                 std::to_string(options.world_size));
  }
  if (options.functions.empty() || options.functions.size() > capture::kMaxFunctions) {
    return wrong(std::to_string(options.functions.size()) + " functions; 1 to " +
                 std::to_string(capture::kMaxFunctions) + " are possible");
  }
  if (options.leaf.journal_bytes < kMinJournal) {
    return wrong("journal_bytes of " + std::to_string(options.leaf.journal_bytes) + "; at least " +
                 std::to_string(kMinJournal) + " are needed");
  }
  for (const SourceFunction& function : options.functions) {
    if (function.name.empty()) return wrong("a function has no name");
    if (auto good = check_length("a function's name", function.name); !good) return good;
  }
  if (auto good = check_length("clock", options.clock); !good) return good;
  return check_length("program", options.program);
}

EventRecorder::EventRecorder(const EventSourceOptions& options, LeafId leaf, Nanos window_ns,
                             bool chunks)
    : options_(options),
      leaf_(leaf),
      window_ns_(std::max(window_ns, kShortestWindow)),
      chunks_(chunks),
      builder_(leaf),
      processes_(options.ranks) {
  for (Process& process : processes_) process.calls_so_far.resize(options.functions.size());
  register_ranks();
}

void EventRecorder::configure(Nanos window_ns, bool chunks) {
  window_ns_ = std::max(window_ns, kShortestWindow);
  if (!chunks) make_chunks();
  chunks_ = chunks;
}

void EventRecorder::register_ranks() {
  const wire::WorldKey key = key_of_world(options_);
  wire::Registration registration;
  registration.host = options_.leaf.name;
  for (const SourceFunction& function : options_.functions) {
    const auto id = static_cast<std::uint16_t>(registration.functions.size());
    registration.functions.push_back(
        {FunctionId{id}, function.name, static_cast<std::uint8_t>(function.function_class)});
  }
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    wire::ProcessRow row;
    row.lane = lane_of(i);
    row.pid = static_cast<std::uint32_t>(::getpid());
    row.initialised = true;
    row.world_key = key;
    row.rank = Rank{static_cast<std::uint32_t>(raw(options_.first_rank) + i)};
    row.world_size = options_.world_size;
    row.program = options_.program;
    row.clock = options_.clock;
    registration.processes.push_back(std::move(row));
    if (registration.processes.size() < kRanksAtOnce && i + 1 < processes_.size()) continue;
    Draft draft;
    draft.packet.id.stream = wire::kRegistrationStream;
    draft.packet.id.wave = number++;
    draft.packet.id.wave_end = number;
    draft.packet.id.sources = IntervalSet::of(raw(leaf_));
    draft.packet.payload = wire::encode(registration);
    ready_.push_back(std::move(draft));
    registration.functions.clear();
    registration.processes.clear();
  }
}

Result<void> EventRecorder::check(const SourceCall& event) const {
  const std::uint32_t rank = raw(event.rank);
  if (event.rank < options_.first_rank || rank - raw(options_.first_rank) >= options_.ranks) {
    return wrong("rank " + std::to_string(rank) + " is not its own");
  }
  if (raw(event.function) >= options_.functions.size()) {
    return wrong("function " + std::to_string(raw(event.function)) + " was not named");
  }
  if (event.peer && raw(*event.peer) >= options_.world_size) {
    return wrong("the peer " + std::to_string(raw(*event.peer)) + " is not one of the world's " +
                 std::to_string(options_.world_size) + " ranks");
  }
  if (event.begin_ns < 0 || event.end_ns < event.begin_ns) {
    return wrong("an event from " + std::to_string(event.begin_ns) + " to " +
                 std::to_string(event.end_ns) + " ns");
  }
  if (event.end_ns < last_end_) {
    return wrong("an event of rank " + std::to_string(rank) + " that ends at " +
                 std::to_string(event.end_ns) + " ns after one that ended at " +
                 std::to_string(last_end_) + " ns; give them in the order in which they end");
  }
  return {};
}

Result<void> EventRecorder::add(const SourceCall& event) {
  if (auto good = check(event); !good) return good;
  last_end_ = event.end_ns;
  if (builder_.is_open() && builder_.end_ns() <= event.end_ns) {
    if (!builder_.empty()) seal(false);
    builder_.close();
  }
  if (!builder_.is_open()) open_slice(slice_of(event.end_ns, window_ns_));

  const std::size_t place = raw(event.rank) - raw(options_.first_rank);
  const Lane lane = lane_of(place);
  Process& process = processes_[place];
  const TimedRecord timed = record_of(event);
  CHECK(builder_.add(lane, {&timed, 1}, true) == 1);
  ++process.captured;
  ++process.windowed;
  if (chunks_) {
    process.pending.push_back(event_of(timed));
    ++pending_;
    if (process.pending.size() == wire::kMaxChunkEvents) make_chunk(process, lane);
    if (pending_ >= kMaxPending) make_chunks();
  }
  if (builder_.approximate_bytes() >= kWindowBytes) seal(false);
  return {};
}

// The slice must not be before a sealed slice, because wave numbers only grow.
void EventRecorder::open_slice(std::uint64_t slice) {
  builder_.open(std::max(slice, wire::window_slice(next_wave_)), window_ns_);
}

// The accounts of many ranks need several parts.
void EventRecorder::seal(bool last) {
  wire::ProfileWindow part = builder_.build();
  for (wire::ProfileRow& row : part.rows) {
    std::uint64_t& so_far = processes_[raw(row.lane) - 1].calls_so_far[raw(row.function)];
    so_far += row.calls;
    row.calls_so_far = so_far;
  }
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    wire::AccountRow row = account_of(lane_of(i), last);
    if (row == processes_[i].told) continue;
    if (part.accounts.size() == kRanksAtOnce) put_part(std::exchange(part, {}), false);
    processes_[i].told = row;
    part.accounts.push_back(std::move(row));
  }
  put_part(std::move(part), last);
  builder_.clear();
}

void EventRecorder::put_part(wire::ProfileWindow part, bool last) {
  Draft draft;
  wire::PacketId& id = draft.packet.id;
  id.stream = wire::kWindowStream;
  id.wave = std::max(wire::window_wave(builder_.slice(), 0), next_wave_);
  id.wave_end = next_wave_ = id.wave + 1;
  id.sources = IntervalSet::of(raw(leaf_));
  part.begin_ns = static_cast<Nanos>(wire::window_slice(id.wave)) * builder_.window_ns();
  part.end_ns = part.begin_ns + builder_.window_ns();
  for (const wire::ProfileRow& row : part.rows) draft.calls += row.calls;
  draft.packet.last = last;
  draft.packet.payload = wire::encode(part);
  ready_.push_back(std::move(draft));
}

wire::AccountRow EventRecorder::account_of(Lane lane, bool ended) const {
  const Process& process = processes_[raw(lane) - 1];
  wire::AccountRow row;
  row.leaf = leaf_;
  row.lane = lane;
  row.captured = process.captured;
  row.windowed = process.windowed;
  row.events = process.events;
  row.event_calls = process.event_calls;
  row.ended = ended;
  return row;
}

void EventRecorder::make_chunks() {
  for (std::size_t i = 0; i < processes_.size() && pending_ != 0; ++i) {
    if (!processes_[i].pending.empty()) make_chunk(processes_[i], lane_of(i));
  }
}

void EventRecorder::make_chunk(Process& process, Lane lane) {
  Draft draft;
  wire::PacketId& id = draft.packet.id;
  id.stream = wire::kChunkStream;
  id.lane = lane;
  id.sources = IntervalSet::of(raw(leaf_));
  id.wave = process.events;
  id.wave_end = process.events + process.pending.size();
  draft.calls = process.pending.size();
  draft.packet.payload = encoder_.encode(process.pending);
  ready_.push_back(std::move(draft));
  pending_ -= process.pending.size();
  process.events += process.pending.size();
  process.event_calls += process.pending.size();
  process.pending = {};  // This also frees the memory, since there may be many ranks.
}

void EventRecorder::finish() {
  make_chunks();
  if (!builder_.is_open()) open_slice(slice_of(last_end_, window_ns_));
  seal(true);
  builder_.close();
}

std::vector<Draft> EventRecorder::take() { return std::exchange(ready_, {}); }

}  // namespace xylem::backend
