#pragma once

// A report as JSON. `xylem report --json` prints the whole report; the view `overview` contains
// some of its fields.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/read/report.h"
#include "viz/json.h"

namespace xylem::viz {

/// Writes the fields `efficiencies` and `findings` into the open object.
void write_findings(Json& json, const storage::Findings& findings);

/// Writes the common fields of report and overview into the open object: run, findings, worlds,
/// account, events, services, functions, shares, calls under way, waits and losses. Times are in
/// ns, shares are from 0 to 1.
void write_report(Json& json, const storage::Report& report);

/// Writes the fields of the waits and causes from events into the open object.
void write_wait_summary(Json& json, const storage::WaitSummary& waits);

/// Writes the fields of call sites into the open object. `fault` is empty if they could be read.
void write_call_sites(Json& json, const std::vector<storage::Report::CallSite>& sites,
                      std::uint64_t in_all, const std::string& fault);

/// Writes a call that has not returned, as one element of an array.
void write_call_under_way(Json& json, const storage::CallUnderWay& call);
/// Writes one element of an array `alerts`.
void write_alert(Json& json, const storage::Alert& alert);

/// Returns the whole report as one object, followed by a line break.
std::string report_json(const storage::Report& report);

}  // namespace xylem::viz
