#pragma once

// The front end of a tool's tree: the root, and the streams from which the tool receives waves.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "filters/multicast_cut.h"
#include "frontend/gathering.h"
#include "frontend/inbox.h"
#include "frontend/root.h"
#include "frontend/tree.h"
#include "overlay/node.h"
#include "overlay/recent_multicasts.h"
#include "wire/message.h"

namespace xylem::frontend {

struct TreeNodeOptions {
  RootOptions root;
  GatheringOptions gathering;
  std::size_t queue_bytes = 16u << 20;
};

/// The logic, without threads. Only one call may run at a time, so the caller must hold a lock. The
/// first group of functions, except is_open(), is called on the loop's thread. is_open() and the
/// second group may also be called on the program's threads.
class TreeNode final : public overlay::Node, private RootOwner {
 public:
  explicit TreeNode(TreeNodeOptions options);

  // ---- on the loop, for the program's calls, any time after on_start() ----

  /// Opens a stream on all nodes. Fails with kAlreadyExists if a stream with this name is open.
  /// Also fails if filters::aggregation_of() or filters::narrowing_of() fails for the stream.
  Result<StreamId> open(wire::StreamSpec spec);
  /// Returns true if all nodes have answered, false if an answer is missing. Fails if a node has
  /// refused the stream. Call it repeatedly until it returns true or fails.
  Result<bool> is_open(StreamId stream) const;
  /// Closes a stream. If the stream was open, this adds a kClosed event.
  void close(StreamId stream);
  /// Sends a multicast that next_multicast() has made. Send the multicasts in the order of their
  /// numbers.
  void multicast(const wire::Multicast& whole);
  /// Ends the run: all nodes send their remaining data and leave.
  void finish();

  /// Number of bytes that wait on the link with the longest queue.
  std::size_t longest_queue() const { return root_.longest_queue(); }

  // ---- for the program, on any thread; these send nothing ----

  /// Makes the next multicast of a stream: sets its number, counted from 1, and its recipients. If
  /// `to` is empty, the recipients are all leaves of the stream. Fails with kUnavailable if the
  /// stream is closed. Fails with kInvalidArgument if `to` contains a leaf that is not in the
  /// stream, or if the multicast would not fit into a frame. Also fails if the stream's narrowing
  /// refuses the fields for the first recipient.
  Result<wire::Multicast> next_multicast(StreamId stream, const wire::Fields& fields,
                                         const IntervalSet& to = {});
  /// Returns the inbox of a stream; null if the stream is closed. The pointer is valid until the
  /// stream is closed.
  Inbox* inbox(StreamId stream);
  std::optional<TreeEvent> take_event();
  /// True if the tree is placed, and every node has attached to its parent.
  bool all_in_place() { return root_.all_in_place(); }
  const Overlay& overlay() const { return root_.overlay(); }
  std::size_t attached_leaves() const;
  /// True if at least `leaves` leaves are attached and all nodes are in place. has_all(0) is also
  /// true if no leaf has joined.
  bool has_all(std::size_t leaves) {
    const IntervalSet& joined = root_.overlay().leaves();
    if (leaves == 0 && joined.empty()) return true;
    return joined.count() >= leaves && all_in_place() && attached_leaves() >= leaves;
  }
  /// Returns a text for people: the reason why has_all() is false.
  std::string what_is_missing(std::size_t leaves) const;
  /// Adds a kNotice event of this process, for example about a back end that could not be started.
  void note(const std::string& host, std::string text);
  /// Adds the last event: kClosed for the tree. Further calls have no effect.
  void end_events(std::string text);
  /// True if all nodes have left after finish().
  bool is_dissolved() const { return root_.control().finish && !root_.has_links(); }
  IntervalSet open_leaves() const { return root_.open_leaves(); }

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  struct Open {
    // The narrowing is shared, see filters::Narrowing.
    Open(Inbox its, std::shared_ptr<const filters::Narrowing> narrow)
        : inbox(std::move(its)), narrowing(std::move(narrow)) {}
    Inbox inbox;
    filters::NodeNarrowing narrowing;
    bool failure_is_told = false;
    std::uint64_t version = 0;  // The version of control that announces the stream to the nodes.
    std::uint64_t multicasts = 0;
    // For each leaf, the missed multicasts for which there was already a kGap event.
    std::map<LeafId, IntervalSet> missed;
    std::optional<Error> refused;
  };

  void on_packet(wire::Packet packet, Nanos now) override;
  void on_node(const OverlayNode& node) override;
  void on_joined(LeafId leaf, Nanos now) override;
  void on_lost(const OverlayNode& back_end) override;
  void on_found(const OverlayNode& back_end) override;
  void on_link_report(const wire::LinkReport& report, Nanos now) override;
  void on_notice(const wire::Notice& notice, Nanos now) override;
  void on_healed(const OverlayNode& node) override;
  void on_multicast_gap(const wire::MulticastGap& gap) override;
  void on_stream_refused(const wire::StreamRefused& refused) override;
  void on_streams_taken(std::uint64_t version) override { taken_version_ = version; }
  void on_leaves_below(overlay::LinkId link, const IntervalSet& before,
                       const IntervalSet& now) override;

  std::vector<wire::StreamSpec> specs() const;
  IntervalSet expected() const;
  Result<IntervalSet> addressees(const Open& open, const IntervalSet& to) const;
  std::optional<wire::Multicast> share_of(Open& open, filters::MulticastCut& cut, LeafId leaf);
  void replay(overlay::LinkId link, const std::vector<const wire::Multicast*>& missed);
  void tell(TreeEvent::Kind kind, LeafId leaf, const std::string& host, std::string text);
  void tell_closed(std::string text);
  void place_when_gathered(Nanos now);
  void after_event(Nanos now);
  void send_acknowledgements(Nanos now);

  TreeNodeOptions options_;
  overlay::Network* network_ = nullptr;  // Valid from on_start() on.
  Root root_;
  Gathering gathering_;
  std::map<StreamId, Open> streams_;
  // The last multicasts. They are sent again to nodes that choose the front end as their new
  // parent.
  overlay::RecentMulticasts recent_;
  std::uint32_t next_stream_;
  std::uint64_t taken_version_ = 0;
  std::deque<TreeEvent> events_;
  bool has_last_event_ = false;
  std::map<LeafId, NodeState> states_;
};

}  // namespace xylem::frontend
