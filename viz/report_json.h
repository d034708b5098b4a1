#pragma once

// A report as JSON. `xylem report --json` prints all of it; the view `overview` has what both
// share.

#include <string>

#include "storage/read/report.h"
#include "viz/json.h"

namespace xylem::viz {

/// Writes into the open object what the report and the overview share: run, worlds, account,
/// services, functions, shares, waits, losses. Times in ns, shares as fractions.
void write_report(Json& json, const storage::Report& report);

/// Writes one element of an array `alerts`.
void write_alert(Json& json, const storage::Alert& alert);

/// The whole report as one object and a line break.
std::string report_json(const storage::Report& report);

}  // namespace xylem::viz
