#pragma once

// A connection to SQLite, and its prepared statements.
//
// A connection keeps its first failure. Until take() is called, all further calls do nothing. So a
// caller can run many statements and check only once, at the end. Also, no part of a packet can be
// committed if another part failed.
//
// This header is compiled twice: into the programs (SQLITE_CORE), and into the loadable extension.
// In the extension, every call goes through a function table. The program that loads the extension
// provides this table.

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

// A macro of sqlite3ext.h. In an extension it declares the function table; in a program it does
// nothing.
SQLITE_EXTENSION_INIT3

namespace xylem::storage {

/// Converts an SQLite error to a code and a message. `what` is the file's name in the message. A
/// full disk, an exceeded quota or a file size limit gives kExhausted; the message says if it was a
/// file size limit. An error that may be temporary, for example a lock, gives kUnavailable.
Error sqlite_error(sqlite3* database, int code, const std::string& what);

/// Owns a connection, or borrows a connection that other code closes. Not thread-safe.
class Connection {
 public:
  Connection() = default;
  /// Borrows a connection. The event tables need this, because they are part of the connection that
  /// they read.
  explicit Connection(sqlite3* borrowed) : handle_(borrowed) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(); }

  /// `flags` are passed to sqlite3_open_v2(). With SQLITE_OPEN_URI, a path that starts with "file:"
  /// is a URI.
  Result<void> open(const std::string& path, int flags, const std::string& name_for_people);
  /// Closes an owned connection. All statements of the connection must be destroyed before.
  void close();

  sqlite3* handle() const { return handle_; }
  const std::string& name() const { return name_; }

  /// Runs statements and ignores their results.
  void execute(const char* sql);

  bool ok() const { return !failure_; }
  /// Returns the first failure since the last take(), and forgets it. Returns success if there was
  /// none.
  Result<void> take();
  /// Stores a failure. Does nothing if there is already one.
  void fail(int code);
  void fail(Error error);

 private:
  sqlite3* handle_ = nullptr;
  bool owned_ = false;
  std::string name_ = "database";
  std::optional<Error> failure_;
};

/// A prepared statement. The connection must live longer than the statement. Not thread-safe.
class Statement {
 public:
  /// An empty statement. run() does nothing, and first() finds no row.
  Statement() = default;
  Statement(Connection& connection, std::string_view sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement() { sqlite3_finalize(statement_); }

  /// Binds the arguments in order, runs the statement to its end, and resets it.
  template <typename... Args>
  void run(const Args&... arguments) {
    if (!begin()) return;
    int index = 0;
    (bind(++index, arguments, SQLITE_STATIC), ...);
    finish();
  }

  /// Binds the arguments in order and steps to the first row. Returns false if there is no row, and
  /// on a failure.
  template <typename... Args>
  bool first(const Args&... arguments) {
    if (!begin()) return false;
    int index = 0;
    (bind(++index, arguments, SQLITE_TRANSIENT), ...);
    return next();
  }
  /// Steps to the next row. Returns false at the end and on a failure; the statement is then reset.
  bool next();
  /// Ends the statement. Call it if you do not read all rows; otherwise the statement keeps a read
  /// transaction open.
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

/// Converts a number for SQLite, which stores signed 64-bit numbers. A larger number from a peer
/// becomes the maximum, not a negative number.
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
    // A null pointer would bind NULL, but an empty text must stay a text.
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

/// Whether a query has a row. False also if the connection fails.
inline bool has_row(Connection& connection, const std::string& sql) {
  Statement row(connection, sql);
  const bool found = row.first();
  row.reset();
  return found;
}

}  // namespace xylem::storage
