#pragma once

// The tables `message`, `wait_state` and `wait_coverage`. Their rows are computed from the file's
// chunks while a query reads them.

#include <cstdint>
#include <memory>
#include <utility>

#include "storage/read/wait_states.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// The wait states of a connection to a run's file. They are computed at the first use, and kept
/// until the file has more events or processes. Passed as a `shared_ptr`, because two virtual
/// tables and the RunFile use the same object, and SQLite decides when it deletes the tables. Not
/// thread-safe.
class KeptWaitStates {
 public:
  /// If the events cannot be read, the connection has a failure, and the result is of no use.
  std::shared_ptr<const WaitStates> get(Connection& connection);

 private:
  using Version = std::pair<std::int64_t, std::int64_t>;
  Version version_;
  std::shared_ptr<const WaitStates> states_;  // Shared, see WaitStates.
};

/// Adds the tables to a connection to a run's file, for any number of queries. The tables share
/// `kept`. Returns an SQLite result code.
///
/// message(world, comm, tag, source, destination, number, bytes, sent_ns, received_ns): one row for
/// each message that was sent or received. `sent_ns` is the begin of the call that sent, and
/// `received_ns` the end of the call that received. One of them is NULL if the other half of the
/// message is not known (message_matcher.h). `number` is NULL if the event has no number.
///
/// wait_state(world, rank, cause_rank, kind, function, time_ns, calls, root_rank): the rows of
/// WaitStates, the longest first. wait_coverage(world, part, calls, time_ns): the numbers of
/// WaitCoverage. The parts are "blocking", "analysed", the reasons of NotAnalysed, "waiting" and
/// "unfollowed". The last two have no number of calls.
///
/// Each query of `message` decodes all chunks. `wait_state` and `wait_coverage` decode all chunks
/// twice, and the connection keeps the result until the file has more events or processes. A
/// damaged chunk ends a query with an error that names the chunk.
int register_wait_tables(sqlite3* database, const std::shared_ptr<KeptWaitStates>& kept);

}  // namespace xylem::storage
