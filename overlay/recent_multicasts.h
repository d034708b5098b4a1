#pragma once

// What went down lately, for children that attach later: a node's memory of multicasts.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "wire/message.h"

namespace xylem::overlay {

struct RecentOptions {
  /// Of each stream, and of all together; as they are in memory. The oldest make room.
  std::size_t stream_bytes = 1u << 20;
  std::size_t all_bytes = 8u << 20;
};

/// Pure; not thread-safe. A leaf drops the numbers that it has seen, so a child may be given all.
class RecentMulticasts {
 public:
  explicit RecentMulticasts(RecentOptions options = {}) : options_(options) {}

  /// One that goes down now. False when it is known, or older than what is: a new parent sends what
  /// our children have, or have reported as missed.
  bool keep(const wire::Multicast& multicast);
  /// The stream is closed.
  void forget(StreamId stream);
  /// In the order in which they went down, stream by stream. Valid until the next keep() or
  /// forget().
  std::vector<const wire::Multicast*> all() const;
  /// Of these, the ones that a child has not been sent so far: it had no leaf of their stream
  /// below, and now has. Only streams that name their leaves; all others go to every child at once.
  std::vector<const wire::Multicast*> new_to(const IntervalSet& leaves_before,
                                             const IntervalSet& leaves_now) const;

 private:
  struct Stream {
    std::deque<wire::Multicast> recent;
    std::size_t bytes = 0;
    std::uint64_t last = 0;  // Number of the newest, also when it was dropped.
  };
  void drop_oldest(Stream& stream);

  RecentOptions options_;
  std::map<StreamId, Stream> streams_;
  std::size_t bytes_ = 0;
};

}  // namespace xylem::overlay
