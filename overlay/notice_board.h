#pragma once

// Notices: warnings and errors that travel to the front end. The front end shows them to the user.
//
// Nobody reads an agent's own log. So log lines of level kWarn and above are also posted here, and
// the event loop (net/runtime.h) sends them up. A communication process forwards the notices of its
// children. All queues and rates are limited. So one host with many problems does not hide the
// notices of other hosts.

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "wire/message.h"

namespace xylem::overlay {

/// The queue of notices of one process. Not thread-safe: in a process with a board, only the thread
/// of its event loop may log at kWarn or above.
///
/// Each of the process's own notices needs a token. There are kBurst tokens at first, and a new one
/// every kRefill. A notice without a token is dropped and counted. The next notice carries the
/// count. If no other notice follows, due() becomes true when the next token is available. Then
/// take() returns a notice with only the count.
///
/// While there is no parent, the newest kKept notices are kept, both own and forwarded notices.
/// Older notices are dropped and counted too.
///
/// A parent that dies loses the notices that it has read but not sent. So the board keeps sent
/// notices until the parent has certainly forwarded them. These notices are called *held*. At most
/// the newest kHeld notices are held. After a change of parent, send_again() makes held notices due
/// again. So the front end may get a notice twice; it recognises the notice by its number
/// (KnownNotices).
///
/// Taking and sending a notice must log nothing. Lines that are posted meanwhile are dropped. So a
/// notice about a link cannot cause another one.
class NoticeBoard {
 public:
  static constexpr std::size_t kBurst = 16;
  static constexpr Nanos kRefill = 10 * kSecond;
  static constexpr std::size_t kKept = 64;
  static constexpr std::size_t kHeld = 256;

  /// The process that posts here; the front end shows these facts.
  struct Author {
    wire::Role role = wire::Role::kBackEnd;
    std::string host;
    std::uint32_t pid = 0;
  };

  explicit NoticeBoard(Author author);

  /// Posts a line of this process's log at `now` (monotonic). Levels below kWarn are ignored. Lines
  /// longer than wire::kMaxNoticeBytes are cut.
  void post(Level level, std::string_view line, Nanos now);

  /// Queues a notice that another process sent here.
  void pass_on(wire::Notice notice, Nanos now);

  /// True if there is something to take.
  bool due(Nanos now) const;

  /// Returns the notices to send, oldest first, each with its age at `now`. The notices are then
  /// held and are no longer due.
  std::vector<wire::Notice> take(Nanos now);

  /// Call it when the parent has answered a ping that was sent at time `answered` (monotonic).
  /// Notices that were taken at least kSilenceLimit before `answered` are no longer held. The
  /// parent has forwarded these notices, or keeps them because it has no parent itself.
  void confirm(Nanos answered);

  /// Call it after a change of parent. Held notices become due again, in their order, before
  /// notices that were not sent yet.
  void send_again();

  /// Sets a function that is called after each posted line that is kept. An empty function means
  /// none. `wake` must not log.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  /// While `sending` is true, posted lines are dropped and not counted. The code that sends notices
  /// uses it.
  void set_sending(bool sending) { sending_ = sending; }

 private:
  struct Kept {
    wire::Notice notice;  // The notice. Its field `age_ns` is the age at time `since`.
    Nanos since = 0;      // When the notice came to this board.
  };
  struct Held {
    Kept kept;
    Nanos taken = 0;
  };
  double tokens_at(Nanos now) const;
  void keep(wire::Notice notice, Nanos now);
  wire::Notice sign(bool error, std::string text, Nanos now);

  Author author_;
  std::deque<Kept> kept_;
  std::deque<Held> held_;
  std::uint64_t number_ = 0;   // Number of the newest own notice.
  std::uint32_t dropped_ = 0;  // Dropped notices that are not reported yet.
  double tokens_ = kBurst;
  Nanos counted_at_ = 0;  // Time for which `tokens_` is correct; 0 before the first post.
  bool sending_ = false;
  std::function<void()> wake_;
};

}  // namespace xylem::overlay
