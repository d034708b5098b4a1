// Encodes chunks. A call needs 64 bytes in a ring, but only about 3 bytes in a chunk.
//
// The idea: a program that computes in steps repeats the same few calls. Peer, size and tag are
// mostly the same; only the times differ. So a chunk separates five things.
//
//  1. Shapes: all fields of an event except the other four. Each distinct shape is
//     written once, in a table. An event names its shape by a number. This number is one byte, and
//     the sequence of numbers repeats with the program's loop.
//  2. Requests. Each thread numbers the operations that it starts. So only the difference from the
//     expected number is stored, which is usually zero.
//  3. Times: the gap since the thread's previous event, and the duration. Their low bits are noise
//     that cannot be compressed. To store little more than the noise, times are grouped by
//     function: a send of 300 ns and a wait of 40 us have different distributions. A completion has
//     the times of its call. Such an event is "odd": it is stored as the difference from the
//     previous event, which is usually zero twice.
//  4. Numbers of messages and collectives. They count up in each channel, so only the difference
//     from the expected number is stored, which is usually zero.
//  5. Processors. A thread rarely moves, so the difference from its previous event is usually zero.
//
// A program has few call sites. Each distinct one is written once, in another table, and a shape
// has its place there.
//
// All these are columns of numbers. A column is cut into byte planes, lowest bytes first. If all
// bytes of a plane are equal, only this byte is stored. Other planes are compressed by zstd at its
// fastest level. Here zstd acts as an entropy coder (Huffman) that also removes repetitions.
//
// A worked example: three events of thread 0, a run's time in ns.
//
//     begin   end  function  peer  bytes  tag  request
//      1000  1050  Irecv        1     64    7       26
//      1060  1400  Send         1     64    7        0
//      1500  1700  Wait         1     64    7       26
//
//   summary   events 3, calls 3, begin 1000, end 1700
//   shapes    {Irecv 1 64 7 has-request} {Send 1 64 7} {Wait 1 64 7 has-request}
//   shape of  0 1 2
//   sites     none
//   requests  50 50                          (zigzag of 26 - 1; the Send takes no place)
//   times     0+50  10+340  100+200          (one group: too few events for one per function)
//
// The columns of times are [0 10 100] and [50 340 200]. The first has one plane, the second has
// two. With 8192 events of a loop, shape numbers and requests need almost no space. Gap and
// duration need about one byte each.
//
// References: C-Store (Stonebraker et al., VLDB 2005) for columns, Blosc's shuffle filter for byte
// planes, Zstandard (RFC 8878) for the rest. The bytes are described in docs/chunk-format.md.

#include "wire/chunk.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "base/check.h"
#include "wire/chunk_internal.h"

namespace xylem::wire {

namespace internal {

void TimeGroups::plan(std::span<const Shape> shapes, std::span<const std::uint32_t> events_of) {
  group_of_.resize(shapes.size());
  bucket_.assign(kBuckets, 0);
  for (std::size_t s = 0; s < shapes.size(); ++s) bucket_[bucket_of(shapes[s])] += events_of[s];

  sizes_.clear();
  std::size_t others = 0;
  constexpr std::uint32_t kOthers = std::numeric_limits<std::uint32_t>::max();
  for (std::uint32_t& bucket : bucket_) {
    const std::size_t events = bucket;
    if (events == 0) continue;
    bucket = events < kMinGroup ? kOthers : static_cast<std::uint32_t>(sizes_.size());
    if (events < kMinGroup) {
      others += events;
    } else {
      sizes_.push_back(events);
    }
  }
  const auto last = static_cast<std::uint32_t>(sizes_.size());
  sizes_.push_back(others);

  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const std::uint32_t group = bucket_[bucket_of(shapes[s])];
    group_of_[s] = static_cast<std::uint16_t>(group == kOthers ? last : group);
  }
  next_.clear();
  std::size_t place = 0;
  for (const std::size_t size : sizes_) {
    next_.push_back(place);
    place += size;
  }
}

void NumberOrder::plan(std::span<const Shape> shapes) {
  constexpr std::uint64_t kDirections = kEventSend | kEventReceive;
  constexpr std::uint64_t kLow = 0xffffffff;
  channel_of_.assign(shapes.size(), 0);
  keys_.clear();
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    const auto& word = shapes[s].word;
    if (!is_numbered(shapes[s])) continue;
    const std::uint64_t direction = flags_of(shapes[s]) & kDirections;
    const bool is_message = direction != 0;
    keys_.push_back({is_message ? word[1] : word[1] & kLow,
                     is_message ? (word[2] & kLow) | direction << 32 : 0,
                     static_cast<std::uint16_t>(s)});
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::tie(a.first, a.second) < std::tie(b.first, b.second);
  });
  std::uint16_t channels = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const bool is_same =
        i > 0 && keys_[i].first == keys_[i - 1].first && keys_[i].second == keys_[i - 1].second;
    if (!is_same) ++channels;
    channel_of_[keys_[i].shape] = static_cast<std::uint16_t>(channels - 1);
  }
  next_.assign(channels, 0);
}

namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

std::uint64_t hash_of(const Shape& shape) {
  // Independent products, so that they overlap in the processor.
  const std::uint64_t a = (shape.word[0] ^ 0x2545f4914f6cdd1d) * 0xff51afd7ed558ccd;
  const std::uint64_t b = (shape.word[1] + a) * 0xc4ceb9fe1a85ec53;
  const std::uint64_t c = (shape.word[2] ^ shape.word[3] << 17) * kMix;
  const std::uint64_t d =
      (shape.word[4] ^ shape.word[3]) * 0xd6e8feb86659fd93 ^
      (shape.word[5] + (shape.word[6] ^ shape.word[6] >> 29)) * 0x9fb21c651e98df25;
  const std::uint64_t sum = (a ^ b >> 32) + (b ^ c >> 31) + (c ^ d >> 29) + d;
  return (sum ^ sum >> 32) * kMix;
}

std::uint64_t hash_of(std::uint64_t site) { return (site ^ site >> 32) * kMix; }

/// Numbers distinct keys in order of first appearance. Open addressing over a table of twice
/// kMaxChunkEvents places, so it is never more than half full.
template <typename Key>
class Numbering {
 public:
  void clear() {
    places_.assign(kPlaces, kFree);
    keys_.clear();
    last_ = kMaxChunkEvents;
  }

  /// Programs have loops, so the key that followed the last key before is likely to follow it
  /// again. Checking this needs one comparison. A search needs three multiplications and two cache
  /// misses.
  std::uint16_t number(const Key& key) {
    std::uint16_t& likely = after_[last_];
    if (likely >= keys_.size() || keys_[likely] != key) likely = find(key);
    last_ = likely;
    return likely;
  }

  std::span<const Key> keys() const { return keys_; }

 private:
  static constexpr std::size_t kPlaces = 2 * kMaxChunkEvents;
  static constexpr int kShift = 50;  // Leaves log2(kPlaces) bits.
  static_assert(kPlaces == std::size_t{1} << (64 - kShift));
  static constexpr std::uint16_t kFree = 0xffff;

  std::uint16_t find(const Key& key) {
    for (std::size_t place = hash_of(key) >> kShift;; place = (place + 1) % kPlaces) {
      const std::uint16_t number = places_[place];
      if (number == kFree) {
        keys_.push_back(key);
        return places_[place] = static_cast<std::uint16_t>(keys_.size() - 1);
      }
      if (keys_[number] == key) return number;
    }
  }

  std::vector<std::uint16_t> places_;
  std::vector<Key> keys_;
  // Number of the key that followed each key, perhaps in an earlier chunk. Index kMaxChunkEvents is
  // for the first key.
  std::array<std::uint16_t, kMaxChunkEvents + 1> after_{};
  std::size_t last_ = kMaxChunkEvents;
};

