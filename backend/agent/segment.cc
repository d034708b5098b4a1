#include "backend/agent/segment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/log.h"
#include "base/saturating.h"

namespace xylem::backend {
namespace {

using capture::kMaxFunctions;
using capture::kMaxThreads;
using capture::Record;
using capture::SegmentHeader;
using capture::ThreadRing;

// The text may lack a zero at its end. The result is printable, because logs, the store and web
// pages show it.
std::string printable(const char* text, std::size_t room) {
  std::string copy(text, room);
  copy.resize(std::min(copy.find('\0'), copy.size()));
  for (char& c : copy) {
    if (c < ' ' || c > '~') c = '?';
  }
  return copy;
}

Result<void> check_header(const SegmentHeader& header, std::uint64_t file_bytes) {
  if (header.magic != capture::kSegmentMagic || header.layout_version != capture::kLayoutVersion) {
    return unexpected(Code::kCorrupt,
                      "a segment of another version of xylem was registered: run the job and the "
                      "agent with the same installation");
  }
  const std::uint32_t records = header.ring_records;
  if (!std::has_single_bit(records) || records < capture::kMinRingRecords ||
      records > capture::kMaxRingRecords) {
    return unexpected(Code::kCorrupt, "a segment with rings of " + std::to_string(records) +
                                          " records was registered: not a power of two from " +
                                          std::to_string(capture::kMinRingRecords) + " to " +
                                          std::to_string(capture::kMaxRingRecords));
  }
  if (header.max_rings == 0 || header.max_rings > kMaxThreads) {
    return unexpected(Code::kCorrupt, "a segment of " + std::to_string(header.max_rings) +
                                          " rings was registered: not 1 to " +
                                          std::to_string(kMaxThreads));
  }
  const std::uint64_t needed = capture::segment_bytes(header.max_rings, records);
  if (file_bytes < needed) {
    return unexpected(Code::kCorrupt, "a segment of " + std::to_string(file_bytes) +
                                          " bytes was registered where " + std::to_string(needed) +
                                          " are needed");
  }
  return {};
}

std::uint32_t within(FunctionId function) { return raw(function) & (kMaxFunctions - 1); }

// Adds a visit that has not ended to its region's sums. The process is not trusted.
void add_visit(const capture::OpenRegion& open, std::uint64_t mpi_ticks, std::uint64_t untimed,
               std::vector<SegmentRegion>& regions) {
  const std::uint64_t at = open.sum.load(std::memory_order_acquire);
  const std::uint64_t begin = open.begin_ns.load(std::memory_order_acquire);
  if (begin == 0 || begin > static_cast<std::uint64_t>(std::numeric_limits<Nanos>::max()) ||
      at >= regions.size())
    return;
  SegmentRegion& region = regions[at];
  ++region.visits;
  region.mpi_ticks +=
      saturating_subtract(mpi_ticks, open.mpi_ticks.load(std::memory_order_acquire));
  region.is_estimated |= open.untimed.load(std::memory_order_acquire) != untimed;
  region.open_since.push_back(static_cast<Nanos>(begin));
}

SegmentRegions copy_regions(const ThreadRing& ring) {
  // Sums beyond are those of a hostile process. Sums of many of them do not overflow.
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 55;
  const auto load = [](const std::atomic<std::uint64_t>& from) {
    return from.load(std::memory_order_acquire);
  };
  SegmentRegions found;
  const capture::RegionTable& table = ring.regions;
  const std::uint64_t mpi_ticks = load(ring.mpi_ticks);
  found.mpi_until = load(ring.mpi_until);
  found.dropped = load(table.dropped);
  found.lost_records = load(table.lost_records);
  const std::uint64_t count = std::min<std::uint64_t>(load(table.count), capture::kMaxRegions);
  for (std::uint64_t at = 0; at < count; ++at) {
    const capture::RegionSum& sum = table.sums[at];
    found.all.push_back({.region = load(sum.region),
                         .visits = std::min(load(sum.visits), kLimit),
                         .time_ns = std::min(load(sum.time_ns), kLimit),
                         .max_ns = std::min(load(sum.max_ns), kLimit),
                         .mpi_ticks = std::min(load(sum.mpi_ticks), kLimit),
                         .is_estimated = load(sum.estimated) != 0,
                         .open_since = {}});
  }
  const std::uint64_t untimed = load(table.untimed);
  const std::uint64_t depth = std::min<std::uint64_t>(load(table.depth), capture::kMaxRegionDepth);
  for (std::uint64_t i = 0; i < depth; ++i) add_visit(table.open[i], mpi_ticks, untimed, found.all);
  add_visit(table.level, mpi_ticks, untimed, found.all);
  return found;
}

}  // namespace

Segment::Segment(Mapping mapping, std::uint32_t max_rings, std::uint32_t ring_records)
    : mapping_(std::move(mapping)),
      records_(max_rings),
      populated_(max_rings, capture::kPopulatedBlocks),
      max_rings_(max_rings),
      ring_records_(ring_records),
      progress_(kMaxThreads) {}

Result<Segment> Segment::map(const UniqueFd& fd) {
  struct stat file {};
  if (::fstat(fd.get(), &file) != 0 ||
      static_cast<std::uint64_t>(file.st_size) < sizeof(SegmentHeader)) {
    return unexpected(Code::kCorrupt, "the registered memory is not a segment: too small");
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    const int seals = ::fcntl(fd.get(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
      return unexpected(Code::kPermissionDenied,
                        "a segment was registered that cannot be sealed against shrinking");
    }
  }
  // From here on the size cannot change.
  if (::fstat(fd.get(), &file) != 0) return unexpected(Code::kInternal, "fstat of a segment");
  const auto file_bytes = static_cast<std::uint64_t>(file.st_size);
  auto first = Mapping::of(fd.get(), sizeof(SegmentHeader));
  if (!first) return unexpected(std::move(first.error()));
  SegmentHeader seen;
  std::memcpy(static_cast<void*>(&seen), first->bytes().data(), sizeof seen);
  if (auto fine = check_header(seen, file_bytes); !fine) return unexpected(fine.error());

  auto rings = Mapping::of(fd.get(), capture::ring_offset(seen.max_rings));
  if (!rings) return unexpected(std::move(rings.error()));
  Segment segment(std::move(*rings), seen.max_rings, seen.ring_records);
  segment.pid_ = seen.pid;
  segment.start_time_ = seen.start_time;
  segment.clock_ = seen.clock == capture::ClockKind::kTsc ? capture::ClockKind::kTsc
                                                          : capture::ClockKind::kMonotonic;
  segment.read_progress();
  return segment;
}

SegmentHeader& Segment::header() const {
  return *std::launder(reinterpret_cast<SegmentHeader*>(mapping_.bytes().data()));
}

ThreadRing& Segment::ring_at(std::uint32_t ring) const {
  CHECK(ring < max_rings_);
  std::byte* at = mapping_.bytes().data() + capture::ring_offset(ring);
  return *std::launder(reinterpret_cast<ThreadRing*>(at));
}

std::uint32_t Segment::capacity(std::uint32_t ring) const noexcept {
  const std::uint32_t limit = ring_at(ring).limit.load(std::memory_order_relaxed);
  const bool is_possible = std::has_single_bit(limit) && limit >= capture::kMinRingRecords;
  return is_possible ? std::min(limit, ring_records_) : ring_records_;
}

std::span<std::byte> Segment::records(std::uint32_t ring) const {
  Mapping& memory = records_[ring];
  if (!memory.bytes().empty() || has_failed_) return memory.bytes();
  auto mapped = Mapping::more_of(mapping_, capture::records_offset(ring, max_rings_, ring_records_),
                                 capture::records_bytes(ring_records_));
  if (!mapped) {
    if (why_unreadable_.empty()) {
      log(Level::kError, "records of a process cannot be read for now",
          {{"pid", pid_}, {"why", mapped.error().message}});
    }
    why_unreadable_ = std::move(mapped.error().message);
    has_failed_ = true;
    return {};
  }
  memory = *std::move(mapped);
  return memory.bytes();
}

// The values come from a former worker, or from a hostile process. Impossible values are corrected:
// afterwards chunk_position and window_position are at most one ring before head.
void Segment::read_progress() {
  definitions_read_ = header().definitions.tail.load(std::memory_order_acquire);
  for (std::uint32_t ring = 0; ring < rings(); ++ring) {
    const ThreadRing& from = ring_at(ring);
    const std::uint64_t head = from.head.load(std::memory_order_acquire);
    const std::uint64_t oldest = head > ring_records_ ? head - ring_records_ : 0;
    RingProgress& to = progress_[ring];
    to.window_position = std::clamp(from.window_position, oldest, head);
    to.chunk_position = std::clamp(from.chunk_position, oldest, head);
    to.chunk_events = from.chunk_events;
    to.chunk_calls = from.chunk_calls;
    to.charged_ns = std::max<std::int64_t>(0, from.charged_ns);
    to.window_end_ns = std::max<std::int64_t>(0, from.window_end_ns);
    to.chunk_end_ns = std::max<std::int64_t>(0, from.chunk_end_ns);
    to.open_begin = from.open_begin;
    to.open_begin_ns = std::max<std::int64_t>(0, from.open_begin_ns);
  }
}

capture::ProcessState Segment::state() const noexcept {
  return header().state.load(std::memory_order_acquire);
}

bool Segment::has_finalized() const noexcept {
  const capture::ProcessState now = state();
  return now == capture::ProcessState::kFinalized || now == capture::ProcessState::kExited;
}

wire::ProcessRow Segment::describe() const {
  const SegmentHeader& from = header();
  wire::ProcessRow row;
  row.pid = pid_;
  row.program = printable(from.program, sizeof from.program);
  row.initialised = raw(state()) >= raw(capture::ProcessState::kRunning) && from.world_size > 0;
  if (!row.initialised) return row;
  std::memcpy(row.world_key.data(), from.world_key, row.world_key.size());
  row.rank = Rank{from.rank};
  row.world_size = from.world_size;
  row.mpi_library = printable(from.mpi_library, sizeof from.mpi_library);
  row.thread_level = static_cast<std::uint8_t>(std::min(from.thread_level, 255U));
  return row;
}

std::uint32_t Segment::function_count() const noexcept {
  return std::min(header().function_count, kMaxFunctions);
}

std::span<const FunctionId> Segment::function_ids() const noexcept {
  static constexpr auto kIds = [] {
    std::array<FunctionId, kMaxFunctions> ids{};
    for (std::size_t at = 0; at < ids.size(); ++at) {
      ids[at] = FunctionId{static_cast<std::uint16_t>(at)};
    }
    return ids;
  }();
  return std::span(kIds).first(function_count());
}

std::vector<wire::FunctionRow> Segment::functions() const {
  std::vector<wire::FunctionRow> rows(function_count());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const capture::FunctionEntry& from = header().functions[i];
    rows[i].id = FunctionId{static_cast<std::uint16_t>(i)};
    rows[i].name = printable(from.name, sizeof from.name);
    rows[i].function_class = static_cast<std::uint8_t>(from.function_class);
  }
  return rows;
}

std::uint32_t Segment::rings() const noexcept {
  return std::min(header().threads.load(std::memory_order_acquire), max_rings_);
}

SegmentCounters Segment::counters() const {
  SegmentCounters sum;
  const std::uint32_t functions = function_count();
  for (std::uint32_t ring = 0; ring < rings(); ++ring) {
    const ThreadRing& from = ring_at(ring);
    sum.lost_messages += from.lost_messages.load(std::memory_order_acquire);
    sum.lost_message_bytes += from.lost_message_bytes.load(std::memory_order_acquire);
    sum.lost_parts += from.lost_parts.load(std::memory_order_acquire);
    sum.lost_receives += from.lost_receives.load(std::memory_order_acquire);
    for (std::uint32_t f = 0; f < functions; ++f) {
      // Losses are read first. A call is counted before it is lost, so `lost` is never above
      // `calls`.
      sum.lost += from.lost[f].load(std::memory_order_acquire);
      sum.calls += from.calls[f].load(std::memory_order_relaxed) +
                   from.inner_calls[f].load(std::memory_order_relaxed);
    }
  }
  const std::uint64_t ringless = header().ringless_calls.load(std::memory_order_relaxed);
  sum.lost += ringless;
  sum.calls += ringless;
  sum.untracked_receives = header().untracked_requests.load(std::memory_order_relaxed);
  return sum;
}

std::uint64_t Segment::calls(FunctionId function) const {
  std::uint64_t sum = 0;
  for (std::uint32_t ring = 0; ring < rings(); ++ring) {
    sum += ring_at(ring).calls[within(function)].load(std::memory_order_relaxed) +
           ring_at(ring).inner_calls[within(function)].load(std::memory_order_relaxed);
  }
  return sum;
}

std::uint64_t Segment::lost(FunctionId function) const {
  std::uint64_t sum = 0;
  for (std::uint32_t ring = 0; ring < rings(); ++ring) {
    sum += ring_at(ring).lost[within(function)].load(std::memory_order_acquire);
  }
  return sum;
}

bool Segment::is_sampled(FunctionId function) const {
  return header().sample_every[within(function)].load(std::memory_order_relaxed) > 1;
}

bool Segment::never_waits(FunctionId function) const {
  return header().functions[within(function)].never_waits != 0;
}

std::uint64_t Segment::end(std::uint32_t ring) const noexcept {
  const std::uint64_t head = ring_at(ring).head.load(std::memory_order_acquire);
  return ends_.empty() ? head : std::min(head, ends_[ring]);
}

std::uint64_t Segment::waiting(std::uint32_t ring, std::uint64_t position) const noexcept {
  const std::uint64_t head = end(ring);
  const RingProgress& at = progress_[ring];
  const std::uint64_t tail = std::min(at.window_position, at.chunk_position);
  if (head - tail > capacity(ring) || position < tail || position > head) return 0;
  return head - position;
}

std::uint64_t Segment::available(std::uint32_t ring, std::uint64_t position) const noexcept {
  const std::uint64_t count = waiting(ring, position);
  return count == 0 || records(ring).empty() ? 0 : count;
}

std::uint64_t Segment::unreadable(std::uint32_t ring, std::uint64_t position) const noexcept {
  const std::uint64_t count = waiting(ring, position);
  return count == 0 || !records(ring).empty() ? 0 : count;
}

std::uint64_t Segment::recorded_calls(std::uint32_t ring, FunctionId function) const {
  const ThreadRing& from = ring_at(ring);
  const std::uint64_t lost = from.lost[within(function)].load(std::memory_order_acquire);
  const std::uint64_t calls = from.calls[within(function)].load(std::memory_order_relaxed);
  return calls - std::min(calls, lost);
}

std::optional<OpenCall> Segment::under_way(std::uint32_t ring) const noexcept {
  constexpr int kTries = 4;
  const capture::CallUnderWay& from = ring_at(ring).under_way;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t begin = from.begin.load(std::memory_order_acquire);
    if (begin == 0) return std::nullopt;
    OpenCall call{begin, FunctionId{}, capture::kNoPeer, wire::kNoComm};
    const std::uint64_t where = from.where.load(std::memory_order_acquire);
    const std::uint32_t function = from.function.load(std::memory_order_acquire);
    if (from.begin.load(std::memory_order_acquire) != begin) continue;
    call.function = FunctionId{static_cast<std::uint16_t>(function & (kMaxFunctions - 1))};
    call.peer = std::max(capture::peer_of(where), capture::kNoPeer);
    call.comm = CommId{capture::comm_of(where)};
    return call;
  }
  return std::nullopt;
}

