#pragma once

// The inner node of the tree.

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "commproc/stream_relay.h"
#include "filters/multicast_cut.h"
#include "filters/wave_merger.h"
#include "overlay/node.h"
#include "overlay/router.h"
#include "overlay/uplink.h"
#include "wire/message.h"

namespace xylem::commproc {

struct CommProcessOptions {
  NodeId node{};
  std::uint32_t level = 0;
  /// Addresses of the front end: the process reports there first, and it is the last fall-back.
  std::vector<wire::Address> front_end;
  /// The process ends after this long without a parent: its leaves have other parents, or the run
  /// is over.
  Nanos orphan_limit = 60 * kSecond;
  filters::WaveMergerOptions windows;
  std::string host;  ///< Its name, for people.
};

/// Life cycle: connects to the front end and reports its addresses; gets its place (Assignment);
/// connects to its parent; serves children until control says `finish` and all of them have left,
/// or until it has been without a parent for too long. A lost parent is replaced by the next in the
/// line; then all leaves below are asked to resend what was in flight.
///
/// Keeps no packet after sending it. Messages that nodes below send only once (that they attached,
/// or refuse a stream) wait while there is no parent. Single-threaded, driven by a Network.
class CommProcess final : public overlay::Node {
 public:
  explicit CommProcess(CommProcessOptions options);

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  void accept_child(overlay::LinkId link, const overlay::Peer& peer);
  wire::Hello hello() const;
  void react(overlay::Uplink::Change change);
  void ask_subtree_to_resend();
  void multicast(const wire::Multicast& down);
  void replay(overlay::LinkId link, const std::vector<const wire::Multicast*>& multicasts);
  void send_share(overlay::LinkId link, LeafId leaf, const wire::Multicast& whole,
                  std::optional<filters::MulticastCut>& cut);
  void tell_streams_taken();
  void take_control(const wire::Control& control);
  void from_child(overlay::LinkId link, wire::Message message, Nanos now);
  void from_parent(wire::Message message);
  void send_up(wire::Message message);
  void report_up(wire::Message message);
  void send_ready(Nanos now);
  void tell_leaves();
  void report_links(Nanos now);
  void give_back_memory();
  void end_if_done(Nanos now);
  void schedule(Nanos now);

  CommProcessOptions options_;
  overlay::Network* network_ = nullptr;  // Valid from on_start on; the caller owns it.
  overlay::Router router_;
  std::map<overlay::LinkId, LeafId> children_;  // kNoLeaf: a communication process.
  filters::WaveMerger windows_;
  StreamRelay streams_;
  std::map<overlay::LinkId, std::uint64_t>
      taken_;  // Version of the streams taken below each child.
  std::uint64_t taken_told_ = 0;
  std::deque<wire::Message>
      reports_;  // One-time messages from below; only while there is no parent.

  overlay::Uplink uplink_;
  Nanos next_report_ = 0;
  std::optional<wire::Control> control_;
  enum class Memory { kInUse, kFreed, kGivenBack };  // Since packets came, by report intervals.
  Memory memory_ = Memory::kGivenBack;
  bool is_work_waiting_ = false;  // Until all messages that came together are handled.
  bool stopping_ = false;
};

}  // namespace xylem::commproc
