#include "cli/query_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <ostream>
#include <vector>

#include "base/printable_text.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "cli/spooled_output.h"
#include "storage/read/query.h"
#include "viz/reply.h"

namespace xylem {
namespace {

using storage::text_of;
using storage::to_text;
using storage::Value;

/// The first rows set the widths of the columns. Later cells may be wider than their column. So a
/// result of any size needs memory only for these rows.
constexpr std::size_t kRowsMeasured = 1000;
/// Texts longer than kWidestColumn, and rows after the first kBytesMeasured bytes, do not count.
constexpr std::size_t kWidestColumn = 1000;
constexpr std::size_t kBytesMeasured = 1u << 20;

constexpr const char* kQuestions = R"(
Questions to begin with:

  -- Is anything missing?
  SELECT * FROM account WHERE NOT complete OR lost > 0;
  -- Is the trace whole (--detail trace)?
  SELECT * FROM unmatched;
  -- Where does the time go?
  SELECT function, sum(calls) AS calls, sum(time_ns)/1e6 AS ms
    FROM function_total GROUP BY function ORDER BY ms DESC LIMIT 10;
  -- Which lines of the program call MPI for the longest time (--detail trace)?
  SELECT file, line, t.function, sum(calls) AS calls, sum(time_ns)/1e6 AS ms
    FROM callsite_total t LEFT JOIN callsite c ON c.id = t.callsite
    GROUP BY file, line, t.function ORDER BY ms DESC LIMIT 10;
  -- Who sends most to whom?
  SELECT source, destination, bytes, messages FROM comm_matrix ORDER BY bytes DESC LIMIT 10;
  -- Who waits for whom?
  SELECT rank, peer, time_ns/1e6 AS ms FROM wait_matrix ORDER BY ms DESC LIMIT 10;
  -- Who causes waiting (--detail trace)?
  SELECT root_rank, sum(time_ns)/1e6 AS ms FROM wait_state GROUP BY root_rank ORDER BY ms DESC;
  -- The longest calls (--detail trace):
  SELECT world, rank, function, begin_ns, end_ns - begin_ns AS ns, peer, bytes
    FROM event ORDER BY ns DESC LIMIT 10;
  -- What did rank 3 do between 1 s and 1.01 s?
  SELECT * FROM event WHERE rank = 3 AND begin_ns BETWEEN 1000000000 AND 1010000000;
)";

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

/// Returns the number of characters, not of bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

class TableSink final : public ResultSink {
 public:
  explicit TableSink(std::ostream& out) : out_(out) {}

  void begin(std::span<const std::string> columns) override {
    if (results_++ != 0) out_ << '\n';
    names_.assign(columns.begin(), columns.end());
    widths_.clear();
    for (const std::string& name : names_) widths_.push_back(width_of(name));
    right_.assign(names_.size(), true);
    waiting_.clear();
    waiting_bytes_ = 0;
    printed_head_ = false;
  }

  bool row(std::span<const Value> values) override {
    std::vector<Cell> cells;
    for (const Value& value : values) {
      cells.push_back({to_text(value), is_number(value) || value.index() == 0});
      waiting_bytes_ += cells.back().text.size();
    }
    if (printed_head_) {
      print(cells);
    } else {
      waiting_.push_back(std::move(cells));
      if (waiting_.size() == kRowsMeasured || waiting_bytes_ > kBytesMeasured) print_waiting();
    }
    return static_cast<bool>(out_);
  }

  void end() override { print_waiting(); }

 private:
  struct Cell {
    std::string text;
    bool right;
  };

  void print_waiting() {
    if (printed_head_) return;
    printed_head_ = true;
    for (const auto& cells : waiting_) {
      for (std::size_t i = 0; i < cells.size(); ++i) {
        widths_[i] = std::max(widths_[i], std::min(width_of(cells[i].text), kWidestColumn));
        right_[i] = right_[i] && cells[i].right;
      }
    }
    std::vector<Cell> head;
    std::vector<Cell> line;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const bool right = right_[i] && !waiting_.empty();
      head.push_back({names_[i], right});
      line.push_back({std::string(widths_[i], '-'), false});
    }
    print(head);
    print(line);
    for (const auto& cells : waiting_) print(cells);
    waiting_.clear();
  }

  void print(const std::vector<Cell>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i != 0) line += "  ";
      const std::size_t width = width_of(cells[i].text);
      const std::string space(widths_[i] > width ? widths_[i] - width : 0, ' ');
      line += cells[i].right ? space + cells[i].text : cells[i].text + space;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }

  std::ostream& out_;
  std::vector<std::string> names_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;
  std::vector<std::vector<Cell>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool printed_head_ = false;
  int results_ = 0;
};

class CsvSink final : public ResultSink {
 public:
  explicit CsvSink(std::ostream& out) : out_(out) {}
  void begin(std::span<const std::string> columns) override {
    if (results_++ != 0) out_ << '\n';
    for (std::size_t i = 0; i < columns.size(); ++i) field(i, columns[i]);
    out_ << '\n';
  }
  bool row(std::span<const Value> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) field(i, to_text(values[i]));
    out_ << '\n';
    return static_cast<bool>(out_);
  }

 private:
  void field(std::size_t index, const std::string& text) {
    if (index != 0) out_ << ',';
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
      out_ << text;
      return;
    }
    out_ << '"';
    for (const char c : text) {
      if (c == '"') out_ << '"';
      out_ << c;
    }
    out_ << '"';
  }

  std::ostream& out_;
  int results_ = 0;
};

