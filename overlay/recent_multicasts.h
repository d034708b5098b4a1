#pragma once

// The recent multicasts of a node, for children that attach later.

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
  /// Maximum memory of each stream, and of all streams together. If a new multicast exceeds the
  /// limit of its stream, the stream's oldest multicasts are dropped. If it exceeds the limit of
  /// all streams, the oldest multicasts of the largest stream are dropped. A multicast that alone
  /// exceeds the limit is not kept.
  std::size_t stream_bytes = 1u << 20;
  std::size_t all_bytes = 8u << 20;
};

/// Does no I/O; not thread-safe. A leaf drops multicasts that it already has. So a child may be
/// sent all multicasts again.
class RecentMulticasts {
 public:
  explicit RecentMulticasts(RecentOptions options = {}) : options_(options) {}

  /// Keeps a multicast that is sent down now. Returns false if a multicast of its stream with this
  /// number or a larger one is known. This happens if a new parent resends multicasts.
  bool keep(const wire::Multicast& multicast);
  /// Forgets a closed stream.
  void forget(StreamId stream);
  /// Returns all multicasts, stream by stream, in the order in which they were sent down. The
  /// pointers are valid until the next keep() or forget().
  std::vector<const wire::Multicast*> all() const;
  /// Returns the multicasts that must now be sent to a child, because its leaves have changed.
  /// These are the multicasts of each stream that had no leaf below the child before, and now has
  /// one. Only streams that list their leaves count: multicasts of all other streams are sent to
  /// every child.
  std::vector<const wire::Multicast*> new_to(const IntervalSet& leaves_before,
                                             const IntervalSet& leaves_now) const;

 private:
  struct Stream {
    std::deque<wire::Multicast> recent;
    std::size_t bytes = 0;
    std::uint64_t last = 0;  // Number of the newest multicast, even if it was dropped.
  };
  void drop_oldest(Stream& stream);
  Stream& largest();

  RecentOptions options_;
  std::map<StreamId, Stream> streams_;
  std::size_t bytes_ = 0;
};

}  // namespace xylem::overlay
