#pragma once

// `xylem query`: SQL over a run's file, as a table for people or as CSV or JSON for programs.

#include <iosfwd>
#include <memory>
#include <string>

#include "storage/read/query.h"

namespace CLI {
class App;
}

namespace xylem {

enum class ResultFormat { kTable, kCsv, kJson };

struct QueryOptions {
  std::string file;
  std::string sql;  ///< "" or "-": read from `in`.
  ResultFormat format = ResultFormat::kTable;
  bool schema = false;  ///< Print tables, their columns and ready questions instead.
};

/// Runs the statements and prints each result: aligned columns; CSV as RFC 4180 says, with a line
/// of names, NULL as nothing; or one array of objects a statement. Blobs are hex. Returns 0, 1 with
/// a sentence on `err` when the file or the SQL is wrong, 2 when there is no SQL.
int run_query(const QueryOptions& options, std::istream& in, std::ostream& out, std::ostream& err);

/// Prints a result row by row in a format as above; borrows `out`.
std::unique_ptr<storage::RowSink> make_result_sink(ResultFormat format, std::ostream& out);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_query_command(CLI::App& app, int& code);

}  // namespace xylem
