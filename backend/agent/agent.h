#pragma once

// The leaf of the tree: the agent of a host.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/agent/call_watch.h"
#include "backend/agent/collector.h"
#include "backend/agent/process_source.h"
#include "backend/agent/services.h"
#include "backend/host/host_watch.h"
#include "backend/leaf/comm_processes.h"
#include "backend/leaf/delivery.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/process_starter.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "overlay/node.h"
#include "wire/message.h"

namespace xylem::backend {

struct AgentOptions {
  /// Addresses of the front end. The agent reports to the front end first. The front end is also
  /// the last fall-back parent.
  std::vector<wire::Address> front_end;
  /// Description of this host. The agent fills in load and number of processes when it sends the
  /// description. `host_key` stays the same when the worker restarts, so that the front end
  /// recognises the leaf.
  wire::HostReport host;
  std::function<double()> load = [] { return 0.0; };

  HostWatchOptions host_watch;
  CollectorOptions collector;
  OutboxOptions outbox;
  ServicesOptions services;

  /// To drain the rings means to read the new records in them. The agent drains at an interval
  /// between `busy_interval` and `idle_interval`. It chooses the interval so that, at the present
  /// rate, the fullest ring is filled to the share `wanted_fill` at the next drain. The interval at
  /// most doubles from one drain to the next. If all cores of a host are busy, each drain takes
  /// processor time from a rank. So drains should be rare and find many records. For example, with
  /// a million records a second and a ring of 262,144, the agent drains every 33 ms. The rest of
  /// the ring is for bursts, and for the time that the agent waits for a processor. `busy_interval`
  /// is for ranks that poll: ten million records a second fill a ring of 262,144 in 26 ms. A longer
  /// `idle_interval` saves wake-ups, the main cost of an idle agent. But if a burst fills a ring
  /// between two drains, records are lost. An idle agent wakes when the run's time is a multiple of
  /// `idle_interval`. Windows end and samples are taken at these times too. After the end of the
  /// run, the agent drains at least eight times a second until the last window, because the user
  /// waits for it.
  Nanos busy_interval = 5 * kMillisecond;
  Nanos idle_interval = 125 * kMillisecond;
  double wanted_fill = 1.0 / 8;
  /// The agent sleeps when, for this long, every process has been silent for at least
  /// Silence::kShortest and none has been in a call. So with the defaults it sleeps about 4 s after
  /// the last call. A sleeping agent looks at the rings only every `sleep_interval`, at multiples
  /// of this time. The first call of any process wakes it (call_watch.h), and it looks again after
  /// `busy_interval`. With a shorter `sleep_after`, more jobs pay for system calls, one for each
  /// process and sleep.
  Nanos sleep_after = 2 * kSecond;
  Nanos sleep_interval = 1 * kSecond;
  /// Borrowed. The agent never sleeps if this is null, or if the watch refuses.
  CallWatch* call_watch = nullptr;
  /// If the front end's clock is unknown for this long, the agent uses this host's clock.
  Nanos clock_patience = 1 * kSecond;
  /// The agent ends this long after the last process has ended, if no new process registers.
  Nanos linger = 2 * kSecond;
  /// Maximum wait for the first process.
  Nanos first_linger = 30 * kSecond;
  /// After the end of the run, maximum wait for processes that are still alive.
  Nanos finish_patience = 2 * kSecond;
  /// The same if all of them have called MPI_Finalize, so that they are about to end. On a busy
  /// host, a process with a large memory takes seconds to end.
  Nanos exit_patience = 10 * kSecond;
  /// Maximum time without a link to a parent or to the front end. Then the agent ends, and
  /// undelivered data is lost.
  Nanos orphan_limit = 60 * kSecond;
  /// After the end of the run, this limit replaces `orphan_limit`.
  Nanos finish_orphan_limit = 5 * kSecond;
  /// A borrowed descriptor that becomes readable when the agent must shut down. The agent then
  /// behaves as at the end of the run. -1: no descriptor.
  int terminate_fd = -1;
};

/// Life cycle: first the agent gets from its ProcessSource all processes that the guard has. It
/// connects to the front end, reports its host, and gets leaf id, parents and control. Then it
/// connects to its parent. It drains the rings, journals packets and sends them until they are
/// acknowledged. It ends when the run is over, or when all processes have ended and no new process
/// has come for a while. To end, it closes the listener, removes the host's folder, sends the last
/// window and waits for all acknowledgements. Then it says goodbye and stops the network with code
/// 0.
///
/// After too long without a parent or front end, the agent logs how many calls are lost and ends
/// with kGaveUp. It ends immediately if the front end refuses its key before the agent has a place
/// in the tree, because a wrong key stays wrong. A worker may die at any point; then a new Agent
/// with the same journal and segments continues. Single-threaded, driven by a Network. All
/// references are borrowed.
class Agent final : public overlay::Node {
 public:
  static constexpr int kGaveUp = 1;

