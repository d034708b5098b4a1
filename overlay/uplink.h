#pragma once

// A node's connection to its parent: the current parent, the next parent to try, and the time
// without a parent.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

struct UplinkOptions {
  /// Addresses of the front end. A node without a place in the tree reports to the front end.
  std::vector<wire::Address> front_end;
  /// Returns this node's hello. Called for each attempt to connect.
  std::function<wire::Hello()> hello;
  /// Pause after a round in which no parent of the list answered, and before an attempt to reach
  /// the same parent again. The pause doubles after each round, up to `longest_retry`. There is no
  /// pause between the attempts of a round, because each attempt may take seconds.
  Nanos first_retry = 100 * kMillisecond;
  Nanos longest_retry = 2 * kSecond;
};

/// The uplink first connects to the front end and reports to it. Then an assignment brings a list
/// of parents, and the uplink connects to the first parent of the list that answers. If that parent
/// is lost, the uplink tries the next parents of the list, round after round. If a later assignment
/// has another first parent, the uplink connects to this new parent. The old parent is used until
/// the new link is open. Then the old link is closed.
///
/// An Uplink is a state machine: the owner passes it the events of upward links and handles the
/// returned Change. A link is upward if this process opened it. Not thread-safe. The network is
/// borrowed from start() on.
class Uplink {
 public:
  enum class Change {
    kNone,
    kReporting,  ///< link() leads to the front end. This node has no place in the tree yet.
    kAdopted,    ///< parent() is new, and an Attached was sent to this parent. See former().
    kLost,       ///< The upward link is lost; link() is empty.
  };
  /// How the connection to the previous parent ended. It shows whether messages to that parent have
  /// arrived.
  enum class Former {
    kNone,  ///< There was no previous parent.
    /// The old parent was used until the change. Messages to this parent arrive, but its answers
    /// may be lost.
    kMoved,
    kLost,  ///< The old parent was lost. Messages to it may be lost, too.
  };

  explicit Uplink(UplinkOptions options);

  /// Sets the network and the start of the time without a parent. Does not connect.
  void start(Network& network, Nanos now);
  /// Makes the first attempt to connect.
  Change connect();
  /// Ends attempts to connect. Links stay open.
  void stop() { stopped_ = true; }

  Change on_link_up(LinkId link);
  Change on_connect_failed(const Error& why, Nanos now);
  /// Returns kNone if the link is not upward.
  Change on_link_down(LinkId link, const Error& why, Nanos now);
  /// Handles an assignment. An assignment without parents means that the front end is the parent.
  Change assign(const wire::Assignment& assignment);
  Change on_timer(Nanos now);
  /// Returns the time at which to call on_timer(); 0 if nothing is scheduled.
  Nanos next_due() const { return retry_at_; }

  /// The link to the parent, if there is one.
  std::optional<LinkId> parent() const { return parent_; }
  NodeId parent_node() const { return parent_node_; }
  /// The upward link: to the parent, or to the front end for reports.
  std::optional<LinkId> link() const { return parent_ ? parent_ : front_end_; }
  /// How the connection to the parent before the last kAdopted ended.
  Former former() const { return former_; }
  /// Time without an upward link; 0 if there is a link.
  Nanos orphan_for(Nanos now) const { return link() ? 0 : now - orphan_since_; }
  /// Time at which link() was lost or start() was called. Valid only while link() is empty.
  Nanos orphan_since() const { return orphan_since_; }

 private:
  Change adopt(LinkId link, NodeId node);
  void retry_later(Nanos now);
  void choose_next();

  UplinkOptions options_;
  Network* network_ = nullptr;
  // The list of parents, in the order in which to try them; never empty.
  std::vector<wire::Parent> line_;
  std::size_t next_ = 0;
  bool placed_ = false;              // True if an assignment has arrived.
  std::optional<LinkId> front_end_;  // The link for reports while there is no parent.
  std::optional<LinkId> parent_;
  NodeId parent_node_ = wire::kNoNode;  // The last parent, even if that parent is lost.
  Former former_ = Former::kNone;
  bool lost_one_ = false;  // True if a parent was lost since the last adoption.
  std::optional<NodeId> connecting_to_;
  // True if an assignment arrived while the uplink was connecting to a parent of an older list.
  bool placed_meanwhile_ = false;
  bool stopped_ = false;
  Nanos retry_at_ = 0;  // 0: nothing to retry.
  Nanos retry_pause_ = 0;
  std::size_t failed_ = 0;  // Failed attempts in this round.
  Nanos orphan_since_ = 0;
};

}  // namespace xylem::overlay