ChunkSummary summarize(std::span<const Event> events) {
  ChunkSummary summary;
  summary.events = static_cast<std::uint32_t>(events.size());
  summary.begin_ns = events[0].begin_ns;
  summary.end_ns = events[0].end_ns;
  for (const Event& event : events) {
    summary.calls += event.calls;
    summary.begin_ns = std::min(summary.begin_ns, event.begin_ns);
    summary.end_ns = std::max(summary.end_ns, event.end_ns);
  }
  return summary;
}

}  // namespace
}  // namespace internal

const char* event_kind_name(const Event& event) {
  switch (event.kind) {
    case kKindMpi:
      return "mpi";
    case kKindCompletion:
      if ((event.flags & kEventBlock) != 0) return "block";
      return (event.flags & kEventPosts) != 0 ? "start" : "completion";
    case kKindRegion:
      return "region";
    default:
      return "other";
  }
}

const char* stage_name(const Event& event) {
  if ((event.flags & kEventPosts) != 0) return "start";
  return (event.flags & kEventCompletes) != 0 ? "completion" : nullptr;
}

const char* operation_name(const Event& event) {
  constexpr std::array kNames = {"user", "max",    "min",    "sum",     "prod",
                                 "land", "band",   "lor",    "bor",     "lxor",
                                 "bxor", "minloc", "maxloc", "replace", "no_op"};
  if (event.operation == kNoOperation) return nullptr;
  return event.operation < kNames.size() ? kNames[event.operation] : kNames[0];
}

std::optional<std::uint64_t> posted_bytes_of(const Event& event) {
  return (event.flags & kEventHasBuffer) != 0 ? std::optional(event.room) : std::nullopt;
}

std::optional<std::uint64_t> received_bytes_of(const Event& event) {
  constexpr std::uint16_t kReceives = kEventCollective | kEventBlock;
  return (event.flags & kReceives) != 0 ? std::optional(event.room) : std::nullopt;
}

std::optional<bool> success_of(const Event& event) {
  if ((event.flags & (kEventSucceeds | kEventFindsNothing)) == 0) return std::nullopt;
  return (event.flags & kEventSucceeds) != 0;
}

struct ChunkEncoder::State {
  internal::ColumnWriter columns;
  internal::Numbering<internal::Shape> shapes;
  internal::Numbering<std::uint64_t> sites;  // By shape.
  std::vector<internal::Shape> table;        // The shapes, with the index of their call site.
  internal::TimeGroups groups;
  internal::NumberOrder order;
  std::vector<std::uint64_t> numbers;        // By numbered event.
  std::vector<std::uint16_t> shape_of;       // By event.
  std::vector<std::uint64_t> requests;       // By event that has one.
  std::vector<internal::Clock::Told> told;   // By event.
  std::vector<std::uint16_t> cpus;           // By event.
  std::vector<std::uint32_t> events_of;      // By shape.
  std::vector<std::uint64_t> field;          // One field of all shapes.
  std::vector<std::uint64_t> first, second;  // Told times, by place.
  Bytes body;

  void take_apart(std::span<const Event> events, Nanos start);
  void make_table();
  void write_body();
  void write_numbers();
};

void ChunkEncoder::State::take_apart(std::span<const Event> events, Nanos start) {
  using internal::Clock;
  shapes.clear();
  requests.clear();
  numbers.clear();
  shape_of.resize(events.size());
  told.resize(events.size());
  cpus.resize(events.size());
  Clock clock(start);
  internal::RequestOrder request_order;
  internal::CpuOrder cpu_order;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    const bool odd = clock.is_odd(event);
    const Clock::Times times{static_cast<std::uint64_t>(event.begin_ns),
                             static_cast<std::uint64_t>(event.end_ns)};
    told[i] = clock.tell(event.thread, odd, times);
    cpus[i] = cpu_order.tell(event.thread, event.cpu);
    std::uint64_t form = odd ? internal::kOdd : 0;
    if (event.request != 0) {
      form |= internal::kHasRequest;
      requests.push_back(request_order.tell(event));
    }
    if ((event.flags & kEventNumbered) != 0) numbers.push_back(event.number);
    const internal::Shape shape = internal::shape_of(event, form);
    shape_of[i] = shapes.number(shape);
  }
}

