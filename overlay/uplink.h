#pragma once

// A node's way to the root: whom it has as parent, whom it tries next, and since when it has none.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

struct UplinkOptions {
  /// Where the front end listens: who has no place yet reports there.
  std::vector<wire::Address> front_end;
  /// What this node is, asked for at each attempt to connect.
  std::function<wire::Hello()> hello;
  /// When the whole line was tried in vain, the next round comes so much later; doubled up to the
  /// longest. Within a round one attempt follows the other: each may have taken seconds.
  Nanos first_retry = 100 * kMillisecond;
  Nanos longest_retry = 2 * kSecond;
};

/// Life: connects to the front end, and stays there to report until an assignment names a line of
/// parents; then connects to the first of the line that answers. When that is lost, tries the next,
/// round and round. When an assignment names another first parent, connects to it while the present
/// one serves on, and closes the present one afterwards.
///
/// A state machine over a Network: the owner passes on what concerns upward links and reads the
/// Change that comes of it. Which links are upward: every one that was not accepted. One thread;
/// the network is borrowed from start() on.
class Uplink {
 public:
  enum class Change {
    kNone,
    kReporting,  ///< link() leads to the front end, which does not know our place yet.
    kAdopted,    ///< parent() is new; it has been told by Attached. See former().
    kLost,       ///< There is no way up any more: link() is empty.
  };
  /// What became of the parent before this one, and so of what went through it.
  enum class Former {
    kNone,   ///< There was none.
    kMoved,  ///< Served until the change: what was sent to it arrives, answers may not come back.
    kLost,   ///< Gone: what was sent to it may be lost.
  };

  explicit Uplink(UplinkOptions options);

  /// Starts to count as an orphan. Does not connect.
  void start(Network& network, Nanos now);
  /// The first attempt.
  Change connect();
  /// No more attempts; the links stay as they are.
  void stop() { stopped_ = true; }

  Change on_link_up(LinkId link);
  Change on_connect_failed(const Error& why, Nanos now);
  /// Not of an upward link: kNone.
  Change on_link_down(LinkId link, const Error& why, Nanos now);
  /// An assignment without parents means the front end.
  Change assign(const wire::Assignment& assignment);
  Change on_timer(Nanos now);
  /// When on_timer() has something to do; 0: not before something happens.
  Nanos next_due() const { return retry_at_; }

  /// The link to the parent, when there is one.
  std::optional<LinkId> parent() const { return parent_; }
  NodeId parent_node() const { return parent_node_; }
  /// The way up, be it only for reports.
  std::optional<LinkId> link() const { return parent_ ? parent_ : front_end_; }
  /// Of the last kAdopted.
  Former former() const { return former_; }
  /// How long there has been no way up; 0 when there is one.
  Nanos orphan_for(Nanos now) const { return link() ? 0 : now - orphan_since_; }
  /// When link() was lost, or start() was called; meaningful while there is no link().
  Nanos orphan_since() const { return orphan_since_; }

 private:
  Change adopt(LinkId link, NodeId node);
  void retry_later(Nanos now);
  void choose_next();

  UplinkOptions options_;
  Network* network_ = nullptr;
  std::vector<wire::Parent> line_;  // In the order in which to try them; never empty.
  std::size_t next_ = 0;
  bool placed_ = false;              // An assignment has come.
  std::optional<LinkId> front_end_;  // To report to, until the parent is there.
  std::optional<LinkId> parent_;
  NodeId parent_node_ = wire::kNoNode;  // The last one, also when it is lost.
  Former former_ = Former::kNone;
  bool lost_one_ = false;  // Since the last adoption.
  std::optional<NodeId> connecting_to_;
  bool placed_meanwhile_ = false;  // While connecting by an older line.
  bool stopped_ = false;
  Nanos retry_at_ = 0;  // 0: nothing to retry.
  Nanos retry_pause_ = 0;
  std::size_t failed_ = 0;  // Attempts of this round.
  Nanos orphan_since_ = 0;
};

}  // namespace xylem::overlay
