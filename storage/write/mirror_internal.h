#pragma once

// Copies a live database to a file system on which it cannot live itself.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// A copy in the making, one at a time, in steps between the commits of the live connection (which
/// SQLite carries over into the copy by itself). It is written beside its place and renamed when it
/// is whole, so that a reader sees the one before or this one, never a part.
class Mirror {
 public:
  /// Copies `live`, which it borrows, to `path`. Nothing happens yet.
  Mirror(Connection& live, std::string path);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror();  ///< Gives up what is unfinished.

  /// Starts or goes on, for about `limit_ns`. True when a whole copy has just taken its place.
  /// On failure the unfinished copy is removed, and the next call starts afresh.
  Result<bool> step(Nanos limit_ns);
  bool is_copying() const { return backup_ != nullptr; }
  const std::string& path() const { return path_; }

 private:
  Result<void> start();
  Result<void> take_place();
  void give_up();

  Connection& live_;
  std::string path_;
  Connection copy_;
  sqlite3_backup* backup_ = nullptr;
  bool writing_ = false;  ///< A part of a copy stands beside its place.
};

}  // namespace xylem::storage
