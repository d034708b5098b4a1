#pragma once

// Copies a live database to a file system on which SQLite cannot use it directly.

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Makes one copy at a time, in steps between the commits of the live connection. SQLite adds these
/// commits to the unfinished copy. The copy is written to a temporary file in the folder of `path`.
/// When the copy is complete, the file is renamed to `path`. So a reader sees the previous copy or
/// the new one, never a part of a copy. Called on the thread that calls the store.
class Mirror {
 public:
  /// Copies `live` to `path`. Borrows `live`. The constructor does nothing yet.
  Mirror(Connection& live, std::string path);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  ~Mirror();  ///< Removes an unfinished copy.

  /// Starts or continues the copy, for about `limit_ns`. Returns true if a complete copy was just
  /// renamed to `path`. On failure the unfinished copy is removed, and the next call starts again.
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
  bool writing_ = false;  ///< An unfinished copy exists.
};

}  // namespace xylem::storage
