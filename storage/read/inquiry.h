#pragma once

// Runs many small queries on a run's file, and keeps the first error.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/read/query.h"

namespace xylem::storage {

using Rows = std::vector<std::vector<Value>>;

/// Returns 0 for a negative number and for a value that is not a number.
inline std::uint64_t count_of(const Value& value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(integer_of(value), 0));
}
template <typename Id>
Id id_of(const Value& value) {
  return Id{static_cast<std::underlying_type_t<Id>>(integer_of(value))};
}
inline bool is_null(const Value& value) { return value.index() == 0; }

/// Runs one query after another. After the first failure all results are empty, so the caller
/// checks `failure` only once, at the end. Not thread-safe.
class Inquiry {
 public:
  explicit Inquiry(RunFile& run) : run_(run) {}

  Rows ask(const std::string& sql) {
    if (!failure) {
      auto rows = run_.rows(sql);
      if (rows) return std::move(*rows);
      failure = rows.error();
    }
    return {};
  }
  /// Returns whether the file has a table, view or index with this name. Files of older versions
  /// lack some.
  bool has_table(const std::string& name) {
    return !ask("SELECT 1 FROM sqlite_schema WHERE name = " + sql_quoted(name)).empty();
  }
  bool has_column(const std::string& table, const std::string& column) {
    return !ask("SELECT 1 FROM pragma_table_info(" + sql_quoted(table) +
                ") WHERE name = " + sql_quoted(column))
                .empty();
  }
  /// Returns the first row of the result. If there is no row, returns `columns` values that are
  /// NULL.
  std::vector<Value> ask_one(const std::string& sql, std::size_t columns) {
    Rows rows = ask(sql);
    return rows.empty() ? std::vector<Value>(columns) : std::move(rows.front());
  }
  /// Calls `each` with the values of each row. Use it for results that are too large to keep in
  /// memory.
  template <typename Each>
  void scan(const std::string& sql, Each each) {
    class Sink final : public RowSink {
     public:
      explicit Sink(Each& e) : each_(e) {}
      void begin(std::span<const std::string>) override {}
      bool row(std::span<const Value> values) override {
        each_(values);
        return true;
      }

     private:
      Each& each_;
    };
    if (failure) return;
    Sink sink(each);
    if (auto asked = run_.query(sql, sink); !asked) failure = asked.error();
  }

  /// The file. Some functions need it to choose SQL that fits the file's schema.
  RunFile& run() { return run_; }

  std::optional<Error> failure;

 private:
  RunFile& run_;
};

}  // namespace xylem::storage