  Agent(AgentOptions options, Journal& journal, ProcessSource& source, ProcessStarter& starter);

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  enum class Phase {
    kRecovering,  // The agent takes over the processes that the guard has.
    kWatching,
    kFinishing,   // The run or all processes have ended; the agent reads the rings to their ends.
    kClosing,     // The agent has asked the source to close and has no answer yet.
    kDelivering,  // The last window is journalled; the agent waits for acknowledgements.
    kDone,
  };

  enum class Rest {
    kAwake,
    // A call already wakes the agent, but the next look still comes after at most `idle_interval`.
    kDozing,
    kAsleep,
  };

  // Processes.
  void take_from_source(Nanos now);
  void add_process(NewProcess process, Nanos now);
  void process_gone(int pidfd, Nanos now);
  void forget_finished();

  // Reports.
  wire::HostReport host_report() const;

  void report_host(Nanos now);

  // Work.
  void start_encoding(Nanos now);
  void configure();
  void drain(Nanos now);
  Nanos longest_interval() const;
  Nanos interval_for(double fill, Nanos now) const;
  Nanos next_look(Nanos now) const;
  void rest(bool is_quiet, Nanos now);
  void stay_awake(Nanos now);
  void on_call(Nanos now);
  void take_appended();
  void run_services(Nanos now);

  // End.
  void advance_life(Nanos now);
  Nanos patience_for_ends() const;
  bool wants_to_end(Nanos now) const;
  void on_source_closed(Nanos now);
  void deliver_last(Nanos now);
  void on_source_open(Nanos now);
  void give_up(const std::string& why);
  void end(int code, const std::string& why);
  void schedule(Nanos now);

  AgentOptions options_;
  Journal& journal_;
  ProcessSource& source_;
  CommProcesses comm_processes_;
  HostWatch host_watch_;
  std::optional<overlay::LinkId> front_end_link_;  // Empty while there is no link.
  Collector collector_;
  Delivery delivery_;
  Services services_;
  overlay::Network* network_ = nullptr;  // Borrowed; set from on_start() on.
  Phase phase_ = Phase::kRecovering;

  int source_fd_ = -1;
  std::map<int, std::pair<Lane, UniqueFd>> pidfds_;
  std::size_t processes_seen_ = 0;

  // Encoding starts at this time, even if the clock is still unknown. 0: place or control is still
  // missing.
  Nanos encode_at_ = 0;
  bool encoding_ = false;

  Nanos next_drain_ = 0;
  Nanos last_drain_ = 0;
  Nanos interval_ = 0;
  Rest rest_ = Rest::kAwake;
  Nanos active_at_ = 0;    // When something happened last.
  Nanos quiet_since_ = 0;  // Last time a process registered or ended; before that, the start.
  bool source_is_closed_ = false;
  Nanos finish_at_ = 0;  // Time when the run ended; 0: it has not ended.
};

}  // namespace xylem::backend