std::optional<SegmentRegions> Segment::regions(std::uint32_t ring) const {
  constexpr int kTries = 8;
  const std::atomic<std::uint64_t>& version = ring_at(ring).regions_version;
  if (version.load(std::memory_order_acquire) == 0) return SegmentRegions{};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = version.load(std::memory_order_acquire);
    SegmentRegions found = copy_regions(ring_at(ring));
    std::atomic_thread_fence(std::memory_order_acquire);
    const bool is_whole = before % 2 == 0 && version.load(std::memory_order_relaxed) == before;
    // A process that was killed in a change leaves an odd version.
    if (is_whole || (i + 1 == kTries && !ends_.empty())) return found;
  }
  return std::nullopt;
}

void Segment::freeze() {
  if (!ends_.empty()) return;
  std::vector<std::uint64_t> ends;
  for (std::uint32_t ring = 0; ring < max_rings_; ++ring) {
    ends.push_back(ring < rings() ? ring_at(ring).head.load(std::memory_order_acquire) : 0);
  }
  ends_ = std::move(ends);
  definitions_end_ = definitions_head();
}

std::size_t Segment::read(std::uint32_t ring, std::uint64_t position, std::span<Record> out) const {
  const std::size_t count = std::min<std::size_t>(available(ring, position), out.size());
  if (count == 0) return 0;
  const ThreadRing& from = ring_at(ring);
  const std::byte* memory = records(ring).data();
  const std::uint32_t limit = capacity(ring);
  const std::uint64_t block_records = limit / capture::kRingBlocks;
  for (std::size_t done = 0; done < count;) {
    const std::uint64_t number = position + done;
    const std::size_t piece =
        std::min<std::size_t>(count - done, block_records - number % block_records);
    std::memcpy(out.data() + done, memory + capture::slot_of(from, number, limit) * sizeof(Record),
                piece * sizeof(Record));
    done += piece;
  }
  return count;
}

