#pragma once

// The tables of a run's file and their migrations. docs/storage-schema.md explains the tables.

#include <cstdint>

#include "base/result.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// "xylm". It marks the file as a run of xylem in the file's header.
constexpr std::int64_t kApplicationId = 0x78796c6d;

/// Returns the version that this program writes. It is the number of migrations.
std::int64_t schema_version();

/// Brings a file to schema_version(), one migration after another, in a single transaction. So a
/// reader sees either the old tables or all new ones. An empty file gets all tables. A file that
/// already has this version is not changed. Fails with kInvalidArgument if the file is newer than
/// this program or is not a run of xylem. Other failures are those of sqlite_error().
Result<void> migrate(Connection& connection);

/// Checks that this program can read the file: it must be a run of xylem, and not newer than this
/// program. Waits up to a second while the file is being made; then fails with kUnavailable. Writes
/// nothing.
Result<void> check_readable(Connection& connection);

}  // namespace xylem::storage
