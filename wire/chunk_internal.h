#pragma once

// The parts of the chunk format that the encoder and the decoder share. docs/chunk-format.md
// describes the format. A change here usually changes the format. Then it needs a new
// kChunkVersion.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/chunk.h"
#include "wire/columns_internal.h"

namespace xylem::wire::internal {

/// All fields of an event except its times, its request, its number and its processor. They are
/// packed into words, so two shapes can be compared word by word. "None" is stored as 0, and tag
/// and result are zigzag encoded. So most upper byte planes are 0. The last word, the call site, is
/// not stored as it is: the upper 16 bits of the word before have its index in the chunk's table of
/// call sites, plus 1.
struct Shape {
  std::uint64_t word[7];

  /// The comparison has no branches, because the processor could not predict in which word two
  /// shapes differ.
  bool operator==(const Shape& other) const {
    std::uint64_t difference = 0;
    for (std::size_t i = 0; i < std::size(word); ++i) difference |= word[i] ^ other.word[i];
    return difference == 0;
  }
};

/// Bits of a shape's field `form`. kOdd means that the event is odd; see Clock.
constexpr std::uint64_t kOdd = 1;
constexpr std::uint64_t kHasRequest = 2;  ///< The request is not 0 and is stored in its column.

/// A field of the shape table: bits [shift, shift + 8 * width) of a word. The fields are listed in
/// the order of storage.
struct ShapeField {
  unsigned word;
  unsigned shift;
  unsigned width;
};
constexpr std::array<ShapeField, 14> kShapeFields{{
    {0, 0, 8},   // bytes
    {1, 0, 4},   // comm + 1
    {1, 32, 4},  // peer + 1
    {2, 0, 4},   // zigzag(tag) + 1
    {2, 32, 4},  // zigzag(result)
    {3, 0, 4},   // calls
    {3, 32, 4},  // thread
    {4, 0, 2},   // function
    {4, 16, 1},  // kind
    {4, 32, 2},  // flags; until version 2, only the low byte
    {4, 24, 1},  // form
    {5, 0, 6},   // room; since version 4, like the next two
    {4, 48, 1},  // operation + 1
    {5, 48, 2},  // call site
}};
/// Number of fields until version 2.
constexpr std::size_t kEarlyShapeFields = 11;

constexpr unsigned kRoomBits = 48;
constexpr std::uint64_t kRoomMask = (std::uint64_t{1} << kRoomBits) - 1;

/// The shape of an event, without the index of its call site.
inline Shape shape_of(const Event& event, std::uint64_t form) {
  const auto pair = [](std::uint32_t low, std::uint32_t high) {
    return low | std::uint64_t{high} << 32;
  };
  const auto u32 = [](std::int32_t number) { return static_cast<std::uint32_t>(number); };
  const auto operation = static_cast<std::uint8_t>(event.operation + 1);
  return Shape{{event.bytes, pair(raw(event.comm) + 1, u32(event.peer) + 1),
                pair(zigzag32(u32(event.tag)) + 1, zigzag32(u32(event.result))),
                pair(event.calls, raw(event.thread)),
                raw(event.function) | std::uint64_t{event.kind} << 16 | form << 24 |
                    std::uint64_t{event.flags} << 32 | std::uint64_t{operation} << 48,
                event.room & kRoomMask, raw(event.site)}};
}

inline std::uint64_t form_of(const Shape& shape) { return shape.word[4] >> 24 & 0xff; }
inline std::uint16_t flags_of(const Shape& shape) {
  return static_cast<std::uint16_t>(shape.word[4] >> 32);
}
/// The index of the call site, plus 1; 0 without one.
inline std::uint16_t site_index_of(const Shape& shape) {
  return static_cast<std::uint16_t>(shape.word[5] >> kRoomBits);
}
inline void set_site_index(Shape& shape, std::uint16_t index) {
  shape.word[5] |= std::uint64_t{index} << kRoomBits;
}

/// Returns the event of a shape, without times, request and call site.
inline Event event_of(const Shape& shape) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  Event event;
  event.bytes = shape.word[0];
  event.room = shape.word[5] & kRoomMask;
  event.comm = CommId{low(shape.word[1]) - 1};
  event.peer = static_cast<std::int32_t>(high(shape.word[1]) - 1);
  event.tag = static_cast<std::int32_t>(unzigzag32(low(shape.word[2]) - 1));
  event.result = static_cast<std::int32_t>(unzigzag32(high(shape.word[2])));
  event.calls = low(shape.word[3]);
  event.thread = ThreadIndex{high(shape.word[3])};
  event.function = FunctionId{static_cast<std::uint16_t>(shape.word[4])};
  event.kind = static_cast<std::uint8_t>(shape.word[4] >> 16);
  event.flags = flags_of(shape);
  event.operation = static_cast<std::uint8_t>((shape.word[4] >> 48) - 1);
  return event;
}

