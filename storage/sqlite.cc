// Converts SQLite's errors to errors of xylem. The other functions only call SQLite.

#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

bool is_lack_of_room(int system_errno) {
  return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
}

/// Why there is no room, and what to do about it.
const char* lack_of_room(int system_errno) {
  if (system_errno == EFBIG) return "the limit of file sizes (ulimit -f) is reached; raise it";
  return "no room left on its disk; free some space";
}

/// errno of the last failure on the database's file or its log. sqlite3_system_errno is often
/// overwritten by SQLite's clean-up before it can be read.
int errno_of_files(sqlite3* database) {
  if (database == nullptr) return 0;
  int of_database = 0;
  int of_log = 0;
  sqlite3_file* log = nullptr;
  sqlite3_file_control(database, "main", SQLITE_FCNTL_LAST_ERRNO, &of_database);
  sqlite3_file_control(database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) {
    log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &of_log);
  }
  if (is_lack_of_room(of_log)) return of_log;
  if (is_lack_of_room(of_database)) return of_database;
  const int last = sqlite3_system_errno(database);
  return last != 0 ? last : of_log != 0 ? of_log : of_database;
}

}  // namespace

Error sqlite_error(sqlite3* database, int code, const std::string& what) {
  const int primary = code & 0xff;
  const int system_errno = primary == SQLITE_IOERR ? errno_of_files(database) : 0;
  const std::string said =
      database == nullptr ? sqlite3_errstr(code) : std::string(sqlite3_errmsg(database));
  // A file size limit gives an ordinary I/O error. Only errno shows that there is no room.
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && is_lack_of_room(system_errno))) {
    return {Code::kExhausted,
            what + ": " + lack_of_room(system_errno) + ": what is stored is not damaged"};
  }
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, what + ": another program holds it locked (" + said + ")"};
    case SQLITE_IOERR:
      return {Code::kUnavailable, what + ": it cannot be read or written now (" + said + ": " +
                                      std::strerror(system_errno) + ")"};
    case SQLITE_CANTOPEN:
      return {Code::kUnavailable, what + ": it cannot be opened (" + said + ")"};
    case SQLITE_READONLY:
      return {Code::kUnavailable, what + ": it can only be read (" + said + ")"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermissionDenied, what + ": not permitted (" + said + ")"};
    case SQLITE_CORRUPT:
      return {Code::kCorrupt, what + ": the file is damaged (" + said + ")"};
    case SQLITE_NOTADB:
      return {Code::kCorrupt, what + ": it is not a SQLite database"};
    default:
      return {Code::kInternal, what + ": " + said};
  }
}

Result<void> Connection::open(const std::string& path, int flags,
                              const std::string& name_for_people) {
  close();
  name_ = name_for_people;
  owned_ = true;
  const int code = sqlite3_open_v2(path.c_str(), &handle_, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code == SQLITE_OK) return {};
  const Error error = sqlite_error(handle_, code, name_);
  close();
  return unexpected(error);
}

void Connection::close() {
  if (owned_) sqlite3_close_v2(handle_);
  handle_ = nullptr;
  owned_ = false;
  failure_.reset();
}

void Connection::execute(const char* sql) {
  if (!ok()) return;
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Result<void> Connection::take() {
  if (ok()) return {};
  Error error = *std::exchange(failure_, std::nullopt);
  return unexpected(std::move(error));
}

void Connection::fail(int code) { fail(sqlite_error(handle_, code, name_)); }

void Connection::fail(Error error) {
  if (!failure_) failure_ = std::move(error);
}

Statement::Statement(Connection& connection, std::string_view sql) : connection_(&connection) {
  if (!connection.ok()) return;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) connection.fail(code);
}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_), statement_(std::exchange(other.statement_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(connection_, other.connection_);
  std::swap(statement_, other.statement_);
  return *this;
}

bool Statement::begin() { return statement_ != nullptr && connection_->ok(); }

void Statement::finish() {
  while (next()) {
  }
}

bool Statement::next() {
  if (!begin()) {
    reset();
    return false;
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) connection_->fail(code);
  reset();
  return false;
}

void Statement::reset() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Statement::check(int code) {
  if (code != SQLITE_OK) connection_->fail(code);
}

std::string Statement::text(int column) const {
  const auto* start = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (start == nullptr) return {};
  return {start, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* start = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {start, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace xylem::storage
