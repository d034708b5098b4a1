#pragma once

// A node's connection to its parent: the current parent, the next one to try, and the time without
// one.

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::overlay {

struct UplinkOptions {
  /// Addresses of the front end, to which a node without a place reports.
  std::vector<wire::Address> front_end;
  /// Makes this node's hello. Called at each attempt to connect.
  std::function<wire::Hello()> hello;
  /// Pause after a round in which no parent of the line answered; it doubles up to the longest.
  /// Within a round there is no pause: each attempt may take seconds.
  Nanos first_retry = 100 * kMillisecond;
  Nanos longest_retry = 2 * kSecond;
};

/// It first connects to the front end and reports there until an assignment names a line of
/// parents. Then it connects to the first of the line that answers. When that parent is lost, it
/// tries the next, again and again. When an assignment names another first parent, it connects to
/// the new one and then closes the old one, which serves until then.
///
/// A state machine over a Network: the owner passes on the events of upward links and reads the
/// resulting Change. A link is upward if this process did not accept it. One thread; the network is
/// borrowed from start() on.
class Uplink {
 public:
  enum class Change {
    kNone,
    kReporting,  ///< link() leads to the front end, which does not know our place yet.
    kAdopted,    ///< parent() is new; an Attached was sent to it. See former().
    kLost,       ///< There is no upward link any more: link() is empty.
  };
  /// The fate of the previous parent, and so of the messages through it.
  enum class Former {
    kNone,   ///< There was none.
    kMoved,  ///< Served until the change: messages to it arrive, answers may be lost.
    kLost,   ///< Lost: messages to it may be lost.
  };

  explicit Uplink(UplinkOptions options);

  /// Starts the orphan time. Does not connect.
  void start(Network& network, Nanos now);
  /// The first attempt.
  Change connect();
  /// Ends attempts to connect; links stay open.
  void stop() { stopped_ = true; }

  Change on_link_up(LinkId link);
  Change on_connect_failed(const Error& why, Nanos now);
  /// kNone if it is not an upward link.
  Change on_link_down(LinkId link, const Error& why, Nanos now);
  /// An assignment without parents means the front end.
  Change assign(const wire::Assignment& assignment);
  Change on_timer(Nanos now);
  /// When to call on_timer(); 0: nothing is scheduled.
  Nanos next_due() const { return retry_at_; }

  /// The link to the parent, if there is one.
  std::optional<LinkId> parent() const { return parent_; }
  NodeId parent_node() const { return parent_node_; }
  /// The upward link: to the parent, or to the front end for reports.
  std::optional<LinkId> link() const { return parent_ ? parent_ : front_end_; }
  /// For the last kAdopted.
  Former former() const { return former_; }
  /// Time without an upward link; 0 if there is one.
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
