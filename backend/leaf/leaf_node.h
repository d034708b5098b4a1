#pragma once

// A leaf that is part of a program: a Leaf or an EventSource. Its packets come from the program
// instead of rings.

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

/// A stream at this leaf.
struct LeafStreamState {
  wire::StreamSpec spec;
  /// Null if the stream has none. Shared: a thread of the program may still lift with it when
  /// the stream is closed.
  std::shared_ptr<const filters::Aggregation> aggregation;
};

/// The owner of a LeafNode. The LeafNode calls these functions only while one of its own functions
/// runs (on_message(), put(), ...), on the thread that called this function.
class LeafOwner {
 public:
  virtual ~LeafOwner() = default;
  virtual void on_joined(LeafId leaf) = 0;
  /// Called with each new version of control. `streams` are the open streams that include this
  /// leaf. A stream whose filters cannot be loaded here is left out.
  virtual void on_streams(std::vector<LeafStreamState> streams) = 0;
  /// Called at most once for each multicast to this leaf, in the order of the stream's numbers.
  /// Return false if there is no room for the multicast: the multicast then counts as missed.
  virtual bool on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) = 0;
  /// The journal may have room again, because packets may have been acknowledged.
  virtual void on_room() = 0;
  /// The tree is closing. Put the remaining data, then call leave().
  virtual void on_finish() = 0;
  /// The node has ended. `why` is empty if all data was delivered.
  virtual void on_closed(const std::string& why) = 0;
  /// Number of packets that the owner has not put yet. A node that leaves waits for these packets.
  virtual std::size_t packets_to_put() const { return 0; }
};

struct LeafNodeOptions {
  std::vector<wire::Address> front_end;
  wire::HostReport host;
  /// A leaf with kProgram does not count as a host in a run's tree. In a tool's tree it is a normal
  /// leaf.
  wire::Role role = wire::Role::kBackEnd;
  OutboxOptions outbox;
  /// Maximum time without a link to a parent or to the front end. Then the node ends, and
  /// undelivered data is lost.
  Nanos orphan_limit = 60 * kSecond;
};

/// Life cycle: the node connects, reports its host, and gets a leaf id and the streams. It journals
/// and delivers packets. It starts communication processes on its host when the front end requests
/// this. After leave() the node waits until all packets are acknowledged, and then leaves the tree.
/// Not thread-safe; references are borrowed.
class LeafNode final : public overlay::Node {
 public:
  LeafNode(LeafNodeOptions options, Journal& journal, ProcessStarter& starter, LeafOwner& owner);

  /// Journals the waves `first`, `first + 1`, ... of a stream. The caller has already lifted them
  /// (filters/aggregation.h). Returns false if there is no room; then call put() again after
  /// on_room().
  bool put(StreamId stream, std::uint64_t first, std::span<const wire::Fields> waves, Nanos now);
  /// Journals a tombstone for the waves from `first` to `end` - 1. The tombstone says that this
  /// leaf dropped these waves. Returns false if there is no room.
  bool put_lost(StreamId stream, std::uint64_t first, std::uint64_t end, Nanos now);
  /// Journals an account of the waves sent on the run's streams (wire/stream.h). `number` is the
  /// account's wave number. `is_last` marks the account as the leaf's last packet. Returns false if
  /// there is no room.
  bool put_account(std::uint64_t number, const wire::Fields& account, bool is_last, Nanos now);
  /// Journals a packet of any stream from this leaf. Returns false if there is no room; then
  /// `draft` is unchanged.
  bool put(Draft&& draft, Nanos now);
  /// The run's control. It is set before on_joined() is called.
  const std::optional<wire::Control>& control() const { return delivery_.control(); }
  /// True if all packets that were put are acknowledged.
  bool is_delivered() const { return delivery_.is_done(); }
  /// True if the node has ended because the front end refused its key.
  bool key_refused() const { return key_refused_; }
  /// Leaves the tree when all packets are put and acknowledged, or at `deadline`. At the deadline,
  /// on_closed() gets the number of packets that were not delivered.
  void leave(Nanos deadline, Nanos now);

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
  std::map<StreamId, IntervalSet> gaps_;  // Gaps in the multicasts, already reported once. They are
                                          // reported again to each new parent and on request.
  std::optional<overlay::LinkId> gaps_told_to_;
  std::uint64_t streams_version_ = 0;
  bool has_put_ = false;  // True if something was put since trim_when_quiet() last looked.
  Nanos next_look_ = 0;
  bool key_refused_ = false;
  bool joined_ = false;
  bool finish_told_ = false;
  Nanos leave_by_ = 0;  // 0: not leaving.
  bool ended_ = false;
};

}  // namespace xylem::backend
