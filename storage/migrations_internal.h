#pragma once

// The migrations: how the tables of a run's file have reached their current form.

#include <span>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Brings the tables of a file from one version to the next. Runs in a transaction of the caller,
/// while the file still has the views of its old version. A failure shows in the connection; the
/// caller then rolls back, and the file is as before. Views are not a migration's business, except
/// that it drops a view whose name is no longer used: migrate() replaces all views afterwards.
using Migration = void (*)(Connection& file);

/// All migrations, in order. The first makes the tables of version 1 in an empty file. The n-th
/// brings a file from version n - 1 to version n. New ones are added at the end.
std::span<const Migration> migrations();

}  // namespace xylem::storage
