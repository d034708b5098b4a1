#pragma once

// `xylem export`: writes a run's trace in a format of other programs (exports/trace_export.h).

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

enum class ExportFormat { kChrome, kText, kCsv, kOtf2 };

struct ExportOptions {
  std::string file;  ///< Empty: the newest run (Newest::kInFolder).
  ExportFormat format = ExportFormat::kText;
  std::string target;      ///< "-": write to `out`; not for kOtf2, whose target is a folder.
  bool overwrite = false;  ///< Replace the target if it exists.
};

/// Writes the trace, and a sentence on `err` that says how much it was. Before this, `err` gets a
/// warning for each kind of data that is missing. Returns kExitSuccess. Returns kExitFailure with a
/// sentence on `err` if the run has no trace or cannot be read, or if the target exists or cannot
/// be written; an incomplete target is removed. Returns kExitUsage for an archive on `out`.
int run_export(const ExportOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_export_command(CLI::App& app, int& code);

}  // namespace xylem
