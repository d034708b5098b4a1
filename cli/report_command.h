#pragma once

// `xylem report`: a page about a run, for people; or all its numbers, for programs.

#include <iosfwd>
#include <string>

#include "storage/read/report.h"

namespace CLI {
class App;
}

namespace xylem {

struct ReportOptions {
  std::string file;
  bool json = false;
  bool verify = false;     ///< Count the running totals again, from all that is stored.
  std::string html{};      ///< Write a page of HTML there instead; empty: print the report.
  bool overwrite = false;  ///< In place of a file that is there.
};

/// Prints the report, or writes the page. Returns 0; 1 with a sentence on `err` when the file
/// cannot be read, the page's file cannot be written or is there, or --verify found totals that
/// differ.
int run_report(const ReportOptions& options, std::ostream& out, std::ostream& err);

/// The page: every number has its unit, every formula is stated.
std::string report_text(const storage::Report& report);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_report_command(CLI::App& app, int& code);

}  // namespace xylem
