#pragma once

// What a run's file holds for a successor of the front end, and how one of several front ends is
// the newest. All calls but take_over() are made within the transaction of the caller, who looks at
// the connection's failure afterwards.

#include <cstdint>
#include <string>

#include "base/interval_set.h"
#include "base/result.h"
#include "storage/sqlite_internal.h"
#include "storage/write/store.h"

namespace xylem::storage {

/// Becomes the newest front end of the run, in an immediate transaction of its own, and reads what
/// the former ones have left. Fails with kInvalidArgument when the file is that of another run,
/// kCorrupt when it holds no run or what is there cannot be read, and as the store does.
Result<Past> take_over(Connection& connection, const std::string& run_id);

/// Keeps for a successor what nothing else in the file tells.
class Succession {
 public:
  /// Prepares its statements; failures show in the connection.
  explicit Succession(Connection& connection);

  /// Once in a run, by the first front end.
  void begin(Nanos epoch_ns);
  /// Whether nobody has taken over since there were `front_ends`.
  bool is_newest(std::uint64_t front_ends);

  void note_addresses(const NodeRow& node);
  /// The last windows of these leaves are stored.
  void note_ended(const IntervalSet& leaves);

 private:
  Connection& connection_;
  Statement front_ends_, begin_, forget_addresses_, address_, ended_, set_ended_;
};

}  // namespace xylem::storage
