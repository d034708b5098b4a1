#pragma once

// The leaf of the tree: the agent of a host.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  /// Where the front end listens: first to report to, and last to fall back on.
  std::vector<wire::Address> front_end;
  /// Who this host is; load and number of processes are filled in when it is sent. Its host_key
  /// stays the same over restarts of the worker, so that the front end knows the leaf again.
  wire::HostReport host;
  std::function<double()> load = [] { return 0.0; };

  HostWatchOptions host_watch;
  CollectorOptions collector;
  OutboxOptions outbox;
  ServicesOptions services;

  /// Rings are looked at so often that at the present rate the fullest has `wanted_fill` of its
  /// room in use, between these bounds. Each look of an agent whose cores are all busy takes one
  /// from a rank, so looks are few and find much: at a million records a second, 33 ms for a ring
  /// of 262,144. The rest of the room is for bursts and for an agent that has to wait for its turn.
  /// `busy_interval` is for ranks that poll: ten million records a second fill such a ring in 26
  /// ms. Waking up is most of what an idle agent costs; a burst that fills a whole ring between two
  /// looks loses records. An idle agent looks when the run's time is a multiple of `idle_interval`:
  /// then windows end and samples are taken too, in the same wake. Once the run is over it looks
  /// eight times a second at least: somebody waits for its end.
  Nanos busy_interval = 5 * kMillisecond;
  Nanos idle_interval = 125 * kMillisecond;
  double wanted_fill = 1.0 / 8;
  /// Without knowing the front end's clock for so long, this host's is taken as it is.
  Nanos clock_patience = 1 * kSecond;
  /// All processes have ended and nobody new has come for so long: the agent ends.
  Nanos linger = 2 * kSecond;
  /// So long an agent waits for its first process.
  Nanos first_linger = 30 * kSecond;
  /// The run is over: processes that are still alive may end for so long.
  Nanos finish_patience = 2 * kSecond;
  /// Without a front end for so long, what is left is lost.
  Nanos orphan_limit = 60 * kSecond;
  /// The same after the front end has said that the run is over.
  Nanos finish_orphan_limit = 5 * kSecond;
  /// A descriptor that becomes readable when the agent is to end in order; -1 for none. Borrowed.
  int terminate_fd = -1;
};

/// Life: waits until the source has told all processes that a predecessor knew; connects to the
/// front end and reports its host; gets leaf id, parents and control; connects to its parent;
/// drains, journals, sends, resends. Ends when the run is over, or all processes have ended and
/// none has come for a while: closes the listener, sends the last window, waits for all
/// acknowledgements, says goodbye, removes the host's folder and stops the network with code 0.
///
/// Without a front end for too long it says how many calls are lost, and ends with kGaveUp; at once
/// when the front end refuses it before it was ever let in, since a wrong key stays wrong.
/// A worker may die at any point: an Agent over the same journal and segments goes on.
/// Single-threaded, driven by a Network. All references are borrowed.
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
    kRecovering,  // Processes of a predecessor come in.
    kWatching,
    kFinishing,   // The run is over: what is there is read out.
    kClosing,     // Nobody must come any more: asked, not answered.
    kDelivering,  // The last window is journalled: acknowledgements are awaited.
    kDone,
  };

  // Processes.
  void take_from_source(Nanos now);
  void add_process(NewProcess process, Nanos now);
  void process_gone(int pidfd, Nanos now);
  void forget_finished();

  // Orders.
  wire::HostReport host_report() const;

  void report_host(Nanos now);

  // Work.
  void start_encoding(Nanos now);
  void configure();
  void drain(Nanos now);
  Nanos longest_interval() const;
  Nanos interval_for(double fill, Nanos now) const;
  Nanos next_look(Nanos now) const;
  void take_appended();
  void run_services(Nanos now);

  // End.
  void advance_life(Nanos now);
  bool wants_to_end(Nanos now) const;
  void door_closed(Nanos now);
  void deliver_last(Nanos now);
  void door_open(Nanos now);
  void give_up(const std::string& why);
  void end(int code, const std::string& why);
  void schedule(Nanos now);

  AgentOptions options_;
  Journal& journal_;
  ProcessSource& source_;
  CommProcesses comm_processes_;
  HostWatch host_watch_;
  std::optional<overlay::LinkId> front_end_link_;  // While there is one.
  Collector collector_;
  Delivery delivery_;
  Services services_;
  overlay::Network* network_ = nullptr;  // Valid from on_start on; the caller owns it.
  Phase phase_ = Phase::kRecovering;

  int source_fd_ = -1;
  std::map<int, std::pair<Lane, UniqueFd>> pidfds_;
  std::size_t processes_seen_ = 0;

  Nanos encode_at_ = 0;  // Then at the latest, clock or not; 0: place or control is missing.
  bool encoding_ = false;

  Nanos next_drain_ = 0;
  Nanos last_drain_ = 0;
  Nanos interval_ = 0;
  Nanos quiet_since_ = 0;  // When the last process came or went.
  bool door_is_closed_ = false;
  Nanos finish_at_ = 0;  // The run is over since then; 0: it is not.
};

}  // namespace xylem::backend
