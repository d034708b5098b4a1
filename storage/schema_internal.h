#pragma once

// The schema of a run's file: its version, and the update to the current version.
// docs/storage-schema.md explains the tables.

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// "xylm" in ASCII. This number in the file's header marks a run of xylem.
constexpr std::int64_t kApplicationId = 0x78796c6d;

/// Stands in the name of a file that a new run replaces, before that run's id.
constexpr std::string_view kReplacedMark = ".before-";

/// True if the file begins as a SQLite file with our application id, which is the first thing that
/// a store writes. False if it cannot be read. Does not move the file's position.
bool is_run_file(int fd);

/// Returns the version of the files that this program writes: the number of migrations.
std::int64_t schema_version();

/// Updates a file to schema_version() in a single transaction. First the migrations change the
/// tables, one after another; then all views are replaced. So a reader sees either the old schema
/// or the whole new one, and a failure changes nothing. An empty file gets all tables. A file that
/// already has this version is not changed. Fails with kInvalidArgument if the file is newer than
/// this program or is not a run of xylem, and with kCorrupt if its version is negative. Other
/// failures are those of sqlite_error().
Result<void> migrate(Connection& connection);

/// Checks that this program can read the file: it must be a run of xylem, and not newer than this
/// program. If the file is still being made, waits up to a second and then fails with kUnavailable.
/// Other failures are those of migrate(). Writes nothing.
Result<void> check_readable(Connection& connection);

}  // namespace xylem::storage
