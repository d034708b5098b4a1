#include "storage/write/replaced_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "storage/read/query.h"
#include "storage/schema_internal.h"
#include "storage/write/store_file_internal.h"

namespace xylem::storage {
namespace {

// A run is empty if it has ended without processes, services, leaves of streams and losses.
constexpr const char* kIsEmpty =
    "SELECT ended_ns IS NOT NULL AND NOT EXISTS (SELECT 1 FROM process)"
    " AND NOT EXISTS (SELECT 1 FROM service) AND NOT EXISTS (SELECT 1 FROM stream_leaf)"
    " AND NOT EXISTS (SELECT 1 FROM given_up) FROM run";

// Returns false if this is not known: the file is unreadable, or its version has other tables.
bool is_known_to_be_empty(const std::string& path) {
  constexpr Nanos kPatience = 2 * kSecond;
  auto run = RunFile::open(path);
  if (!run) return false;
  (*run)->set_deadline(monotonic_now() + kPatience);
  const auto answer = (*run)->rows(kIsEmpty);
  return answer && answer->size() == 1 && integer_of(answer->front().front()) == 1;
}

bool is_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// The log is moved first, so it is already there when the file appears under the new name. The next
// reader makes the log's index again.
Result<void> move_database(const std::string& from, const std::string& to) {
  ::unlink((from + "-shm").c_str());
  for (const char* suffix : {"-wal", "-journal", ""}) {
    if (std::rename((from + suffix).c_str(), (to + suffix).c_str()) == 0) continue;
    if (errno == ENOENT && *suffix != '\0') continue;
    const Code code = errno == EACCES || errno == EPERM || errno == EROFS ? Code::kPermissionDenied
                                                                          : Code::kInternal;
    return unexpected(code, from + ": cannot be renamed to " + to + ": " + std::strerror(errno));
  }
  return {};
}

}  // namespace

ReplacedRun::ReplacedRun(std::string path, const std::string& run_id)
    : path_(std::move(path)), aside_(path_ + std::string(kReplacedMark) + run_id) {}

Result<ReplacedRun> ReplacedRun::set_aside(const ReplaceOptions& options) {
  ReplacedRun replaced(options.path, options.run_id);
  if (!is_file(options.path)) return replaced;
  if (!options.overwrite && !is_known_to_be_empty(options.path)) return replaced;
  const long type =
      options.pretend_file_system != 0 ? options.pretend_file_system : file_system_of(options.path);
  const auto old = hold_old_run(options.path, !is_network_file_system(type));
  if (!old) return unexpected(old.error());
  auto moved = move_database(options.path, replaced.aside_);
  if (!moved) return unexpected(std::move(moved.error()));
  return replaced;
}

ReplacedRun ReplacedRun::of_former(const std::string& path, const std::string& run_id) {
  ReplacedRun former(path, run_id);
  former.owner_ = Owner::kFormer;
  return former;
}

ReplacedRun::ReplacedRun(ReplacedRun&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::move(other.aside_)),
      owner_(std::exchange(other.owner_, Owner::kOther)) {}

ReplacedRun::~ReplacedRun() {
  if (owner_ != Owner::kThis || !holds()) return;
  if (auto undone = undo(); !undone) log(Level::kError, undone.error().message);
}

bool ReplacedRun::holds() const { return owner_ != Owner::kOther && is_file(aside_); }

bool ReplacedRun::holds_record() const { return holds() && !is_known_to_be_empty(aside_); }

void ReplacedRun::keep_new() {
  if (holds()) remove_database(aside_);
  release();
}

Result<void> ReplacedRun::undo() {
  const bool has_old = holds();
  remove_database(path_);
  if (!has_old) return {};
  return move_database(aside_, path_);
}

}  // namespace xylem::storage
