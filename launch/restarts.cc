#include "launch/restarts.h"

#include <algorithm>

namespace xylem::launch {

Nanos Restarts::next(Nanos now) {
  while (!starts_.empty() && starts_.front() + kWindow <= now) starts_.pop_front();
  Nanos at = now;
  if (!starts_.empty()) {
    const std::size_t doublings = starts_.size() - 1;  // At most kMaxStarts - 1.
    at += std::min(kFirstPause << doublings, kLongestPause);
  }
  if (starts_.size() >= kMaxStarts) {
    at = std::max(at, starts_.front() + kWindow);
    starts_.pop_front();
  }
  starts_.push_back(at);
  return at;
}

}  // namespace xylem::launch
