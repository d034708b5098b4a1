#pragma once

// Says why a launcher has started no rank, as far as this can be known from outside.

#include <string>
#include <string_view>
#include <vector>

namespace xylem::launch {

struct Refusal {
  /// For example "mpirun of MPICH exited with code 1 and may have refused the job: see its own
  /// message above". Empty: nothing indicates that the launcher has refused the job.
  std::string clause;
  /// The launcher has refused the job by a known rule. Otherwise the job may have run without any
  /// MPI process that xylem can see.
  bool is_certain = false;
};

/// Returns why a job has no MPI process. The clause is empty in these cases: `command` does not
/// begin with a known launcher; the launcher has done its work (`exit_code` is 0); a signal has
/// ended the launcher (`exit_code` is above 128); the code is unknown (below 0).
///
/// The refusal is certain in one case. Open MPI refuses to start as root without a permission. If
/// `is_root`, and neither `command` nor `environment` has this permission, the clause names the
/// option. In all other cases the clause refers to the launcher's message, which went to standard
/// error unchanged. `path` and `environment` are as in inspect_command().
Refusal refused_launch(const std::vector<std::string>& command, std::string_view path,
                       const std::vector<std::string>& environment, int exit_code, bool is_root);

}  // namespace xylem::launch
