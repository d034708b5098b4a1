#pragma once

// The migrations: the changes of the tables of a run's file from one version to the next.

#include <span>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Brings the tables of a file from one version to the next. Runs in a transaction of the caller,
/// while the file still has the views of the old version. The connection keeps a failure; the
/// caller then rolls back, and the file is as before. A migration must drop a view if its name is
/// no longer used. It need not change other views, because migrate() replaces all views afterwards.
using Migration = void (*)(Connection& file);

/// All migrations, in order. The first makes the tables of version 1 in an empty file. The n-th
/// migration brings a file from version n - 1 to version n. New migrations are added at the end.
std::span<const Migration> migrations();

}  // namespace xylem::storage