bool Segment::is_filling(std::uint32_t ring) const noexcept {
  const RingProgress& at = progress_[ring];
  return available(ring, std::min(at.window_position, at.chunk_position)) > capacity(ring) / 2;
}

void Segment::look_ahead(std::uint32_t ring) {
  constexpr std::uint32_t kAhead = 2;
  const ThreadRing& from = ring_at(ring);
  if (from.head.load(std::memory_order_relaxed) == 0 || records_[ring].bytes().empty()) return;
  std::uint32_t highest = 0;
  for (const auto& block : from.block_of)
    highest = std::max<std::uint32_t>(highest, block.load(std::memory_order_relaxed));
  std::uint32_t& populated = populated_[ring];
  const std::uint32_t wanted = std::min(highest + 1 + kAhead, capture::kRingBlocks);
  if (wanted <= populated) return;
  const std::size_t block_bytes =
      std::size_t{capacity(ring) / capture::kRingBlocks} * sizeof(Record);
  if (block_bytes % capture::kPage == 0)
    records_[ring].populate(populated * block_bytes, (wanted - populated) * block_bytes);
  populated = wanted;
}

void Segment::advance(std::uint32_t ring, const RingProgress& to) {
  if (ring >= max_rings_) return;  // A predecessor was told of more rings than there are now.
  RingProgress& at = progress_[ring];
  at.window_position = std::max(at.window_position, to.window_position);
  at.chunk_position = std::max(at.chunk_position, to.chunk_position);
  at.chunk_events = std::max(at.chunk_events, to.chunk_events);
  at.chunk_calls = std::max(at.chunk_calls, to.chunk_calls);
  at.charged_ns = std::max(at.charged_ns, to.charged_ns);
  at.window_end_ns = std::max(at.window_end_ns, to.window_end_ns);
  at.chunk_end_ns = std::max(at.chunk_end_ns, to.chunk_end_ns);
  if (to.open_begin > at.open_begin) {
    at.open_begin = to.open_begin;
    at.open_begin_ns = to.open_begin_ns;
  }
  ThreadRing& shared = ring_at(ring);
  shared.window_position = at.window_position;
  shared.chunk_position = at.chunk_position;
  shared.chunk_events = at.chunk_events;
  shared.chunk_calls = at.chunk_calls;
  shared.charged_ns = at.charged_ns;
  shared.window_end_ns = at.window_end_ns;
  shared.chunk_end_ns = at.chunk_end_ns;
  shared.open_begin = at.open_begin;
  shared.open_begin_ns = at.open_begin_ns;
  shared.tail.store(std::min(at.window_position, at.chunk_position), std::memory_order_release);
}

