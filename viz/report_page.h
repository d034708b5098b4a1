#pragma once

// A report on a run as one HTML page without scripts. The page needs no other file and no network.
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
  storage::FunctionTable functions;  ///< Functions of world 0.
  storage::RankGrid mpi, wait;       ///< Grids of world 0.
  storage::Matrix matrix;            ///< Messages of world 0.
  storage::Waits waits;
  storage::HostTable hosts;
  storage::TreeSnapshot tree;
  storage::Alerts alerts;
};

/// Reads the values from `run`, all from the same commit, even while the run continues. Fails if a
/// query fails.
Result<ReportPageValues> ask_report_page(storage::RunView& run);

/// Returns the page. It follows the light or dark setting of the reader's system, and can be
/// printed. For runs of any size it is smaller than 1 MiB: maps have at most 128 rows and 160
/// columns, and lists are short. In tables, counts, sizes and measured durations are in `data`
/// elements with the exact value in ns, bytes or calls. All text of the run is escaped.
std::string make_report_page(const ReportPageValues& values);

/// Escapes text for HTML. The result can be used between tags and in quoted attributes. Bytes that
/// are not UTF-8, and control characters, become "?".
std::string html_text(std::string_view text);

}  // namespace xylem::viz