void ChunkEncoder::State::make_table() {
  table.assign(shapes.keys().begin(), shapes.keys().end());
  sites.clear();
  for (internal::Shape& shape : table) {
    const std::uint64_t site = shape.word[6];
    if (site == 0) continue;
    internal::set_site_index(shape, static_cast<std::uint16_t>(sites.number(site) + 1));
  }
}

void ChunkEncoder::State::write_body() {
  make_table();
  internal::append_varint(body, table.size());
  field.resize(table.size());
  for (const internal::ShapeField& each : internal::kShapeFields) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * each.width);
    for (std::size_t s = 0; s < table.size(); ++s) {
      field[s] = table[s].word[each.word] >> each.shift & mask;
    }
    columns.append(body, std::span<const std::uint64_t>(field));
  }
  columns.append(body, std::span<const std::uint16_t>(shape_of));
  internal::append_varint(body, sites.keys().size());
  columns.append(body, sites.keys());
  columns.append(body, std::span<const std::uint64_t>(requests));

  events_of.assign(table.size(), 0);
  for (const std::uint16_t shape : shape_of) ++events_of[shape];
  groups.plan(table, events_of);
  first.resize(told.size());
  second.resize(told.size());
  for (std::size_t i = 0; i < told.size(); ++i) {
    const std::size_t place = groups.take_place(shape_of[i]);
    first[place] = told[i].first;
    second[place] = told[i].second;
  }
  std::size_t at = 0;
  for (std::size_t group = 0; group < groups.count(); ++group) {
    const std::size_t size = groups.size(group);
    columns.append(body, std::span<const std::uint64_t>(first).subspan(at, size));
    columns.append(body, std::span<const std::uint64_t>(second).subspan(at, size));
    at += size;
  }
  write_numbers();
  columns.append(body, std::span<const std::uint16_t>(cpus));
}

void ChunkEncoder::State::write_numbers() {
  if (numbers.empty()) return;
  order.plan(table);
  std::size_t at = 0;
  for (const std::uint16_t shape : shape_of) {
    if (!internal::NumberOrder::is_numbered(table[shape])) continue;
    numbers[at] = order.tell(shape, static_cast<std::uint32_t>(numbers[at]));
    ++at;
  }
  columns.append(body, std::span<const std::uint64_t>(numbers));
}

ChunkEncoder::ChunkEncoder() : state_(std::make_unique<State>()) {}
ChunkEncoder::~ChunkEncoder() = default;
ChunkEncoder::ChunkEncoder(ChunkEncoder&&) noexcept = default;
ChunkEncoder& ChunkEncoder::operator=(ChunkEncoder&&) noexcept = default;

Bytes ChunkEncoder::encode(std::span<const Event> events) {
  CHECK(!events.empty() && events.size() <= kMaxChunkEvents);
  const ChunkSummary summary = internal::summarize(events);
  state_->take_apart(events, summary.begin_ns);

  Bytes& body = state_->body;
  body.clear();
  internal::append_varint(body, summary.events);
  internal::append_varint(body, summary.calls);
  const auto begin = static_cast<std::uint64_t>(summary.begin_ns);
  internal::append_varint(body, internal::zigzag(begin));
  internal::append_varint(body, static_cast<std::uint64_t>(summary.end_ns) - begin);
  state_->write_body();

  Bytes chunk;
  chunk.reserve(1 + 8 + body.size());
  chunk.push_back(std::byte{kChunkVersion});
  internal::append_u64(chunk, internal::checksum(body));
  chunk.insert(chunk.end(), body.begin(), body.end());
  return chunk;
}

}  // namespace xylem::wire
