#pragma once

// Journals registrations: the packets that announce processes, functions and definitions to the
// store.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/watched_process.h"
#include "backend/host/processor.h"
#include "wire/registration.h"

namespace xylem::backend {

/// What registrations say of the host.
struct RegistrationOptions {
  std::string host;  ///< The host's displayed name, sent with every registration.
  Processor processor{};
  /// Returns the processors on which a process may run, see backend/host/processor.h. Called each
  /// time the process is announced.
  std::function<std::string(std::uint32_t pid)> allowed_processors = [](std::uint32_t pid) {
    return backend::allowed_processors(pid);
  };
};

/// Announces each process when it registers, and again when its rank or its functions become known.
/// If several processes have the same function table, each worker journals the table once. A
/// process's definitions are announced together with its row, after its rank is known. What they
/// say of mapped files is kept in WatchedProcess::call_sites. Not thread-safe. Borrows its
/// arguments.
class RegistrationWriter {
 public:
  RegistrationWriter(RegistrationOptions options, PacketWriter& packets,
                     WatchedProcesses& processes)
      : options_(std::move(options)), packets_(packets), processes_(processes) {}

  /// Adds a process that cannot be watched (row.unwatched). The process is announced, then
  /// finished.
  void add_unwatched(const wire::ProcessRow& row) { unwatched_.push_back(row); }

  /// Journals new announcements. Returns false when the journal is full; the rest waits for the
  /// next drain. Definitions wait already while a quarter of the journal has definitions, until
  /// their process has ended.
  bool announce(const Drain& drain);

  /// Journals the call sites that were found since the last call, except those that another process
  /// has too. Returns false when the journal is full; then call it again before anything that names
  /// these call sites is journalled.
  bool announce_call_sites(WatchedProcess& process, const Drain& drain);
  /// Journals definitions of a process whose rank is known. Returns false when the journal is full.
  bool announce(wire::Definitions definitions, const WatchedProcess& process, const Drain& drain);
  /// Whether definitions fill less than a quarter of the journal.
  bool has_room_for_definitions();

  /// True if no process added by add_unwatched() waits.
  bool is_idle() const noexcept { return unwatched_.empty(); }

 private:
  bool announce(WatchedProcess& process, const Drain& drain);
  bool announce_definitions(WatchedProcess& process, const Drain& drain);
  void add_processor(wire::Registration& registration) const;
  wire::Registration registration_of(const WatchedProcess& process) const;
  bool write(const wire::Registration& registration, const Drain& drain);

  RegistrationOptions options_;
  PacketWriter& packets_;
  WatchedProcesses& processes_;
  std::vector<wire::ProcessRow> unwatched_;  // Not announced yet.
  std::set<std::uint64_t> tables_;           // Hashes of announced function tables.
  std::unordered_set<CallSiteId> announced_sites_;
  // Registrations with definitions that may be live, oldest first, and their sizes.
  struct Sent {
    PacketKey key;
    std::size_t bytes = 0;
  };
  std::deque<Sent> definitions_;
  std::size_t definition_bytes_ = 0;
};

}  // namespace xylem::backend
