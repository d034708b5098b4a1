#pragma once

// The tables of a run's file and how they came to be. docs/storage-schema.md explains them.

#include <cstdint>

#include "base/result.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// "xylm": says in the file's header whose file it is.
constexpr std::int64_t kApplicationId = 0x78796c6d;

/// The version that this program writes: how many migrations there are.
std::int64_t schema_version();

/// Brings a file to schema_version(), one migration after the other, all in one transaction: who
/// reads it meanwhile sees what it was, or all of what it is to be. An empty file gets everything.
/// Does nothing to a file that is there already.
/// Fails with kInvalidArgument when the file is newer than this program, or is not ours; and as the
/// store does.
Result<void> migrate(Connection& connection);

/// Whether a file can be read by this program: ours, and not newer; kUnavailable when it is
/// being made for longer than a second, for which this waits. Writes nothing.
Result<void> check_readable(Connection& connection);

}  // namespace xylem::storage
