#pragma once

// Warnings and errors on their way to the front end, where the user sees them.
//
// Nobody reads an agent's own log. Its lines from kWarn on are posted here too, and the event loop
// (net/runtime.h) sends them up; a communication process passes on the notices of its children.
// Everything is bounded: a host in trouble must not drown out the others.

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

/// The queue of notices of one process. One thread: in a process with a board, only the thread of
/// its event loop may log from kWarn on.
///
/// The process's own notices are rate-limited by tokens: kBurst at once, then one each kRefill. A
/// notice without a token is dropped and counted, and the next notice carries the count. If there
/// is no next one, due() becomes true with the next token, and take() makes a notice for the count.
/// While there is no parent, the newest kKept notices, own and passed on, are kept; older ones are
/// dropped and counted too.
///
/// A dying parent loses what it has read and not sent. So taken notices are held until the parent
/// must have passed them on, and after a change of parent send_again() makes them due again. The
/// front end may get a notice twice and recognises it by its number (KnownNotices). The newest
/// kHeld are held.
///
/// Taking and sending a notice logs nothing, and lines posted meanwhile are dropped: so a notice
/// about a link cannot cause another one.
class NoticeBoard {
 public:
  static constexpr std::size_t kBurst = 16;
  static constexpr Nanos kRefill = 10 * kSecond;
  static constexpr std::size_t kKept = 64;
  static constexpr std::size_t kHeld = 256;

  /// The process that posts here, as the front end shows it.
  struct Author {
    wire::Role role = wire::Role::kBackEnd;
    std::string host;
    std::uint32_t pid = 0;
  };

  explicit NoticeBoard(Author author);

  /// Posts a line of this process's log at `now` (monotonic). Levels below kWarn are ignored; lines
  /// longer than wire::kMaxNoticeBytes are cut.
  void post(Level level, std::string_view line, Nanos now);

  /// Queues a notice that another process sent here.
  void pass_on(wire::Notice notice, Nanos now);

  /// True if there is something to take.
  bool due(Nanos now) const;

  /// The notices to send, oldest first, each with its age at `now`. They are then held and no
  /// longer due.
  std::vector<wire::Notice> take(Nanos now);

  /// The parent has answered a ping sent at that time (monotonic). Notices taken kSilenceLimit
  /// before it are no longer held: the parent has passed them on, or knows that it lost its own
  /// parent and holds them itself.
  void confirm(Nanos answered);

  /// After a change of parent: held notices are due again, in their order, before those not sent
  /// yet.
  void send_again();

  /// Calls `wake` after each post, until it is set to an empty function. `wake` must not log.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  /// While true, posts are dropped and not counted. For the code that sends notices.
  void set_sending(bool sending) { sending_ = sending; }

 private:
  struct Kept {
    wire::Notice notice;  // Its age is what it had when it came here ...
    Nanos since = 0;      // ... which was then.
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
  std::uint64_t number_ = 0;   // Of the newest own notice.
  std::uint32_t dropped_ = 0;  // Not reported yet.
  double tokens_ = kBurst;
  Nanos counted_at_ = 0;  // When tokens_ was right; 0: before the first post.
  bool sending_ = false;
  std::function<void()> wake_;
};

}  // namespace xylem::overlay
