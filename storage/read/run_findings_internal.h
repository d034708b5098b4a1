#pragma once

// Reads the findings within a larger answer.

#include "storage/read/findings.h"
#include "storage/read/inquiry.h"

namespace xylem::storage {

/// Reads the values of a run that findings are made of. `waits` as for read_findings(). If a query
/// fails, `inquiry` keeps the failure.
Activity read_activity(Inquiry& inquiry, const WaitStates* waits);

}  // namespace xylem::storage
