#pragma once

// The write-ahead log of a run's file: limits its size, and removes it at the end of the run.

#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Makes SQLite use a write-ahead log: a commit appends to the log and never waits for readers.
inline constexpr const char* kWriteAhead = "PRAGMA journal_mode = WAL";
/// A commit does not wait for the disk. A checkpoint waits for the disk, and makes everything
/// durable that was written before.
inline constexpr const char* kWaitForDisk = "PRAGMA synchronous = NORMAL";
/// Neither commits nor checkpoints wait for the disk. Used when waiting would only delay the job:
/// when the file is made, because the first checkpoint makes it durable, and at the end, when the
/// log is empty.
inline constexpr const char* kWaitForNoDisk = "PRAGMA synchronous = OFF";
/// Maximum time in ms for which a statement waits for another connection's lock.
inline constexpr int kBusyPatienceMs = 2000;

/// Watches the log of one connection, which is borrowed. Call the functions outside of
/// transactions, on the connection's thread. No function fails: a log that cannot be folded into
/// the file stays beside the file. File and log together are then the whole run.
class WriteAheadLog {
 public:
  /// `path` is the file, `name` is the file's name in messages, and `limit_bytes` is
  /// SqliteOptions::log_bytes.
  WriteAheadLog(Connection& connection, std::string path, std::string name,
                std::uint64_t limit_bytes)
      : connection_(connection),
        path_(std::move(path)),
        name_(std::move(name)),
        limit_bytes_(limit_bytes) {}

  /// If the log has exceeded its limit, folds it into the file. Checks at most once a second. Waits
  /// up to 50 ms for readers that use an old state of the file. If a reader does not finish in this
  /// time, logs one warning.
  void watch();

  /// Call it after a commit has found the disk full. Folds the log into the file if there is enough
  /// space for the larger file. Then, if no reader uses the log, it is written from its start again
  /// and needs no more space.
  void fold_if_it_fits();

  /// From now on commits do not fold the log. Folding would use the space that is reserved for the
  /// run's end.
  void stop_folding();

  /// Call it at the end of the run. Folds the log, so that the run is one file, which is easier to
  /// move. Waits up to 12 s for readers that use an old state. Then waits up to half a second for a
  /// moment without any reader. If the log cannot be folded, logs a warning that says how to do it
  /// later. If there are still readers, the file is complete, but the log is not removed.
  void become_plain_file();

 private:
  Connection& connection_;
  std::string path_;
  std::string name_;
  std::uint64_t limit_bytes_;
  Nanos next_look_ns_ = 0;
  bool told_ = false;
};

}  // namespace xylem::storage
