#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/unique_fd.h"
#include "storage/write/mirror_internal.h"
#include "storage/write/store_file_internal.h"

namespace xylem::storage {
namespace {

/// Pages between two readings of the clock: 1 MiB with pages of 16 KiB.
constexpr int kPagesAStep = 64;

std::string beside(const std::string& path) { return path + ".copying"; }

}  // namespace

Mirror::Mirror(Connection& live, std::string path) : live_(live), path_(std::move(path)) {}

Mirror::~Mirror() { give_up(); }

Result<bool> Mirror::step(Nanos limit_ns) {
  if (backup_ == nullptr) {
    if (auto started = start(); !started) return unexpected(started.error());
  }
  const Nanos deadline = monotonic_now() + limit_ns;
  int code = SQLITE_OK;
  while (code == SQLITE_OK) {
    code = sqlite3_backup_step(backup_, kPagesAStep);
    if (code == SQLITE_OK && monotonic_now() >= deadline) return false;
  }
  if (code != SQLITE_DONE) {
    const Error error = sqlite_error(copy_.handle(), code, path_);
    give_up();
    return unexpected(error);
  }
  if (auto placed = take_place(); !placed) {
    give_up();
    return unexpected(placed.error());
  }
  return true;
}

Result<void> Mirror::start() {
  const std::string file = beside(path_);
  remove_database(file);
  UniqueFd made(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) {
    const int why = errno;
    return unexpected(why == ENOSPC || why == EDQUOT ? Code::kExhausted : Code::kUnavailable,
                      path_ + ": the copy cannot be written: " + std::strerror(why));
  }
  made.reset();
  writing_ = true;
  if (auto opened = copy_.open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, path_); !opened) {
    give_up();
    return opened;
  }
  // No other process opens this file, and an unfinished copy is removed. So locks and a journal are
  // not needed.
  copy_.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF");
  if (auto prepared = copy_.take(); !prepared) {
    give_up();
    return prepared;
  }
  backup_ = sqlite3_backup_init(copy_.handle(), "main", live_.handle(), "main");
  if (backup_ != nullptr) return {};
  const Error error = sqlite_error(copy_.handle(), sqlite3_errcode(copy_.handle()), path_);
  give_up();
  return unexpected(error);
}

Result<void> Mirror::take_place() {
  const int code = sqlite3_backup_finish(std::exchange(backup_, nullptr));
  if (code != SQLITE_OK) return unexpected(sqlite_error(copy_.handle(), code, path_));
  // The header was copied with the pages and still says WAL.
  copy_.execute("PRAGMA journal_mode = DELETE");
  if (auto changed = copy_.take(); !changed) return changed;
  copy_.close();
  if (std::rename(beside(path_).c_str(), path_.c_str()) == 0) {
    writing_ = false;
    return {};
  }
  return unexpected(Code::kUnavailable,
                    path_ + ": the copy cannot take its place: " + std::strerror(errno));
}

void Mirror::give_up() {
  if (backup_ != nullptr) sqlite3_backup_finish(std::exchange(backup_, nullptr));
  copy_.close();
  if (std::exchange(writing_, false)) remove_database(beside(path_));
}

}  // namespace xylem::storage
