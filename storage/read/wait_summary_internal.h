#pragma once

#include "storage/read/inquiry_internal.h"
#include "storage/read/wait_summary.h"

namespace xylem::storage {

/// At most `limit` causes and `limit` rows. Reads all events of the file twice, about 0.2 s for a
/// million events; see register_wait_tables().
WaitSummary read_wait_summary(Inquiry& inquiry, std::size_t limit);

}  // namespace xylem::storage
