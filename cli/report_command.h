#pragma once

// `xylem report`: a summary of a run, as text or HTML for people or as JSON for programs.

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace xylem {

struct ReportOptions {
  std::string file;  ///< Empty: the newest run (Newest::kInFolder).
  bool json = false;
  bool verify = false;     ///< Compute the run's totals again, from all stored data.
  std::string html{};      ///< Write an HTML page to this file; empty: print the report.
  bool overwrite = false;  ///< Replace the file `html` if it exists.
};

/// Prints the report, or writes the HTML page. Returns kExitSuccess. Returns kExitFailure with
/// a sentence on `err` when the run's file cannot be read, or when `verify` found different totals.
/// Also returns it when the page's file exists already or cannot be written.
int run_report(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_report_command(CLI::App& app, int& code);

}  // namespace xylem
