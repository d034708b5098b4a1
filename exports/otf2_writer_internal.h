#pragma once

// The OTF2 library, as the exporter needs it.

#include <otf2/otf2.h>

#include <cstdarg>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "exports/known_comms_internal.h"
#include "storage/call_roles.h"

namespace xylem::exports {

/// Writes an archive, process by process. The calls of a process are in the order of their begins.
/// Keeps the first failure; after it, all functions do nothing. Not thread-safe, and only one may
/// exist in the process, because the library's handler for errors is global.
///
///   for each process: begin_process, then its events, end_process
///   for each world: define_world
///   close
class Otf2Writer {
 public:
  struct Function {
    const std::string& name;
    storage::CallRole role;
    bool is_mpi;
  };
  struct Message {
    std::uint32_t peer = 0;  ///< Rank in the communicator.
    OTF2_CommRef comm = 0;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0;
  };

  struct Collective {
    OTF2_CollectiveOp op{};
    OTF2_CommRef comm = 0;
    std::uint32_t root = 0;  ///< Rank in the communicator, or OTF2_COLLECTIVE_ROOT_NONE.
    std::uint64_t bytes = 0;
    std::uint64_t received_bytes = 0;
  };

  explicit Otf2Writer(const std::string& folder);
  ~Otf2Writer();
  Otf2Writer(const Otf2Writer&) = delete;
  Otf2Writer& operator=(const Otf2Writer&) = delete;

  bool ok() const { return result_.has_value(); }
  const Result<void>& result() const { return result_; }

  /// The first processes have the locations 0 to `processes` - 1, for their threads 0.
  void reserve_locations(std::size_t processes) { next_location_ = processes; }
  /// The earliest begin and the latest end of all events.
  void set_times(Nanos begin, Nanos end);

  void begin_process(const std::string& name, const std::string& host);
  void end_process();

  void enter(ThreadIndex index, Nanos begin, Nanos end, const Function& function);
  void send(ThreadIndex index, Nanos at, const Message& message);
  /// At `end`, if the newest call of the thread has these times. Otherwise at `begin`: the call
  /// that received has no record.
  void receive(ThreadIndex index, Nanos begin, Nanos end, const Message& message);
  /// The newest call of the thread, which begins at `at`, is a collective.
  void collective(ThreadIndex index, Nanos at, const Collective& collective);

  /// Names and members of communicators. If the members are not known, they are the ranks of the
  /// world. Borrowed until close().
  void set_comms(const KnownComms& comms) { known_ = &comms; }
  OTF2_CommRef comm_of(std::uint32_t world, CommId comm);
  void define_world(std::uint32_t world, const std::vector<std::uint64_t>& locations);

  /// Number of calls that were cut, because they overlap another call of their thread.
  std::uint64_t cut() const { return cut_; }

  /// Writes the definitions. Call it once, also after a failure.
  Result<void> close();

 private:
  struct OpenCall {
    Nanos begin = 0, end = 0;
    OTF2_RegionRef region = 0;
    std::vector<Message> received;
    bool is_collective = false;
    Collective collective;
  };
  struct Thread {
    OTF2_EvtWriter* writer = nullptr;
    OTF2_LocationRef location = 0;
    std::uint64_t group = 0;
    std::string name;
    std::vector<OpenCall> open;  // The inner ones come last.
  };
  struct Location {
    OTF2_LocationRef location = 0;
    std::uint32_t group = 0;
    std::string name;
    std::uint64_t events = 0;
  };
  struct Process {
    std::string name, host;
  };
  /// What communicators of a world use that are defined with it.
  struct WorldGroups {
    OTF2_GroupRef all = 0, self = 0;
    std::uint64_t first_rank = 0;  ///< Place of rank 0 in the group of all ranks of all worlds.
  };
  void check(OTF2_ErrorCode code);
  static OTF2_ErrorCode keep_error(void* writer, const char* file, std::uint64_t line,
                                   const char* function, OTF2_ErrorCode code, const char* format,
                                   va_list arguments);
  OTF2_TimeStamp time_of(Nanos at) const {
    return static_cast<OTF2_TimeStamp>(at) - static_cast<OTF2_TimeStamp>(begin_);
  }
  Thread& thread_of(ThreadIndex index);
  void write_received(const Thread& thread, Nanos at, const Message& message);
  void leave(Thread& thread);
  void leave_until(Thread& thread, Nanos time);
  OTF2_RegionRef region_of(const Function& function);
  OTF2_StringRef string(const std::string& text);
  void define_locations();
  void define_comms();
  void define_comm(OTF2_CommRef ref, const WorldGroups& groups);
  std::string name_of(std::uint32_t world, CommId comm) const;
  /// A new group of ranks, which are places in the group of all ranks.
  OTF2_GroupRef define_group(OTF2_GroupType type, const std::vector<std::uint64_t>& ranks);

  std::string folder_;
  OTF2_Archive* archive_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  OTF2_ErrorCallback former_ = nullptr;
  Result<void> result_;
  Nanos begin_ = 0, end_ = 0;
  std::uint64_t next_location_ = 0, cut_ = 0;
  std::vector<Process> processes_;
  std::map<ThreadIndex, Thread> threads_;  // Of the present process.
  std::vector<Location> locations_;
  std::map<std::string, OTF2_RegionRef> regions_;
  std::vector<std::pair<std::uint32_t, CommId>> comms_;  // World and communicator, by reference.
  const KnownComms* known_ = nullptr;
  OTF2_GroupRef groups_ = 0;
  std::map<std::pair<std::uint32_t, CommId>, OTF2_CommRef> comm_refs_;
  std::map<std::uint32_t, std::vector<std::uint64_t>> worlds_;  // Locations by rank.
  std::map<std::string, OTF2_StringRef> strings_;
};

}  // namespace xylem::exports
