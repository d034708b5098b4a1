#pragma once

// Reasons in the table `unmatched` that readers compare with (docs/storage-schema.md).

namespace xylem::storage {

/// Of a send.
constexpr const char* kReceiveIsMissing = "its receive is not in the trace";
/// Of a receive, a send or a collective.
constexpr const char* kNumberIsUnknown = "its number is not known";

}  // namespace xylem::storage