std::uint64_t Segment::definitions_head() const noexcept {
  if (definitions_end_) return *definitions_end_;
  const std::uint64_t head = header().definitions.head.load(std::memory_order_acquire);
  const bool is_possible = head - definitions_read_ <= capture::kDefinitionBytes;
  return is_possible ? head : definitions_read_;
}

std::size_t Segment::waiting_definitions() const noexcept {
  return definitions_head() - definitions_read_;
}

std::vector<std::byte> Segment::definitions(std::size_t max_bytes) const {
  const std::size_t bytes = std::min(waiting_definitions(), max_bytes);
  const std::byte* const log = mapping_.bytes().data() + capture::definitions_offset();
  const std::size_t at = definitions_read_ % capture::kDefinitionBytes;
  const std::size_t before_end = std::min<std::size_t>(bytes, capture::kDefinitionBytes - at);
  std::vector<std::byte> copy(log + at, log + at + before_end);
  copy.insert(copy.end(), log, log + (bytes - before_end));
  return copy;
}

void Segment::advance_definitions(std::size_t bytes) {
  definitions_read_ += bytes;
  header().definitions.tail.store(definitions_read_, std::memory_order_release);
}

void Segment::skip_definitions() { advance_definitions(waiting_definitions()); }

std::uint64_t Segment::dropped_definitions() const noexcept {
  return header().definitions.dropped.load(std::memory_order_relaxed);
}

