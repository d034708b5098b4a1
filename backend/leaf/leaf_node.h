#pragma once

// The leaf of a tool's tree: streams instead of rings.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/leaf/comm_processes.h"
#include "backend/leaf/delivery.h"
#include "backend/leaf/journal.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "filters/aggregation.h"
#include "overlay/node.h"
#include "wire/fields.h"
#include "wire/message.h"
#include "wire/stream.h"

namespace xylem::backend {

/// A stream as it stands at this leaf.
struct LeafStreamState {
  wire::StreamSpec spec;
  std::shared_ptr<const filters::Aggregation> aggregation;  ///< Null: it has none.
};

/// Whom a LeafNode serves. Called from within the LeafNode's calls.
class LeafOwner {
 public:
  virtual ~LeafOwner() = default;
  virtual void on_joined(LeafId leaf) = 0;
  /// All streams that are open and include this leaf; told with each new version of control.
  virtual void on_streams(std::vector<LeafStreamState> streams) = 0;
  /// Each number of a stream once, in order. False: there is no room for it, it counts as missed.
  virtual bool on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) = 0;
  /// The journal may have room again; something may have been acknowledged.
  virtual void on_room() = 0;
  /// The tree is dissolving: what is left should be put now; leave() follows.
  virtual void on_finish() = 0;
  /// The end. Empty: all is delivered.
  virtual void on_closed(const std::string& why) = 0;
  /// Packets for which the journal had no room yet: before they are put, a node that leaves has not
  /// delivered everything. Asked after on_room(), and by leave().
  virtual std::size_t packets_to_put() const { return 0; }
  /// What it asked for with LeafNode::set_owner_timer().
  virtual void on_timer(Nanos) {}
};

struct LeafNodeOptions {
  std::vector<wire::Address> front_end;
  wire::HostReport host;
  /// kProgram: in a run's tree no host. In a tool's a leaf like any other.
  wire::Role role = wire::Role::kBackEnd;
  OutboxOptions outbox;
  /// Without a front end for so long, what is left is lost.
  Nanos orphan_limit = 60 * kSecond;
};

/// Life: connects, reports, gets a leaf id and the streams; journals and delivers what is put;
/// leaves when told to and all is acknowledged. Starts communication processes on
/// its host when the front end asks for it. One thread; what is given by reference is borrowed.
class LeafNode final : public overlay::Node {
 public:
  LeafNode(LeafNodeOptions options, Journal& journal, ProcessStarter& starter, LeafOwner& owner);

  /// Journals the waves `first`, `first + 1`, ... of a stream, already lifted. False while there is
  /// no room: put them again after on_room().
  bool put(StreamId stream, std::uint64_t first, std::span<const wire::Fields> waves, Nanos now);
  /// The same waves as lost: what goes up is that they were given up here.
  bool put_lost(StreamId stream, std::uint64_t first, std::uint64_t end, Nanos now);
  /// How much it has sent on the run's streams (wire/stream.h), as its account number `number`; as
  /// its last packet when nothing follows.
  bool put_account(std::uint64_t number, const wire::Fields& account, bool is_last, Nanos now);
  /// A packet of any stream that this leaf has made. False as put() above; then `draft` is as it
  /// was.
  bool put(Draft&& draft, Nanos now);
  /// The run's control; there from on_joined() on.
  const std::optional<wire::Control>& control() const { return delivery_.control(); }
  /// Everything that was put is acknowledged; what the owner has still to put is not looked at.
  bool is_delivered() const { return delivery_.is_done(); }
  /// Ends when everything is put and acknowledged, or at `deadline` in any case: then on_closed()
  /// says how many packets were not.
  void leave(Nanos deadline, Nanos now);
  /// Calls the owner's on_timer() once, not before `when`; replaces what was set before. Not after
  /// on_closed().
  void set_owner_timer(Nanos when, Nanos now);

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  wire::PacketId id_of(StreamId stream, std::uint64_t first, std::uint64_t end) const;
  void take_control();
  void take_multicast(const wire::Multicast& multicast);
  void miss(StreamId stream, std::uint64_t first, std::uint64_t end);
  void repeat_gaps();
  void trim_when_quiet(Nanos now);
  void end_when_done(Nanos now);
  void end(const std::string& why);
  void schedule(Nanos now);

  LeafNodeOptions options_;
  LeafOwner& owner_;
  Journal& journal_;
  Delivery delivery_;
  CommProcesses comm_processes_;
  overlay::Network* network_ = nullptr;  // Valid from on_start() on.
  std::map<StreamId, LeafStreamState> streams_;
  std::map<StreamId, std::uint64_t> last_multicast_;
  std::map<StreamId, IntervalSet> gaps_;  // Told; again to each new parent, which may not know.
  std::optional<overlay::LinkId> gaps_told_to_;
  std::uint64_t streams_version_ = 0;
  bool has_put_ = false;  // Since the journal was looked at last.
  Nanos next_look_ = 0;
  bool joined_ = false;
  bool finish_told_ = false;
  Nanos leave_by_ = 0;     // 0: not leaving.
  Nanos owner_timer_ = 0;  // 0: not set.
  bool ended_ = false;
};

}  // namespace xylem::backend