/// Threads whose numbers are equal modulo this number share a slot of Clock, RequestOrder and
/// CpuOrder.
constexpr std::size_t kSlots = 64;

/// Remembers the begin and end of the previous event of each thread. The times of an event are
/// stored relative to these times. Thread numbers that are equal modulo 64 share one slot. Sharing
/// costs bytes but loses no information. Arithmetic is modulo 2^64.
///
/// An event is odd if it begins before the previous event ended, or if it ends before it begins.
/// Most odd events are completions: they carry the times of the call that completed the request.
///
///   plain: first = begin - previous end      second = end - begin
///   odd:   first = zigzag(begin - previous begin), second = zigzag(end - previous end)
class Clock {
 public:
  struct Times {
    std::uint64_t begin;
    std::uint64_t end;
  };
  struct Told {
    std::uint64_t first;
    std::uint64_t second;
  };

  explicit Clock(Nanos start) {
    previous_.fill({static_cast<std::uint64_t>(start), static_cast<std::uint64_t>(start)});
  }

  bool is_odd(const Event& event) const {
    return event.begin_ns < static_cast<Nanos>(previous_[raw(event.thread) % kSlots].end) ||
           event.end_ns < event.begin_ns;
  }

  Told tell(ThreadIndex thread, bool odd, Times now) {
    Times& before = previous_[raw(thread) % kSlots];
    const Told told = odd ? Told{zigzag(now.begin - before.begin), zigzag(now.end - before.end)}
                          : Told{now.begin - before.end, now.end - now.begin};
    before = now;
    return told;
  }

  Times understand(ThreadIndex thread, bool odd, Told told) {
    Times& before = previous_[raw(thread) % kSlots];
    Times now;
    now.begin = odd ? before.begin + unzigzag(told.first) : before.end + told.first;
    now.end = odd ? before.end + unzigzag(told.second) : now.begin + told.second;
    return before = now;
  }

 private:
  std::array<Times, kSlots> previous_;
};

/// Decides the order of times in their columns. Times are grouped by function, kind and oddness,
/// because each group has its own distribution of times. Without groups, chunks of HPL and LAMMPS
/// were 8 % larger.
///
/// A *bucket* has all events with the same function (modulo 1024), kind (modulo 2) and oddness. A
/// bucket with at least kMinGroup events is a group. Groups are in the order of their bucket
/// numbers. All other events share the last group. Not thread-safe.
class TimeGroups {
 public:
  /// `events_of[s]` is the number of events of shapes[s].
  void plan(std::span<const Shape> shapes, std::span<const std::uint32_t> events_of);

  std::size_t count() const { return sizes_.size(); }
  std::size_t size(std::size_t group) const { return sizes_[group]; }

  /// Returns the position, in the columns, of the times of the next event with this shape. Call it
  /// once for each event, in order.
  std::size_t take_place(std::size_t shape) { return next_[group_of_[shape]]++; }

 private:
  // A smaller group costs more for its code table than it saves.
  static constexpr std::uint32_t kMinGroup = 512;
  static constexpr std::size_t kBuckets = 4096;

  static std::size_t bucket_of(const Shape& shape) {
    return shape.word[4] % 1024 | (shape.word[4] >> 16 & 1) << 10 | (form_of(shape) & kOdd) << 11;
  }

