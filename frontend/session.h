#pragma once

// The monitor's front end: the root of a tree that stores the data of MPI jobs.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "frontend/control_channel.h"
#include "frontend/gathering.h"
#include "frontend/root.h"
#include "frontend/row_queue.h"
#include "frontend/session_plan.h"
#include "launch/comm_process_launch.h"
#include "overlay/node.h"
#include "storage/write/recorder.h"
#include "wire/message.h"

namespace xylem::frontend {

struct SessionOptions {
  SessionPlan plan;  ///< The user's settings.
  /// Streams of the run, numbered from wire::kFirstStoredStream on.
  std::vector<wire::StreamSpec> streams{};
  /// Maximum wait of fuzzy placement for measurements. It begins when gathering is complete.
  Nanos facts_patience = 2 * kSecond;
  RowQueueOptions queue{};  ///< When data is committed, and how much data may wait for the store.
  /// Timeout for the report of a communication process. After this the process is left out of the
  /// tree.
  Nanos start_limit = 5 * kSecond;
  /// Timeout for a host that cannot be reached over any link of the root. After this the host
  /// counts as lost.
  Nanos lost_limit = 10 * kSecond;
  /// Maximum time without progress while the run is ending. After this, the session no longer waits
  /// for missing data.
  Nanos finish_limit = 15 * kSecond;
  /// Descriptor of the control channel to the process that has started this front end; -1 means no
  /// channel. Borrowed.
  int control_fd = -1;
  /// Returns true while an agent of this host may still connect, that is, while its run folder
  /// exists.
  std::function<bool()> agent_expected = [] { return false; };
  /// True if the job may run on other hosts.
  bool remote = false;
  /// Starts communication processes on hosts that have no back end. If it is null, all hosts must
  /// have a back end. Borrowed.
  launch::CommProcessLauncher* launcher = nullptr;
  /// The data of this run that its former front ends have stored. In the first front end, at most
  /// the epoch is set.
  std::optional<storage::Past> past;
  /// Called once, when the run has its first data: a process has registered, or a service or a
  /// program has sent data.
  std::function<void()> on_first_record = [] {};
};

/// The result of a session.
struct SessionOutcome {
  std::size_t hosts = 0;
  std::size_t ranks = 0;
  std::vector<storage::AccountLine> account;
  /// The reason why the account could not be stored. Empty if the account is stored.
  std::string unstored;
  /// A sentence for people: which data is incomplete, and why. Empty if all data is complete.
  std::string trouble;
  bool holds_something = false;  ///< True if `on_first_record` was called.
  bool abandoned = false;        ///< True if the job was not started.
  int exit_code = -1;            ///< Exit code of the job; -1 if unknown.
};

/// Life cycle: the caller calls begin_run() of the store, then makes a session. The session
/// sends each back end a leaf id. The front end is the back end's first parent, so data can flow
/// immediately. When gathering is complete, the session places the tree and moves every node to its
/// place. It stores packets and acknowledges them.
///
/// The run ends when the session reads `finish` from the control channel, or when the channel is
/// closed. The session then tells the tree to send its remaining data, and waits for this data.
/// Then it ends the run in the store and stops the network. After `abandon` it does the same, but
/// does not wait for processes that may still register. While the run is ending, the session writes
/// `alive` to the control channel each second. It writes nothing while one commit takes longer than
/// a second.
///
/// Packets of unknown streams, and of leaves that have not joined, are dropped without an
/// acknowledgement. The first one is reported immediately. If there are several, their number is
/// reported at the end.
///
/// The session acknowledges only committed data (RowQueue). If the store fails, the session logs
/// the reason once, acknowledges nothing and retries. A slow store delays only acknowledgements.
///
/// If the disk is full at the end of a run, packets become tombstones (wire/tombstone.h) after
/// RowQueueOptions::full_limit. Tombstones are acknowledged immediately. They are stored together
/// with the end of the run; space for both is reserved. If not even the tombstones can be stored,
/// the outcome still has the account.
///
/// If another front end takes over the run, the session stops storing and acknowledging. It stops
/// the network with kReplaced. The children reconnect to the other front end.
///
/// Not thread-safe: one event loop calls it.
class Session final : public overlay::Node, private RootOwner, private RowQueueOwner {
 public:
  static constexpr int kReplaced = 3;

  /// `recorder` is borrowed and must outlive the session.
  Session(SessionOptions options, storage::Recorder& recorder);

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

  /// Valid after the network has stopped.
  const SessionOutcome& outcome() const noexcept { return outcome_; }

 private:
  // RootOwner: called by root_.
  void on_packet(wire::Packet packet, Nanos now) override;
  void on_node(const OverlayNode& node) override;
  void on_joined(LeafId leaf, Nanos now) override;
  void on_lost(const OverlayNode& leaf) override;
  void on_found(const OverlayNode& leaf) override;
  void on_launch(const OverlayNode& comm_process) override;
  void on_comm_process_lost(const OverlayNode& node, const std::string& why) override;
  void on_healed(const OverlayNode& node) override;
  void on_link_report(const wire::LinkReport& report, Nanos now) override;
  void on_host_facts(const wire::HostFacts& host, Nanos now) override;
  void on_notice(const wire::Notice& notice, Nanos now) override;
  void on_stream_refused(const wire::StreamRefused& refused) override;

  // The tree.
  void recall_processes(Nanos now);
  void note(const OverlayNode& about, Level level, const std::string& text);
  void report_itself(Nanos now);
  void note_registration(const wire::Packet& packet, Nanos now);
  void note_record();
  bool is_of_this_run(const wire::PacketId& id) const;
  void refuse(const wire::PacketId& id);
  void tell_refused();
  void place_when_gathered(Nanos now);
  bool facts_are_awaited(Nanos now);
  void note_placement(const std::map<LeafId, KnownHost>& known, Nanos now);

  // RowQueueOwner: called by rows_.
  void on_settled(const wire::Acknowledgement& answer, const IntervalSet& ended) override;
  void on_superseded(const Error& why) override;
  void on_end_recorded(storage::Recorded done) override;

  // End.
  void read_control(Nanos now);
  void show_life(Nanos now);
  void finish(int exit_code, Nanos now);
  void broadcast_finish_when_ready(Nanos now);
  void end_when_done(Nanos now);
  void end(Nanos now, std::string trouble);
  std::string late_leaves() const;

  void schedule(Nanos now);
  Nanos run_time(Nanos now) const { return now - epoch_; }

  SessionOptions options_;
  storage::Recorder& recorder_;
  overlay::Network* network_ = nullptr;  // Set by on_start(). Borrowed.
  Nanos epoch_ = 0;

  Root root_;
  Gathering gathering_;
  std::map<LeafId, placement::FactValues> facts_;  // Kept until the tree is placed.
  Nanos facts_deadline_ = 0;                       // Latest time to wait for facts; 0: not set yet.

  RowQueue rows_;
  ControlChannel control_;
  std::uint64_t strange_packets_ = 0;  // Packets of unknown streams or leaves.

  std::optional<int> exit_code_;  // Set when the run begins to end.
  Nanos finishing_since_ = 0;
  Nanos next_sign_of_life_ = 0;
  Nanos now_ = 0;          // Time of the event that is being handled.
  Nanos next_report_ = 0;  // Time of the next report about this front end's writes to the store.
  bool is_over_ = false;
  SessionOutcome outcome_;
};

}  // namespace xylem::frontend
