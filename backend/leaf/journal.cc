#include "backend/leaf/journal.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "wire/registration.h"
#include "wire/tombstone.h"

namespace xylem::backend {
namespace {

constexpr std::uint64_t kJournalMagic = 0x326c'6e72'6d6c'7978;  // "xylmrnl2"
constexpr std::uint32_t kEntryMagic = 0x79727465;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kStreams = 4;  // The monitor's streams, numbered from 1.
// Waves of the series stream are counted for each of its lanes.
constexpr std::size_t kServices = wire::kMaxServices + 1;
constexpr std::size_t kPad = 16;  // The first words of an entry: magic, state, bytes.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // No journal writes this much.
// If an empty log has its head beyond this, it starts at the region's begin again. So a small part
// of the memory is reused.
constexpr std::size_t kRewind = 256u << 10;

constexpr std::uint32_t kLive = 1;
constexpr std::uint32_t kFreed = 2;
constexpr std::uint32_t kTombstone = 1;
constexpr std::uint32_t kLast = 2;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

struct Journal::Header {
  std::uint64_t magic;
  std::uint64_t region_bytes;
  std::atomic<std::uint64_t> head;
  std::atomic<std::uint64_t> tail;
  std::array<std::atomic<std::uint64_t>, kStreams> next_wave;
  std::atomic<std::uint32_t> memo_in_use;  // The valid memo; the other one is written next.
  std::array<Memo, 2> memos;
  std::array<std::atomic<std::uint64_t>, kServices> next_sample;
  std::array<std::atomic<std::uint64_t>, kServices> samples_taken;
  std::atomic<std::uint32_t> clock_memo_in_use;  // As memo_in_use.
  std::array<ClockMemo, 2> clock_memos;
};

struct Journal::Entry {
  std::uint32_t magic;
  std::atomic<std::uint32_t> state;
  std::uint64_t bytes;  // All of it, a multiple of 8.
  std::uint32_t stream;
  std::uint32_t lane;
  std::uint64_t wave;
  std::uint64_t wave_end;
  std::uint32_t leaf;
  std::uint32_t flags;
  std::uint64_t calls;
  std::uint32_t payload;
  std::uint32_t rings;
  std::uint32_t call_marks;
  std::uint32_t finished;
  // Then: RingMark[rings], CallsMark[call_marks], Lane[finished], payload.
};

PacketKey key_of(const wire::PacketId& id) { return {id.stream, id.lane, id.wave}; }

// ---- the region ----

Journal::Journal(std::span<std::byte> region, JournalOptions options)
    : region_(region), options_(std::move(options)) {}

Journal::Header& Journal::header() const {
  static_assert(sizeof(Header) <= kPage);
  return *std::launder(reinterpret_cast<Header*>(region_.data()));
}

std::span<std::byte> Journal::log() const { return region_.subspan(kPage); }

Journal::Entry& Journal::entry_at(std::uint64_t offset) const {
  return *std::launder(reinterpret_cast<Entry*>(log().data() + offset % log().size()));
}

void Journal::stored() const {
  if (options_.on_store) options_.on_store();
}

template <typename Atomic, typename Value>
void Journal::store(Atomic& where, Value value) {
  where.store(value, std::memory_order_release);
  stored();
}

void Journal::write(std::byte*& at, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(at, from, bytes);
  at += bytes;
  stored();
}

Result<Journal> Journal::open(std::span<std::byte> region, JournalOptions options) {
  const std::size_t usable = region.size() / kPage * kPage;
  if (usable < kSmallest) {
    return unexpected(Code::kInvalidArgument, "a journal of " + std::to_string(region.size()) +
                                                  " bytes is too small: at least " +
                                                  std::to_string(kSmallest) + " are needed");
  }
  Journal journal(region.first(usable), std::move(options));
  if (journal.header().magic == 0) journal.format();
  if (auto recovered = journal.recover(); !recovered) return unexpected(recovered.error());
  return journal;
}

// The magic is written last. If the process dies before that, the next one makes a new journal.
void Journal::format() {
  Header& at = header();
  at.region_bytes = region_.size();
  stored();
  std::atomic_thread_fence(std::memory_order_release);
  at.magic = kJournalMagic;
  stored();
}

Result<void> Journal::recover() {
  Header& at = header();
  if (at.magic != kJournalMagic || at.region_bytes != region_.size()) {
    return unexpected(Code::kCorrupt, "the journal's memory does not hold a journal of this size");
  }
  std::uint64_t tail = at.tail.load(std::memory_order_acquire);
  const std::uint64_t head = at.head.load(std::memory_order_acquire);
  if (!are_places(tail, head)) {
    return unexpected(Code::kCorrupt, "the journal is damaged: it claims to lie from " +
                                          std::to_string(tail) + " to " + std::to_string(head));
  }
  // The process died between the two stores of rewind_when_empty().
  if (tail > head) store(at.head, tail);
  given_back_ = tail;
  for (std::uint64_t offset = tail; offset < head; offset += entry_at(offset).bytes) {
    if (!is_plausible(offset, head)) {
      return unexpected(Code::kCorrupt, "the journal is damaged at " + std::to_string(offset));
    }
    const Entry& entry = entry_at(offset);
    if (entry.state.load(std::memory_order_acquire) != kLive) continue;
    const PacketKey key{StreamId{entry.stream}, Lane{entry.lane}, entry.wave};
    // The process died after it moved the entry and before it freed the old copy. The later copy
    // stays.
    if (const auto old = offset_of_.find(key); old != offset_of_.end()) free_entry(old->second);
    offset_of_[key] = offset;
    key_at_[offset] = key;
    live_bytes_ += entry.bytes;
    const Progress progress = read_progress(offset);
    for (const RingMark& mark : progress.rings) recovered_[mark.lane].rings.push_back(mark);
    for (const CallsMark& mark : progress.calls) recovered_[mark.lane].calls.push_back(mark);
    for (const Lane lane : progress.finished) recovered_[lane].finished.push_back(lane);
    note_wave(StreamId{entry.stream}, Lane{entry.lane}, entry.wave_end);
  }
  advance_tail();
  return {};
}

// True if a journal can have stored both: they are whole words, and at least a pad's length before
// the region's end.
bool Journal::are_places(std::uint64_t tail, std::uint64_t head) const {
  const auto is_place = [this](std::uint64_t offset) {
    return offset % 8 == 0 && offset <= kMaxBytes && log().size() - offset % log().size() >= kPad;
  };
  if (!is_place(tail) || !is_place(head)) return false;
  return tail > head ? tail % log().size() == 0 : head - tail <= log().size();
}

bool Journal::is_plausible(std::uint64_t offset, std::uint64_t head) const {
  const std::size_t here = offset % log().size();
  if (offset % 8 != 0 || log().size() - here < kPad) return false;
  const Entry& entry = entry_at(offset);
  if (entry.magic != kEntryMagic || entry.bytes % 8 != 0 || entry.bytes < kPad ||
      entry.bytes > head - offset || entry.bytes > log().size() - here) {
    return false;
  }
  if (entry.state.load(std::memory_order_relaxed) != kLive) return true;
  if (entry.bytes < sizeof(Entry) || entry.wave_end <= entry.wave) return false;
  const std::uint64_t content = std::uint64_t{entry.rings} * sizeof(RingMark) +
                                std::uint64_t{entry.call_marks} * sizeof(CallsMark) +
                                std::uint64_t{entry.finished} * sizeof(Lane) + entry.payload;
  return content <= entry.bytes - sizeof(Entry);
}

Progress Journal::read_progress(std::uint64_t offset) const {
  const Entry& entry = entry_at(offset);
  const auto* at = reinterpret_cast<const std::byte*>(&entry) + sizeof(Entry);
  Progress progress;
  progress.rings.resize(entry.rings);
  progress.calls.resize(entry.call_marks);
  progress.finished.resize(entry.finished);
  const auto copy = [&at](auto& into) {
    const std::size_t bytes = into.size() * sizeof(into[0]);
    if (bytes != 0) std::memcpy(into.data(), at, bytes);
    at += bytes;
  };
  copy(progress.rings);
  copy(progress.calls);
  copy(progress.finished);
  return progress;
}

// ---- writing ----

Result<void> Journal::append(const Draft& draft) {
  const std::size_t bytes =
      aligned(sizeof(Entry) + draft.progress.rings.size() * sizeof(RingMark) +
              draft.progress.calls.size() * sizeof(CallsMark) +
              draft.progress.finished.size() * sizeof(Lane) + draft.packet.payload.size());
  CHECK(!draft.packet.id.sources.empty());
  if (contains(key_of(draft.packet.id))) {
    return unexpected(Code::kAlreadyExists, "a packet of this identity waits in the journal");
  }
  rewind_when_empty();
  if (!make_room(bytes, draft.packet.id.stream)) {
    return unexpected(Code::kExhausted,
                      "the agent's journal is full and nothing more can be given up: " +
                          std::to_string(live_bytes_) + " bytes wait for the front end");
  }
  put(draft.packet, draft.calls, draft.progress);
  return {};
}

std::size_t Journal::room() const {
  const Header& at = header();
  return log().size() -
         (at.head.load(std::memory_order_relaxed) - at.tail.load(std::memory_order_relaxed));
}

// The bytes of an entry, and the bytes before the region's end that must be skipped so that the
// entry does not wrap.
std::size_t Journal::needed(std::size_t entry_bytes) const {
  const std::size_t here = header().head.load(std::memory_order_relaxed) % log().size();
  const std::size_t to_end = log().size() - here;
  return entry_bytes <= to_end ? entry_bytes : to_end + entry_bytes;
}

// A reserve stays free for tombstones, which replace larger packets.
bool Journal::may_give_up(StreamId stream) const {
  if (stream == wire::kRegistrationStream) return false;
  return !options_.may_give_up || options_.may_give_up(stream);
}

bool Journal::make_room(std::size_t entry_bytes, StreamId stream) {
  const std::size_t reserve = log().size() / 16;
  if (entry_bytes > log().size() / 2) return false;
  // A sender that can wait must not cause other entries to be moved at each attempt.
  const bool waits = stream != wire::kRegistrationStream && !may_give_up(stream);
  if (waits && needed(entry_bytes) + reserve > room() && live_bytes_ >= log().size() / 2) {
    return false;
  }
  // Each turn moves or shrinks the oldest entry. After two rounds over all entries, only tombstones
  // and entries that must stay are left.
  for (std::size_t turns = 2 * offset_of_.size(); needed(entry_bytes) + reserve > room(); --turns) {
    if (turns == 0 || !relocate_oldest()) return false;
  }
  return true;
}

bool Journal::relocate_oldest() {
  if (key_at_.empty()) return false;
  const std::uint64_t offset = key_at_.begin()->first;
  const Entry& old = entry_at(offset);
  wire::Packet packet = read(key_at_.begin()->second);
  const bool must_stay = packet.tombstone || !may_give_up(packet.id.stream);
  const bool keep = must_stay || live_bytes_ < log().size() / 2;
  if (!keep || needed(old.bytes) > room()) {
    if (must_stay) return false;
    packet = wire::make_tombstone(packet, options_.reason, old.calls);
    if (needed(aligned(sizeof(Entry) + packet.payload.size())) > room()) return false;
    ++given_up_packets_;
    given_up_calls_ += old.calls;
  }
  // The entry's progress was applied to the rings long ago. A successor need not apply it again.
  put(packet, old.calls, Progress{});
  free_entry(offset);
  advance_tail();
  return true;
}

std::uint64_t Journal::put(const wire::Packet& packet, std::uint64_t calls,
                           const Progress& progress) {
  Header& top = header();
  const std::uint64_t begin = top.head.load(std::memory_order_relaxed);
  std::uint64_t offset = begin;

  std::size_t content = progress.rings.size() * sizeof(RingMark) +
                        progress.calls.size() * sizeof(CallsMark) +
                        progress.finished.size() * sizeof(Lane) + packet.payload.size();
  const std::size_t bytes = aligned(sizeof(Entry) + content);
  const std::size_t to_end = log().size() - offset % log().size();
  if (bytes > to_end) {
    Entry& pad = entry_at(offset);  // At least kPad bytes: see below.
    pad.magic = kEntryMagic;
    pad.bytes = to_end;
    pad.state.store(kFreed, std::memory_order_relaxed);
    stored();
    offset += to_end;
  }
  // Never leave less than a pad needs before the end.
  const std::size_t rest = log().size() - offset % log().size() - bytes;
  const std::size_t total = rest != 0 && rest < kPad ? bytes + rest : bytes;

  Entry& entry = entry_at(offset);
  entry.magic = kEntryMagic;
  entry.state.store(kLive, std::memory_order_relaxed);
  entry.bytes = total;
  entry.stream = raw(packet.id.stream);
  entry.lane = raw(packet.id.lane);
  entry.wave = packet.id.wave;
  entry.wave_end = packet.id.wave_end;
  entry.leaf = static_cast<std::uint32_t>(packet.id.sources.intervals().front().first);
  entry.flags = (packet.tombstone ? kTombstone : 0) | (packet.last ? kLast : 0);
  entry.calls = calls;
  entry.payload = static_cast<std::uint32_t>(packet.payload.size());
  entry.rings = static_cast<std::uint32_t>(progress.rings.size());
  entry.call_marks = static_cast<std::uint32_t>(progress.calls.size());
  entry.finished = static_cast<std::uint32_t>(progress.finished.size());
  stored();
  auto* at = reinterpret_cast<std::byte*>(&entry) + sizeof(Entry);
  write(at, progress.rings.data(), progress.rings.size() * sizeof(RingMark));
  write(at, progress.calls.data(), progress.calls.size() * sizeof(CallsMark));
  write(at, progress.finished.data(), progress.finished.size() * sizeof(Lane));
  write(at, packet.payload.data(), packet.payload.size());

  store(top.head, offset + total);  // The commit.
  note_wave(packet.id.stream, packet.id.lane, packet.id.wave_end);
  const PacketKey key = key_of(packet.id);
  offset_of_[key] = offset;
  key_at_[offset] = key;
  live_bytes_ += total;
  return offset;
}

// ---- freeing ----

bool Journal::acknowledge(const PacketKey& key) {
  const auto it = offset_of_.find(key);
  if (it == offset_of_.end()) return false;
  free_entry(it->second);
  offset_of_.erase(it);
  advance_tail();
  return true;
}

void Journal::free_entry(std::uint64_t offset) {
  Entry& entry = entry_at(offset);
  store(entry.state, kFreed);
  live_bytes_ -= entry.bytes;
  key_at_.erase(offset);
}

void Journal::advance_tail() {
  Header& at = header();
  const std::uint64_t head = at.head.load(std::memory_order_relaxed);
  const std::uint64_t tail = at.tail.load(std::memory_order_relaxed);
  const std::uint64_t to = key_at_.empty() ? head : key_at_.begin()->first;
  if (to == tail) return;
  store(at.tail, to);
  if (to - given_back_ >= options_.give_back_bytes) give_back(to);
}

// An empty log starts at the region's begin again, where pages are already in memory. If the
// process dies between the stores, tail > head; recover() handles this.
void Journal::rewind_when_empty() {
  Header& at = header();
  const std::uint64_t head = at.head.load(std::memory_order_relaxed);
  if (!key_at_.empty() || head % log().size() < kRewind) return;
  const std::uint64_t start = (head / log().size() + 1) * log().size();
  if (head - given_back_ >= options_.give_back_bytes) {
    give_back(head);
    given_back_ = start;
  }
  store(at.tail, start);
  store(at.head, start);
}

void Journal::trim() { give_back(header().tail.load(std::memory_order_relaxed)); }

// Returns the memory up to `to` to the system; `to` is not after the tail. Memory that was reused
// since belongs to live entries.
void Journal::give_back(std::uint64_t to) {
  const std::uint64_t head = header().head.load(std::memory_order_relaxed);
  std::uint64_t from = std::max(given_back_, head - std::min<std::uint64_t>(head, log().size()));
  given_back_ = to;
  while (from < to) {
    const std::size_t here = from % log().size();
    const std::size_t length = std::min<std::size_t>(to - from, log().size() - here);
    const std::size_t first = (here + kPage - 1) / kPage * kPage;
    const std::size_t end = (here + length) / kPage * kPage;
    // A failure only costs memory.
    if (end > first) std::ignore = ::madvise(log().data() + first, end - first, MADV_REMOVE);
    from += length;
  }
}

// ---- reading ----

std::vector<PacketKey> Journal::keys() const {
  std::vector<PacketKey> keys;
  keys.reserve(key_at_.size());
  for (const auto& [offset, key] : key_at_) keys.push_back(key);
  return keys;
}

wire::Packet Journal::read(const PacketKey& key) const {
  const Entry& entry = entry_at(offset_of_.at(key));
  wire::Packet packet;
  packet.id.stream = key.stream;
  packet.id.lane = key.lane;
  packet.id.wave = key.wave;
  packet.id.wave_end = entry.wave_end;
  packet.id.sources = IntervalSet::of(entry.leaf);
  packet.tombstone = (entry.flags & kTombstone) != 0;
  packet.last = (entry.flags & kLast) != 0;
  const auto* at = reinterpret_cast<const std::byte*>(&entry) + sizeof(Entry) +
                   entry.rings * sizeof(RingMark) + entry.call_marks * sizeof(CallsMark) +
                   entry.finished * sizeof(Lane);
  packet.payload.assign(at, at + entry.payload);
  return packet;
}

std::size_t Journal::payload_bytes(const PacketKey& key) const {
  return entry_at(offset_of_.at(key)).payload;
}

std::uint64_t Journal::calls_in(const PacketKey& key) const {
  return entry_at(offset_of_.at(key)).calls;
}

bool Journal::is_last(const PacketKey& key) const {
  return (entry_at(offset_of_.at(key)).flags & kLast) != 0;
}

Progress Journal::progress_of(Lane lane) const {
  const auto it = recovered_.find(lane);
  return it == recovered_.end() ? Progress{} : it->second;
}

std::uint64_t Journal::next_wave(StreamId stream) const {
  CHECK(raw(stream) < kStreams);
  return header().next_wave[raw(stream)].load(std::memory_order_relaxed);
}

std::uint64_t Journal::next_sample(Lane service) const {
  CHECK(raw(service) < kServices);
  return header().next_sample[raw(service)].load(std::memory_order_relaxed);
}

std::uint64_t Journal::samples_taken(Lane service) const {
  CHECK(raw(service) < kServices);
  return std::max(header().samples_taken[raw(service)].load(std::memory_order_relaxed),
                  next_sample(service));
}

std::uint64_t Journal::take_sample_number(Lane service) {
  const std::uint64_t number = samples_taken(service);
  store(header().samples_taken[raw(service)], number + 1);
  return number;
}

// Runs after the commit of an entry. If the process dies before it, open() repeats this step for
// the last entry.
void Journal::note_wave(StreamId stream, Lane lane, std::uint64_t end) {
  const bool is_series = stream == wire::kSeriesStream && raw(lane) < kServices;
  if (!is_series && raw(stream) >= kStreams) return;
  std::atomic<std::uint64_t>& next =
      is_series ? header().next_sample[raw(lane)] : header().next_wave[raw(stream)];
  if (next.load() < end) store(next, end);
}

Memo Journal::memo() const {
  return header().memos[header().memo_in_use.load(std::memory_order_acquire) & 1];
}

void Journal::remember(const Memo& memo) {
  if (memo == this->memo()) return;
  Header& at = header();
  const std::uint32_t other = (at.memo_in_use.load(std::memory_order_relaxed) + 1) & 1;
  at.memos[other] = memo;
  stored();
  store(at.memo_in_use, other);
}

ClockMemo Journal::clock_memo() const {
  return header().clock_memos[header().clock_memo_in_use.load(std::memory_order_acquire) & 1];
}

void Journal::remember(const ClockMemo& memo) {
  if (memo == clock_memo()) return;
  Header& at = header();
  const std::uint32_t other = (at.clock_memo_in_use.load(std::memory_order_relaxed) + 1) & 1;
  at.clock_memos[other] = memo;
  stored();
  store(at.clock_memo_in_use, other);
}

}  // namespace xylem::backend