  // One entry for each bucket. plan() first counts the bucket's events here, then stores its group.
  std::vector<std::uint32_t> bucket_;
  std::vector<std::uint16_t> group_of_;  // Group of each shape.
  std::vector<std::size_t> sizes_;       // Number of events of each group.
  std::vector<std::size_t> next_;        // Position of the next event of each group.
};

/// Predicts the number of each numbered event (kEventNumbered) of a chunk: it usually is one more
/// than the previous number of its channel, and 0 for a channel without a previous number. Only the
/// difference from the prediction is stored, modulo 2^32. The shape of an event gives its channel:
///
///   a send, a receive   its communicator, peer, tag, and whether it is a send or a receive
///   any other event     its communicator
///
/// Not thread-safe.
class NumberOrder {
 public:
  /// Call it for each chunk, before its events.
  void plan(std::span<const Shape> shapes);

  static bool is_numbered(const Shape& shape) { return (flags_of(shape) & kEventNumbered) != 0; }

  /// The stored number of the next event with this shape, and back. Call one of them for each
  /// numbered event, in order.
  std::uint32_t tell(std::size_t shape, std::uint32_t number) {
    std::uint32_t& next = next_[channel_of_[shape]];
    const std::uint32_t told = number - next;
    next = number + 1;
    return told;
  }
  std::uint32_t understand(std::size_t shape, std::uint32_t told) {
    std::uint32_t& next = next_[channel_of_[shape]];
    const std::uint32_t number = told + next;
    next = number + 1;
    return number;
  }

 private:
  struct Key {
    std::uint64_t first;
    std::uint64_t second;
    std::uint16_t shape;
  };

  std::vector<Key> keys_;                  // Of the numbered shapes, sorted by channel.
  std::vector<std::uint16_t> channel_of_;  // Channel of each numbered shape.
  std::vector<std::uint32_t> next_;        // Prediction for each channel.
};

/// Predicts the request of each event that has one. A thread numbers the operations that it starts
/// one after another, and mostly completes them in this order. So the expected request is, for each
/// thread,
///
///   with kEventPosts   one more than the last one with kEventPosts
///   otherwise          one more than the last one with kEventCompletes
///
/// Before the first of them, it is the first number of the thread. Only the difference is stored,
/// zigzag encoded. Threads share slots as in Clock.
class RequestOrder {
 public:
  RequestOrder() {
    for (std::uint64_t slot = 0; slot < kSlots; ++slot)
      next_[slot] = {slot << 40 | 1, slot << 40 | 1};
  }

  std::uint64_t tell(const Event& event) {
    std::uint64_t& next = next_of(event);
    const std::uint64_t told = zigzag(event.request - next);
    if (moves(event)) next = event.request + 1;
    return told;
  }
  /// `event` has all but its request.
  std::uint64_t understand(const Event& event, std::uint64_t told) {
    std::uint64_t& next = next_of(event);
    const std::uint64_t request = next + unzigzag(told);
    if (moves(event)) next = request + 1;
    return request;
  }

 private:
  std::uint64_t& next_of(const Event& event) {
    auto& of_thread = next_[raw(event.thread) % kSlots];
    return (event.flags & kEventPosts) != 0 ? of_thread[0] : of_thread[1];
  }
  static bool moves(const Event& event) {
    return (event.flags & (kEventPosts | kEventCompletes)) != 0;
  }

  std::array<std::array<std::uint64_t, 2>, kSlots> next_;
};

/// Predicts the processor of each event: that of the previous event of its thread, which rarely
/// moves. Before the first one, it is kNoCpu. Only the difference is stored, modulo 2^16. Threads
/// share slots as in Clock.
class CpuOrder {
 public:
  CpuOrder() { previous_.fill(kNoCpu); }

  std::uint16_t tell(ThreadIndex thread, std::uint16_t cpu) {
    const auto told = static_cast<std::uint16_t>(cpu - of(thread));
    of(thread) = cpu;
    return told;
  }
  std::uint16_t understand(ThreadIndex thread, std::uint16_t told) {
    return of(thread) = static_cast<std::uint16_t>(told + of(thread));
  }

 private:
  std::uint16_t& of(ThreadIndex thread) { return previous_[raw(thread) % kSlots]; }

  std::array<std::uint16_t, kSlots> previous_;
};

}  // namespace xylem::wire::internal
