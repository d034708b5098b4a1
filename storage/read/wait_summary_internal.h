#pragma once

#include "storage/read/query.h"
#include "storage/read/wait_summary.h"

namespace xylem::storage {

/// At most `limit` causes and `limit` rows. Reads all events of the file twice, about 0.2 s for a
/// million events; see register_wait_tables(). If a chunk is damaged, the summary has a fault.
/// Fails if the file cannot be read for another reason (see RunFile::query).
Result<WaitSummary> read_wait_summary(RunFile& run, std::size_t limit);

}  // namespace xylem::storage
