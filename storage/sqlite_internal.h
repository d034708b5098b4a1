#pragma once

// A connection to SQLite and its prepared statements, with one sticky error.
//
// The first failure of a connection is kept; whatever is asked after it does nothing until the
// failure is taken. So a caller writes a dozen statements in a row and looks once, at the end, and
// no row of a half-written packet can be committed by accident.
//
// This header is compiled twice: into the programs (SQLITE_CORE), and into the loadable extension,
// where every call goes through the table of the program that loads it.

#include <sqlite3ext.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

// sqlite3ext.h: declares the table of calls in an extension, nothing in a program.
SQLITE_EXTENSION_INIT3

namespace xylem::storage {

/// What SQLite says, as our code and sentence. `what` names the file. Full disks, exceeded quotas
/// and file size limits are kExhausted, and a limit is named as such; whatever may pass by itself
/// is kUnavailable.
Error sqlite_error(sqlite3* database, int code, const std::string& what);

/// Owns a connection, or borrows one that somebody else closes. One thread.
class Connection {
 public:
  Connection() = default;
  /// Borrows: for the event table, which lives inside the connection that it reads.
  explicit Connection(sqlite3* borrowed) : handle_(borrowed) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  /// `flags` are those of sqlite3_open_v2; a path that starts with "file:" is a URI with
  /// SQLITE_OPEN_URI.
  Result<void> open(const std::string& path, int flags, const std::string& name_for_people);
  /// Closes an owned connection; statements must be gone before.
  void close();

  sqlite3* handle() const { return handle_; }
  const std::string& name() const { return name_; }

  /// Runs statements that return nothing of interest.
  void execute(const char* sql);

  bool ok() const { return !failure_; }
  /// The failure, which is then forgotten. Success when there was none.
  Result<void> take();
  /// Remembers the first failure.
  void fail(int code);
  void fail(Error error);

 private:
  sqlite3* handle_ = nullptr;
  bool owned_ = false;
  std::string name_ = "database";
  std::optional<Error> failure_;
};

/// A prepared statement. Lives no longer than its connection.
class Statement {
 public:
  /// An empty statement; every use of it fails.
  Statement() = default;
  Statement(Connection& connection, std::string_view sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement() { sqlite3_finalize(statement_); }

  /// Binds the arguments in order, runs to the end, resets.
  template <typename... Args>
  void run(const Args&... arguments) {
    if (!begin()) return;
    int index = 0;
    (bind(++index, arguments, SQLITE_STATIC), ...);
    finish();
  }

  /// Binds the arguments in order and steps to the first row. False when there is none.
  template <typename... Args>
  bool first(const Args&... arguments) {
    if (!begin()) return false;
    int index = 0;
    (bind(++index, arguments, SQLITE_TRANSIENT), ...);
    return next();
  }
  /// Steps on. False at the end, after which the statement is reset.
  bool next();
  /// To be called when rows are left unread, so that the statement holds nothing open.
  void reset();

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::string text(int column) const;
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  /// Valid until the next step.
  std::span<const std::byte> blob(int column) const;

  sqlite3_stmt* handle() const { return statement_; }

 private:
  bool begin();
  void finish();
  void check(int code);

  template <typename T>
  void bind(int index, const T& value, sqlite3_destructor_type lifetime);

  Connection* connection_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

/// SQLite counts in signed numbers. What a peer claims beyond them is cut, not turned negative.
template <typename T>
constexpr sqlite3_int64 to_sqlite(T value) {
  if constexpr (std::is_enum_v<T>) {
    return to_sqlite(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<sqlite3_int64>::max());
    return static_cast<sqlite3_int64>(value < kMax ? value : kMax);
  } else {
    return static_cast<sqlite3_int64>(value);
  }
}

template <typename T>
void Statement::bind(int index, const T& value, sqlite3_destructor_type lifetime) {
  if constexpr (std::is_same_v<T, std::nullopt_t>) {
    check(sqlite3_bind_null(statement_, index));
  } else if constexpr (std::is_floating_point_v<T>) {
    check(sqlite3_bind_double(statement_, index, value));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    check(sqlite3_bind_int64(statement_, index, to_sqlite(value)));
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    const std::string_view text = value;
    // A null pointer would bind NULL; empty text is text.
    const char* start = text.empty() ? "" : text.begin();
    check(sqlite3_bind_text64(statement_, index, start, text.size(), lifetime, SQLITE_UTF8));
  } else if constexpr (std::is_convertible_v<T, std::span<const std::byte>>) {
    const std::span<const std::byte> bytes = value;
    const void* start = bytes.empty() ? static_cast<const void*>("") : bytes.data();
    check(sqlite3_bind_blob64(statement_, index, start, bytes.size(), lifetime));
  } else {  // std::optional
    if (value) {
      bind(index, *value, lifetime);
    } else {
      bind(index, std::nullopt, lifetime);
    }
  }
}

}  // namespace xylem::storage
