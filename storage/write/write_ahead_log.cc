#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "base/log.h"
#include "storage/write/store_file_internal.h"
#include "storage/write/write_ahead_log_internal.h"

namespace xylem::storage {

// On a full disk there is often no room to fold the log, and an attempt would use up the remaining
// space.
void WriteAheadLog::fold_if_it_fits() {
  Statement sizes(connection_,
                  "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  const std::uint64_t wanted = sizes.first() ? sizes.count(0) : 0;
  sizes.reset();
  if (connection_.ok() && fits_file(path_, wanted)) {
    connection_.execute("PRAGMA wal_checkpoint(PASSIVE)");
  }
  static_cast<void>(connection_.take());  // The log stays as it is.
}

// SQLite folds the log by itself, but restarts it only at a moment without readers. With short
// readers there is such a moment after a wait. With a reader that stays there is none.
void WriteAheadLog::watch() {
  constexpr Nanos kLooks = 1 * kSecond;
  constexpr int kPatienceMs = 50;
  const Nanos now = monotonic_now();
  if (now < next_look_ns_) return;
  next_look_ns_ = now + kLooks;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path_ + "-wal", error);
  if (error || bytes <= limit_bytes_) return;
  sqlite3_busy_timeout(connection_.handle(), kPatienceMs);
  Statement fold(connection_, "PRAGMA wal_checkpoint(RESTART)");
  const bool is_held = fold.first() && fold.integer(0) != 0;
  fold.reset();
  sqlite3_busy_timeout(connection_.handle(), kBusyPatienceMs);
  static_cast<void>(connection_.take());  // The log stays as it is.
  if (!is_held || std::exchange(told_, true)) return;
  log(Level::kWarn,
      "another program reads an old state of the store for a long time; until it ends, the log "
      "grows",
      {{"path", name_}, {"log_mib", bytes >> 20}});
}

void WriteAheadLog::stop_folding() {
  connection_.execute("PRAGMA wal_autocheckpoint = 0");
  static_cast<void>(connection_.take());
}

// First folds the log, so that the file is complete without the log. This waits as long as a query
// of a view may take. Then makes one plain file, which is easier to copy. This needs a moment
// without readers. If readers stay, the log file stays.
void WriteAheadLog::become_plain_file() {
  constexpr Nanos kFoldPatience = 12 * kSecond;
  constexpr Nanos kPlainPatience = kSecond / 2;
  constexpr auto kBetween = std::chrono::milliseconds(5);
  std::string why = "somebody reads it";
  bool is_full = false;
  // Returns false if a reader prevents it. Returns nullopt after a failure, since waiting seldom
  // helps then.
  const auto says = [&](const char* sql, const char* expected) -> std::optional<bool> {
    Statement statement(connection_, sql);
    const bool is_so = statement.first() && statement.text(0) == expected;
    statement.reset();
    const auto asked = connection_.take();
    if (!asked) why = asked.error().message;
    is_full = is_full || (!asked && asked.error().code == Code::kExhausted);
    return asked ? std::optional(is_so) : std::nullopt;
  };
  // This changes two bytes of the first page. With the old bytes and without a log, the file is
  // complete too.
  const auto is_plain_now = [&] {
    connection_.execute(kWaitForNoDisk);
    const bool is_plain = says("PRAGMA journal_mode = DELETE", "delete") == true;
    connection_.execute(kWaitForDisk);
    return is_plain;
  };
  connection_.execute("PRAGMA busy_timeout = 0");
  const Nanos begun = monotonic_now();
  std::optional<Nanos> folded_at;
  for (;;) {
    const auto is_free = says("PRAGMA wal_checkpoint(TRUNCATE)", "0");
    const Nanos now = monotonic_now();
    if (is_free == true && !folded_at) folded_at = now;
    if (is_free == true && is_plain_now()) return;
    if (folded_at && now - *folded_at >= kPlainPatience) return;
    if (!folded_at && now - begun >= (is_free ? kFoldPatience : kPlainPatience)) break;
    if (is_full) break;
    std::this_thread::sleep_for(kBetween);
  }
  log(Level::kWarn, "store not folded into one file: it and its log belong together",
      {{"path", path_},
       {"log", path_ + "-wal"},
       {"why", why},
       {"to fold it", "sqlite3 " + path_ + " 'PRAGMA journal_mode = DELETE'"}});
}

}  // namespace xylem::storage
