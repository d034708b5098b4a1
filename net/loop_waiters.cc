#include "net/loop_waiters.h"

namespace xylem::net {

void try_waiters(Waiters& waiters, EventLoop& loop) {
  if (waiters.empty()) return;
  waiters.try_all(monotonic_now());
  const auto when = waiters.next_timer();
  if (!when) return;
  loop.post_at(*when, [&waiters, &loop, when = *when] {
    waiters.timer_ended(when);
    try_waiters(waiters, loop);
  });
}

}  // namespace xylem::net
