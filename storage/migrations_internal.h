#pragma once

// The steps by which older run files reach the current schema.

#include <span>

namespace xylem::storage {

/// SQL of one step. Runs inside a transaction of the caller.
struct Migration {
  const char* tables;
  const char* views;
};

/// All migrations, in order: the first makes an empty file a file of version 1, the n-th brings a
/// file from version n - 1 to version n.
std::span<const Migration> migrations();

}  // namespace xylem::storage
