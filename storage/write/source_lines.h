#pragma once

// Finds the source lines of a run's call sites, from the debugging information of its programs.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xylem::storage {

/// Where to look for the programs of a run: a path that begins with `from` is looked for under
/// `to`.
struct PathChange {
  std::string from;
  std::string to;
};

struct ResolvedSites {
  std::size_t sites = 0;      ///< All call sites of the run.
  std::size_t with_line = 0;  ///< Those with a line.
  /// For each file that could not be used: its path, and why. "cannot be read", or "has another
  /// build id".
  std::vector<std::pair<std::string, std::string>> unusable;
};

/// Sets `function`, `file` and `line` in the run's table `callsite`, where they are not known yet.
/// A function that is known stays if no line is found. A program or library is used only if it has
/// the build id that it had in the run. If it had none, its path is enough. `function`, `file` and
/// `line` are those of the source with the call, also if its function is inlined. A program without
/// debugging information gives symbols as functions, a stripped one only those that it exports.
/// Reads also files with separate debugging information, where gdb finds them. If DEBUGINFOD_URLS
/// is set, asks these servers too, which may take long.
///
/// libdw may crash on damaged debugging information, and if a file is truncated while it reads it.
/// The store may be open elsewhere; waits up to 5 s for its locks.
///
/// Needs about 10 ms for each program, and much longer for debugging information of hundreds of MB.
/// Each program's lines are one transaction. Fails like Connection::open() and with the failure of
/// a statement; then the programs before may have their lines.
Result<ResolvedSites> resolve_call_sites(const std::string& run_file,
                                         const std::vector<PathChange>& changes = {});

}  // namespace xylem::storage
