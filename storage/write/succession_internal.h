#pragma once

// Writes the data that a successor of the front end needs into the run's file. Also checks which of
// several front ends is the newest. Call all functions except take_over() inside a transaction; the
// caller then checks the connection's failure.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "base/result.h"
#include "storage/sqlite_internal.h"
#include "storage/write/store.h"

namespace xylem::storage {

/// Makes this process the newest front end of the run, and reads the data that former front ends
/// have left. Uses its own transaction. Fails with kInvalidArgument if the file belongs to another
/// run, and with kCorrupt if the file has no run or cannot be read. Other failures are those of
/// sqlite_error().
Result<Past> take_over(Connection& connection, const std::string& run_id);

/// Writes the data for a successor that no other part of the store writes. Called on the thread
/// that calls the store.
class Succession {
 public:
  /// Prepares all statements. If this fails, the connection keeps the failure.
  explicit Succession(Connection& connection);

  /// Call it once in a run, in the first front end.
  void begin(Nanos epoch_ns);
  /// Returns true if no other front end has taken over: the number of front ends that have opened
  /// the run is still `front_ends`.
  bool is_newest(std::uint64_t front_ends);

  void note_addresses(const NodeRow& node);
  /// Notes that the last packets of these leaves are stored.
  void note_ended(const IntervalSet& leaves);

 private:
  Connection& connection_;
  Statement front_ends_, begin_, forget_addresses_, address_, ended_, set_ended_;
};

}  // namespace xylem::storage
