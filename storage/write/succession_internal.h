#pragma once

// Keeps the data in a run's file that a successor of the front end needs. Also checks which of
// several front ends is the newest. All calls except take_over() are made inside a transaction of
// the caller, and the caller then checks the connection's failure.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "base/result.h"
#include "storage/sqlite_internal.h"
#include "storage/write/store.h"

namespace xylem::storage {

/// Makes this process the newest front end of the run, and reads the data that former front ends
/// have left. Does this in a separate immediate transaction. Fails with kInvalidArgument if the
/// file is another run's, and with kCorrupt if the file has no run or cannot be read. Other
/// failures are those of sqlite_error().
Result<Past> take_over(Connection& connection, const std::string& run_id);

/// Keeps the data for a successor that no other part of the store writes.
class Succession {
 public:
  /// Prepares all statements. The connection keeps a failure.
  explicit Succession(Connection& connection);

  /// Called once in a run, by the first front end.
  void begin(Nanos epoch_ns);
  /// Returns true if the number of front ends that have opened the run is still `front_ends`. Then
  /// no other front end has taken over.
  bool is_newest(std::uint64_t front_ends);

  void note_addresses(const NodeRow& node);
  /// Notes that the last windows of these leaves are stored.
  void note_ended(const IntervalSet& leaves);

 private:
  Connection& connection_;
  Statement front_ends_, begin_, forget_addresses_, address_, ended_, set_ended_;
};

}  // namespace xylem::storage