class JsonSink final : public ResultSink {
 public:
  explicit JsonSink(std::ostream& out) : out_(out) {}
  void begin(std::span<const std::string> columns) override {
    open();
    out_ << (results_++ == 0 ? "\n" : ",\n") << "{\"columns\": [";
    names_.clear();
    for (const std::string& column : columns) {
      names_.push_back(storage::to_json(column));
      out_ << (names_.size() == 1 ? "" : ", ") << names_.back();
    }
    out_ << "], \"rows\": [";
    rows_ = 0;
  }
  bool row(std::span<const Value> values) override {
    out_ << (rows_++ == 0 ? "\n" : ",\n");
    write_json_object(names_, values, out_);
    return static_cast<bool>(out_);
  }
  void end() override { out_ << (rows_ == 0 ? "]}" : "\n]}"); }
  void finish() override {
    open();
    out_ << (results_ == 0 ? "]}\n" : "\n]}\n");
  }

 private:
  void open() {
    if (is_open_) return;
    is_open_ = true;
    out_ << "{\"version\": " << viz::kApiVersion << ", \"view\": \"query\", \"results\": [";
  }

  std::ostream& out_;
  std::vector<std::string> names_;
  std::size_t results_ = 0, rows_ = 0;
  bool is_open_ = false;
};

int fail(std::ostream& err, const std::string& sentence, int code) {
  err << "xylem query: " << printable(sentence) << '\n';
  return code;
}

int print_schema(storage::RunFile& run, std::ostream& out, std::ostream& err) {
  // Views come first, since scripts may rely on them. Tables follow.
  const auto rows = run.rows(
      "SELECT s.type, s.name, group_concat(c.name, ', ') FROM (SELECT type, name FROM sqlite_schema"
      " WHERE type IN ('table', 'view') UNION ALL VALUES('view', 'event'), ('view', 'completion'),"
      " ('view', 'callsite_total'), ('view', 'region'), ('view', 'message'), ('view', "
      "'collective'),"
      " ('view', 'unmatched'), ('view', 'wait_state'), ('view', 'wait_coverage'))"
      " s, pragma_table_info(s.name) c GROUP BY s.type, s.name ORDER BY s.type = 'table', s.name");
  if (!rows) return fail(err, rows.error().message, kExitFailure);
  std::string type;
  for (const auto& row : *rows) {
    if (text_of(row[0]) != type) {
      if (!type.empty()) out << '\n';
      type = text_of(row[0]);
      out << (type == "view" ? "For questions:\n" : "Tables of the file:\n");
    }
    out << "  " << text_of(row[1]) << '(' << text_of(row[2]) << ")\n";
  }
  out << kQuestions;
  return kExitSuccess;
}

}  // namespace

bool is_sql(const std::string& word) {
  std::error_code ignored;
  return word.find_first_of(" \t\n") != std::string::npos &&
         !std::filesystem::exists(word, ignored);
}

void write_json_object(std::span<const std::string> quoted_names, std::span<const Value> values,
                       std::ostream& out) {
  out << '{';
  for (std::size_t i = 0; i < values.size(); ++i) {
    out << (i == 0 ? "" : ", ") << quoted_names[i] << ": " << storage::to_json(values[i]);
  }
  out << '}';
}

std::unique_ptr<ResultSink> make_result_sink(ResultFormat format, std::ostream& out) {
  switch (format) {
    case ResultFormat::kCsv:
      return std::make_unique<CsvSink>(out);
    case ResultFormat::kJson:
      return std::make_unique<JsonSink>(out);
    case ResultFormat::kTable:
      break;
  }
  return std::make_unique<TableSink>(out);
}

int run_query(const QueryOptions& options, std::istream& in, std::ostream& out, std::ostream& err) {
  const bool is_for_people = options.schema || options.format == ResultFormat::kTable;
  const auto file = choose_run("query", {options.file}, Newest::kInFolder, err);
  if (!file) return fail(err, file.error().message, kExitFailure);
  auto run = storage::RunFile::open(
      *file, is_for_people ? storage::Texts::kPrintable : storage::Texts::kExact);
  if (!run) return fail(err, run.error().message, kExitFailure);
  if (options.schema) return print_schema(**run, out, err);
  std::string sql = options.sql;
  if (sql.empty() || sql == "-") {
    sql.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (sql.find_first_not_of(" \t\r\n;") == std::string::npos) {
    return fail(err, "no SQL given; try xylem query " + *file + " --schema", kExitUsage);
  }
  const auto sink = make_result_sink(options.format, out);
  const auto asked = (*run)->query(sql, *sink);
  if (asked) sink->finish();
  out.flush();
  return asked ? kExitSuccess : fail(err, asked.error().message, kExitFailure);
}

void add_query_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "query", "Query a run's file in SQL, live or finished: xylem query FILE SQL");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<QueryOptions>();
  add_run_file(*command, options->file);
  command->add_option("SQL", options->sql, "Statements [- or none: read from standard input]")
      ->type_name("");
  const auto csv = std::make_shared<bool>(false);
  const auto json = std::make_shared<bool>(false);
  CLI::Option* as_csv = command->add_flag("--csv", *csv, "Comma-separated values");
  command->add_flag("--json", *json, "One JSON object for programs")->excludes(as_csv);
  command->add_flag("--schema", options->schema, "Print the tables and example queries");
  command->callback([options, csv, json, &code] {
    if (options->sql.empty() && is_sql(options->file)) options->sql.swap(options->file);
    options->format = *csv    ? ResultFormat::kCsv
                      : *json ? ResultFormat::kJson
                              : ResultFormat::kTable;
    SpooledOutput output(STDOUT_FILENO);
    std::ostream out(&output);
    code = run_query(*options, std::cin, out, std::cerr);
    const std::string unwritten = output.finish();
    if (!unwritten.empty()) code = fail(std::cerr, unwritten, kExitFailure);
  });
}

}  // namespace xylem
