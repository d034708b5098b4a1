#pragma once

// The page of a run without a script: its overview in tables, and what else can be asked.

#include <string>

#include "storage/run_view.h"

namespace xylem::viz {

/// A whole page of HTML. Whatever stands in the run is shown as text.
std::string make_page(const storage::Overview& overview);

/// Its style sheet, light and dark.
std::string page_style();

}  // namespace xylem::viz
