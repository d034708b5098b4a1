#pragma once

// A report on a run as text for people.

#include <string>

#include "storage/read/report.h"

namespace xylem::viz {

/// Returns the report as lines of text. The texts of the run are printed as they are: open the run
/// with storage::Texts::kPrintable.
std::string report_text(const storage::Report& report);

/// Says for people why calls are not analysed: "their messages have no number".
const char* not_analysed_words(storage::NotAnalysed reason);

/// Says why a call was not seen to return: "the rank ended in it" or "its host was lost". Returns
/// "" for a call that is still under way.
const char* why_no_longer(const storage::CallUnderWay& call);

}  // namespace xylem::viz