std::uint64_t Segment::windowed_calls(FunctionId function) const {
  return header().windowed_calls[within(function)];
}

void Segment::advance_windowed(FunctionId function, std::uint64_t calls) {
  std::uint64_t& at = header().windowed_calls[within(function)];
  at = std::max(at, calls);
}

std::uint64_t Segment::windowed_calls() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t calls : header().windowed_calls) sum += calls;
  return sum;
}

bool Segment::is_finished() const noexcept { return header().agent_finished != 0; }
void Segment::set_finished() { header().agent_finished = 1; }

void Segment::set_enabled(bool enabled) {
  if (!enabled) header().was_disabled.store(1, std::memory_order_release);
  header().enabled.store(enabled ? capture::kOn : capture::kOff, std::memory_order_release);
}

void Segment::set_traced(bool traced) {
  header().is_untraced.store(traced ? 0 : 1, std::memory_order_relaxed);
}

void Segment::set_over() {
  header().is_over.store(1, std::memory_order_release);
  set_enabled(false);
}

void Segment::let_calls_wake() {
  std::uint32_t on = capture::kOn;
  header().enabled.compare_exchange_strong(on, capture::kOnAgentSleeps);
}

void Segment::let_calls_be() {
  std::uint32_t asleep = capture::kOnAgentSleeps;
  header().enabled.compare_exchange_strong(asleep, capture::kOn);
}

const CaptureSwitch& Segment::capture_switch() const { return header().enabled; }

}  // namespace xylem::backend
