#pragma once

// The write-ahead log of a run's file: how large it may become, and what becomes of it when the run
// ends.

#include <cstdint>
#include <string>
#include <utility>

#include "base/clock.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// Makes SQLite write ahead: a commit appends to the log, and readers are never in its way.
inline constexpr const char* kWriteAhead = "PRAGMA journal_mode = WAL";
/// A commit waits for no disk; a checkpoint does, and makes durable what was written before.
inline constexpr const char* kWaitForDisk = "PRAGMA synchronous = NORMAL";
/// For changes that need not be durable yet, so that waiting would only delay the job. This is the
/// case when the file is made, because the log's first checkpoint makes it durable. It is also the
/// case at the end, when the log is empty.
inline constexpr const char* kWaitForNoDisk = "PRAGMA synchronous = OFF";
/// Maximum wait of a statement for another connection's lock.
inline constexpr int kBusyPatienceMs = 2000;

/// Watches the log of one connection, which is borrowed. Call it outside of transactions, on the
/// connection's thread. Nothing here fails: a log that cannot be folded into the file stays beside
/// it, and the two together are the whole run.
class WriteAheadLog {
 public:
  /// `path` is the file, `name` its name for people, `limit_bytes` is SqliteOptions::log_bytes.
  WriteAheadLog(Connection& connection, std::string path, std::string name,
                std::uint64_t limit_bytes)
      : connection_(connection),
        path_(std::move(path)),
        name_(std::move(name)),
        limit_bytes_(limit_bytes) {}

  /// Folds a log that has exceeded its limit into the file. Looks at most once a second, and waits
  /// up to 50 ms for readers of an old state. If one of them stays, logs one warning.
  void watch();

  /// Call it after a commit has found the disk full. Folds the log into the file if the file has
  /// room for it. Then the log can begin again at its start.
  void fold_if_it_fits();

  /// From now on commits do not fold the log, which would use the space reserved for the run's end.
  void stop_folding();

  /// At the end of the run: folds the log and makes one plain file, which is easier to move.
  /// Waits up to 12 s for readers of the log, then up to half a second for a moment without any
  /// reader. If the log cannot be folded, logs a warning that says how to do it later. If only
  /// readers stay, the file is whole but still has a log.
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
