#pragma once

// Warnings and errors on their way to the front end, where a person looks.
//
// An agent's own log goes nowhere that anybody reads. What it says there from kWarn on is posted
// here too, and the event loop (net/runtime.h) sends it up; a communication process passes on what
// its children send. Bounded everywhere: a host that is in trouble must not drown the others.

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

/// The notices of one process on their way. One thread: in a process with a board,
/// only the thread of its event loop may log from kWarn on.
///
/// Own notices cost a token each: kBurst at once, then one each kRefill. What finds no token is
/// dropped and counted, and the next notice says how many; when there is no next one, due() becomes
/// true with the next token and take() says it in a notice of its own. Of what is posted and passed
/// on, the newest kKept are kept while there is nobody to send them to; older ones are dropped and
/// counted alike.
///
/// What was taken is held until the parent must have passed it on: it dies with what it has read
/// and not sent. After a new parent, send_again() makes all that is held due once more. So the
/// front end may get a notice twice; its number tells (KnownNotices). The newest kHeld are held.
///
/// Taking and sending a notice logs nothing, and what is posted meanwhile is dropped: so a notice
/// about a link cannot make the next one.
class NoticeBoard {
 public:
  static constexpr std::size_t kBurst = 16;
  static constexpr Nanos kRefill = 10 * kSecond;
  static constexpr std::size_t kKept = 64;
  static constexpr std::size_t kHeld = 256;

  /// Who posts here, as the front end will show it.
  struct Author {
    wire::Role role = wire::Role::kBackEnd;
    std::string host;
    std::uint32_t pid = 0;
  };

  explicit NoticeBoard(Author author);

  /// A line of this process's log at `now` (monotonic). Levels below kWarn are ignored; lines
  /// longer than wire::kMaxNoticeBytes are cut.
  void post(Level level, std::string_view line, Nanos now);

  /// A notice of another process that came to this one.
  void pass_on(wire::Notice notice, Nanos now);

  /// There is something to take.
  bool due(Nanos now) const;

  /// What is to be sent, oldest first, each with its age at `now`. It is held afterwards and not
  /// due.
  std::vector<wire::Notice> take(Nanos now);

  /// The parent has answered a ping of that time (monotonic). What was taken kSilenceLimit before
  /// is held no longer: by then the parent has passed it on, or has lost its own parent and knows
  /// it, and holds it itself.
  void confirm(Nanos answered);

  /// There is a new parent: what is held is due again, in its old order and before what is not
  /// sent.
  void send_again();

  /// Calls `wake` after each post, until it is set to an empty function. `wake` must not log.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  /// While true, posts are dropped uncounted. For whoever sends.
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
  std::uint32_t dropped_ = 0;  // Not told yet.
  double tokens_ = kBurst;
  Nanos counted_at_ = 0;  // When tokens_ was right; 0: before the first post.
  bool sending_ = false;
  std::function<void()> wake_;
};

}  // namespace xylem::overlay
