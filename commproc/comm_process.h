#pragma once

// The inner node of the tree, called a communication process.

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
  /// Addresses of the front end. The process first reports to the front end. The front end is also
  /// the last fall-back.
  std::vector<wire::Address> front_end;
  /// The process ends if it has no parent for this time. After this time its leaves have other
  /// parents, or the run is over.
  Nanos orphan_limit = 60 * kSecond;
  filters::WaveMergerOptions windows;
  std::string host;  ///< Name of the host, for people.
};

/// Life cycle: the process connects to the front end, reports its addresses, gets its place
/// (Assignment) and connects to its parent. Then it serves children. It ends when Control says
/// `finish` and all children have left (the network stops with code 0), or when it has had no
/// parent for too long (code 1).
///
/// If the parent is lost, the process connects to the next parent in its Assignment. After each
/// change of parent, it asks all leaves below to resend the packets that are not acknowledged.
///
/// The process keeps no packet after sending it. Nodes below send some messages only once, for
/// example Attached and StreamRefused. While there is no parent, the process keeps the last 4096 of
/// these messages. Not thread-safe: one event loop calls it.
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
  overlay::Network* network_ = nullptr;  // Set by on_start(). Borrowed.
  overlay::Router router_;
  std::map<overlay::LinkId, LeafId> children_;  // kNoLeaf if the child is a communication process.
  filters::WaveMerger windows_;
  StreamRelay streams_;
  /// The last version that each child reported in StreamsTaken.
  std::map<overlay::LinkId, std::uint64_t> taken_;
  std::uint64_t taken_told_ = 0;
  /// Messages that nodes below send only once; kept while there is no parent.
  std::deque<wire::Message> reports_;

  overlay::Uplink uplink_;
  Nanos next_report_ = 0;
  std::optional<wire::Control> control_;
  /// The state of the memory that packets have used. A packet sets kInUse. The first report after
  /// that sets kFreed. The next report, if no packet has come, returns freed memory to the system
  /// and sets kGivenBack.
  enum class Memory { kInUse, kFreed, kGivenBack };
  Memory memory_ = Memory::kGivenBack;
  bool is_work_waiting_ = false;  // True while messages that arrived together are being handled.
  bool stopping_ = false;
};

}  // namespace xylem::commproc
