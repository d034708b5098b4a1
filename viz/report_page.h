#pragma once

// A run as one page of HTML that needs nothing else: no script, no other file, no network.
//
//   auto values = ask_report_page(*view);
//   std::string html = make_report_page(*values);

#include <string>
#include <vector>

#include "base/result.h"
#include "storage/read/run_view.h"

namespace xylem::viz {

struct ReportPageValues {
  storage::Overview overview;
  storage::FunctionTable functions;  ///< Of world 0.
  storage::RankGrid mpi, wait;       ///< Of world 0, of the same rows and slots.
  storage::Matrix matrix;            ///< Of world 0: messages.
  storage::HostTable hosts;
  storage::Tree tree;
  storage::Alerts alerts;
};

/// Fails as the answers of the view do.
Result<ReportPageValues> ask_report_page(storage::RunView& run);

/// Light or dark by the reader's system settings, printable, below 1 MiB for runs of any size: maps
/// have at most 128 rows and 160 columns, lists are short. Every number of a table is in a `data`
/// element with the exact value: ns, bytes, calls. Text of the run is shown as text.
std::string make_report_page(const ReportPageValues& values);

/// Text as HTML shows it, between tags and in quotes. Bytes that are not UTF-8, and control
/// characters, become "?".
std::string html_text(std::string_view text);

}  // namespace xylem::viz
