#pragma once

// A virtual table whose rows come one after another from a RowSource. SQLite filters and sorts
// them.

#include <memory>
#include <string_view>

#include "storage/sqlite_internal.h"

namespace xylem::storage {

/// The rows of one query. Nothing may outlive it but the connection. SQLite calls it on the thread
/// that runs the query.
class RowSource {
 public:
  virtual ~RowSource() = default;
  /// Goes to the next row, at first to the first one. Returns false at the end and on a failure of
  /// the connection.
  virtual bool next() = 0;
  /// The value of a column of this row, see sqlite3_result_int64(). Nothing: NULL.
  virtual void column(sqlite3_context* out, int column) = 0;
};

/// Makes a copy of `text` the value of the column.
inline void put_text(sqlite3_context* out, std::string_view text) {
  sqlite3_result_text(out, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

/// Begins the rows of a query. Shared by all queries of a connection. SQLite calls it on the thread
/// that runs the query. A connection is used by one thread at a time, so it need not be
/// thread-safe.
class RowTable {
 public:
  virtual ~RowTable() = default;
  virtual std::unique_ptr<RowSource> open(Connection& connection) = 0;
};

/// A table whose queries need nothing but the connection.
template <typename Rows>
class TableOf final : public RowTable {
 public:
  std::unique_ptr<RowSource> open(Connection& connection) override {
    return std::make_unique<Rows>(connection);
  }
};

/// Adds a table to a connection. `declaration` is its CREATE TABLE, and must live as long as the
/// program. Returns an SQLite result code.
int register_row_table(sqlite3* database, const char* name, const char* declaration,
                       std::unique_ptr<RowTable> table);

}  // namespace xylem::storage
