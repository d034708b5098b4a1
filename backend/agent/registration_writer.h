#pragma once

// Journals registrations: the packets that announce processes, functions and definitions to the
// store.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "backend/agent/drain.h"
#include "backend/agent/packet_writer.h"
#include "backend/agent/watched_process.h"
#include "wire/registration.h"

namespace xylem::backend {

/// Announces each process when it registers, and again when its rank or its functions become known.
/// If several processes have the same function table, each worker journals the table once. A
/// process's definitions are announced together with its row, after its rank is known. Not
/// thread-safe. Borrows its arguments.
class RegistrationWriter {
 public:
  RegistrationWriter(std::string host, PacketWriter& packets, WatchedProcesses& processes)
      : host_(std::move(host)), packets_(packets), processes_(processes) {}

  /// Adds a process that cannot be watched (row.unwatched). The process is announced, then
  /// finished.
  void add_unwatched(const wire::ProcessRow& row) { unwatched_.push_back(row); }

  /// Journals new announcements. Returns false when the journal is full; the rest waits for the
  /// next drain. Definitions wait already while a quarter of the journal has definitions, until
  /// their process has ended.
  bool announce(const Drain& drain);

  /// True if no process added by add_unwatched() waits.
  bool is_idle() const noexcept { return unwatched_.empty(); }

 private:
  bool announce(WatchedProcess& process, const Drain& drain);
  bool announce_definitions(WatchedProcess& process, const Drain& drain);
  wire::Registration registration_of(const WatchedProcess& process) const;
  bool has_room_for_definitions();
  bool write(const wire::Registration& registration, const Drain& drain);

  std::string host_;
  PacketWriter& packets_;
  WatchedProcesses& processes_;
  std::vector<wire::ProcessRow> unwatched_;  // Not announced yet.
  std::set<std::uint64_t> tables_;           // Hashes of announced function tables.
  // Registrations with definitions that may be live, oldest first, and their sizes.
  struct Sent {
    PacketKey key;
    std::size_t bytes = 0;
  };
  std::deque<Sent> definitions_;
  std::size_t definition_bytes_ = 0;
};

}  // namespace xylem::backend
