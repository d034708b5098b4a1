#pragma once

// A front end, hosts with leaves, and the communication processes between them, in a Simulation.
// The Cluster starts the processes and restarts dead ones as the programs do. Host 0 is the front
// end's.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "frontend/session.h"
#include "storage/write/recorder.h"
#include "storage/write/store.h"
#include "tests/model/leaf.h"
#include "tests/model/ledger.h"
#include "tests/model/simulation.h"
#include "tree/shape.h"

namespace xylem::model {

struct ClusterOptions {
  std::uint32_t hosts = 4;
  tree::Shape shape;
  std::uint32_t chunk_events = 0;
  std::size_t journal_bytes = 1u << 20;
  StoreBreak store_break = StoreBreak::kNone;
  bool checks_epoch = true;
  bool resends = true;
  bool merges_overlaps = false;
};

class Cluster {
 public:
  /// Starts all processes together. Borrows the world.
  Cluster(Simulation& world, const ClusterOptions& options);
  ~Cluster();

  std::uint32_t hosts() const { return static_cast<std::uint32_t>(hosts_.size()); }

  // Faults. Each function chooses its victim and returns a description of the fault; empty if there
  // was no victim.
  std::string kill_comm_process();
  std::string kill_worker();
  std::string kill_front_end();
  /// Freezes the front end, starts a successor, and thaws the old front end after `duration`.
  std::string replace_front_end(Nanos duration);
  std::string lose_host();
  std::string freeze_something(Nanos duration);

  /// True if every leaf whose host survived has had a packet acknowledged after `since`.
  bool all_are_heard(Nanos since) const;
  /// Ends the job.
  void finish();
  /// True if the front end has ended.
  bool is_over() const { return is_over_; }

  /// Compares the stored data and the account with the sent data. If `all_came_back` is true, no
  /// host that survived may count as lost. This must be the last call.
  Comparison compare_all(bool all_came_back);
  std::uint64_t contributions() const;
  std::uint64_t digest() const;

 private:
  struct Host {
    std::unique_ptr<LeafHost> leaf;
    ProcessId worker = kNoProcess;
  };
  struct StartedCommProcess {
    HostNumber host{};
    NodeId node{};
    std::uint32_t level = 0;
    ProcessId starter = kNoProcess;
  };
  /// A front end's process with all objects that it uses.
  struct FrontEnd;

  void start_front_end();
  void tell_finish();
  void compare_account(bool all_came_back, Comparison& comparison);
  void start_worker(std::uint32_t index);
  void start_comm_process(const StartedCommProcess& what);
  void exited(ProcessId process, int code);

  Simulation& world_;
  ClusterOptions options_;
  storage::MemoryRun run_;
  Holdings holdings_;
  std::vector<Host> hosts_;  // hosts_[i] is host i + 1.
  std::vector<std::unique_ptr<FrontEnd>> front_ends_;
  std::map<ProcessId, StartedCommProcess> comm_processes_;
  std::uint16_t next_port_ = 2;
  bool is_finishing_ = false;
  bool is_over_ = false;
};

}  // namespace xylem::model
