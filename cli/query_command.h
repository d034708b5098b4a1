#pragma once

// `xylem query`: SQL over a run's file, as a table for people or as CSV or JSON for programs.

#include <iosfwd>
#include <memory>
#include <span>
#include <string>

#include "storage/read/query.h"

namespace CLI {
class App;
}

namespace xylem {

enum class ResultFormat { kTable, kCsv, kJson };

struct QueryOptions {
  std::string file;  ///< Empty: the newest run (Newest::kInFolder).
  std::string sql;   ///< "" or "-": read from `in`.
  ResultFormat format = ResultFormat::kTable;
  bool schema = false;  ///< Run no query: print the tables, their columns and example queries.
};

/// Runs the statements and prints each result in the format:
///
/// - kTable: aligned columns.
/// - kCsv: CSV as in RFC 4180. The first line has the names of the columns; NULL is an empty field.
/// - kJson: one object (docs/json.md). Its `results` have an element for each statement with
///   columns: the names of the columns, and one object for each row. If a statement fails, the text
///   ends in the middle.
///
/// Blobs are printed as hexadecimal digits. Returns kExitSuccess. Returns kExitFailure with a
/// sentence on `err` when the file or the SQL is wrong, and kExitUsage when there is no SQL.
int run_query(const QueryOptions& options, std::istream& in, std::ostream& out, std::ostream& err);

/// True if a single word behind `xylem query` is SQL for the newest run, and not a file: it has a
/// blank in it, and there is no file with this name.
bool is_sql(const std::string& word);

/// Prints results. Call finish() once, after the last result. Not thread-safe.
class ResultSink : public storage::RowSink {
 public:
  virtual void finish() {}
};

/// Makes a sink that prints results row by row in `format`. Borrows `out`.
std::unique_ptr<ResultSink> make_result_sink(ResultFormat format, std::ostream& out);

/// Prints a row as one JSON object. `quoted_names` are JSON strings, one for each value.
void write_json_object(std::span<const std::string> quoted_names,
                       std::span<const storage::Value> values, std::ostream& out);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_query_command(CLI::App& app, int& code);

}  // namespace xylem
