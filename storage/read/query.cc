// Three locks protect the file, and each alone prevents most changes: the file is opened for
// reading, an authorizer allows only reading, and SQLite's own switches against writing are on.

#include "storage/read/query.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/printable_text.h"
#include "base/saturating.h"
#include "base/utf8.h"
#include "storage/read/event_reader.h"
#include "storage/read/run_tables_internal.h"
#include "storage/schema_internal.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

/// Settings that only read. All others are refused, even if they could not change anything here.
constexpr std::array<std::string_view, 22> kHarmlessPragmas = {
    "application_id", "collation_list",   "compile_options", "data_version",  "database_list",
    "encoding",       "foreign_key_list", "freelist_count",  "function_list", "index_info",
    "index_list",     "index_xinfo",      "integrity_check", "journal_mode",  "module_list",
    "page_count",     "page_size",        "pragma_list",     "quick_check",   "table_info",
    "table_list",     "table_xinfo"};
/// Settings that may have a value: the name of a table or an index, or a number of errors.
constexpr std::array<std::string_view, 8> kPragmasWithArgument = {
    "foreign_key_list", "index_info",  "index_list", "index_xinfo",
    "integrity_check",  "quick_check", "table_info", "table_xinfo"};
constexpr std::array<std::string_view, 2> kVersionPragmas = {"schema_version", "user_version"};

constexpr int kMaxBytesOfAValue = 256 << 20;

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_harmless_pragma(std::string_view name, const char* argument) {
  if (argument != nullptr) {
    return is_among(kPragmasWithArgument, name) ||
           (name == "table_list" && std::strlen(argument) < 256);
  }
  return is_among(kHarmlessPragmas, name) || is_among(kVersionPragmas, name);
}

int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_UPDATE:
      // The first use of a table-valued function such as json_each looks like this. The other locks
      // refuse a real update of the schema.
      return first != nullptr && std::strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return second != nullptr && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                                 : SQLITE_OK;
    case SQLITE_PRAGMA: {
      std::string name = first == nullptr ? "" : first;
      std::ranges::transform(name, name.begin(), [](unsigned char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      });
      return is_harmless_pragma(name, second) ? SQLITE_OK : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

/// A path as the path of a URI.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (std::strchr("%?#", c) == nullptr) {
      uri += c;
      continue;
    }
    constexpr const char* kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

Value value_at(sqlite3_stmt* statement, int column) {
  const auto bytes = [&] {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, bytes());
    }
    case SQLITE_BLOB: {
      const auto* blob = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
      return Blob(blob, blob + bytes());
    }
    default:
      return std::monostate{};
  }
}

std::size_t bytes_of_row(sqlite3_stmt* statement, int columns) {
  std::size_t bytes = 0;
  for (int i = 0; i < columns; ++i) {
    const int type = sqlite3_column_type(statement, i);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) continue;
    bytes += static_cast<std::size_t>(sqlite3_column_bytes(statement, i));
  }
  return bytes;
}

/// Distinguishes errors in the user's SQL from errors of the file.
Error query_error(sqlite3* database, int code, const std::string& path) {
  const int primary = code & 0xff;
  const std::string said = sqlite3_errmsg(database);
  // A denied function is reported as a plain error.
  if (primary == SQLITE_AUTH || said.starts_with("not authorized")) {
    return {Code::kPermissionDenied, "SQL: " + said + "; only reading the run is allowed here"};
  }
  if (primary == SQLITE_ERROR && said.find("is damaged") != std::string::npos) {
    return {Code::kCorrupt, path + ": " + said};
  }
  constexpr std::array kOfTheSql = {SQLITE_ERROR, SQLITE_RANGE, SQLITE_MISMATCH, SQLITE_TOOBIG,
                                    SQLITE_MISUSE};
  if (std::ranges::find(kOfTheSql, primary) != kOfTheSql.end()) {
    const int at = sqlite3_error_offset(database);
    return {Code::kInvalidArgument,
            "SQL: " + said + (at >= 0 ? " (at character " + std::to_string(at + 1) + ")" : "")};
  }
  return sqlite_error(database, code, path);
}

class SqliteRunFile final : public RunFile {
 public:
  SqliteRunFile(std::string path, Texts texts) : path_(std::move(path)), texts_(texts) {}

  Result<void> connect();
  Result<void> query(std::string_view sql, RowSink& sink) override;
  Result<void> hold() override;
  void release() override;
  void set_deadline(Nanos deadline, const std::atomic<bool>* given_up) override;
  Result<std::shared_ptr<const WaitStates>> wait_states() override;
  Result<std::unique_ptr<EventReader>> events(const EventQuery& query) override;
  std::uint64_t chunks_decoded() const override { return counters_.chunks_decoded; }
  const std::string& path() const override { return path_; }

 private:
  Result<void> try_open(const char* parameters);
  Result<void> run(sqlite3_stmt* statement, RowSink& sink);

  /// Runs a statement of this class without the authorizer.
  Result<void> execute(const char* sql);
  Error error_of(int code);

  bool is_late() const {
    return monotonic_now() >= deadline_ || (given_up_ != nullptr && *given_up_);
  }
  /// All texts of a store become printable here, and nowhere else.
  void make_printable(Value& value) const {
    auto* text = texts_ == Texts::kPrintable ? std::get_if<std::string>(&value) : nullptr;
    if (text != nullptr) *text = printable(*text);
  }

  std::string path_;
  Texts texts_;

  Nanos deadline_ = kForever;
  const std::atomic<bool>* given_up_ = nullptr;
  unsigned holds_ = 0;  ///< Number of hold() calls without a release().
  EventTableCounters counters_;
  // Shared, see KeptWaitStates.
  std::shared_ptr<KeptWaitStates> waits_ = std::make_shared<KeptWaitStates>();
  Connection connection_;
};

Result<void> SqliteRunFile::try_open(const char* parameters) {
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (auto opened = connection_.open(uri_of(path_) + parameters, kFlags, path_); !opened) {
    return opened;
  }
  sqlite3* const database = connection_.handle();
  sqlite3_busy_timeout(database, 2000);
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // Views may call the same functions as users, under the same authorizer. Otherwise SQLite 3.40
  // would refuse json_extract in views, and the views of series need it.
  sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  return check_readable(connection_);
}

Result<void> SqliteRunFile::connect() {
  auto opened = try_open("?mode=ro");
  if (!opened && opened.error().code == Code::kUnavailable) {
    // A read-only folder has no place for the index of the log. Without a log, the file has all
    // data. If there is a log, it must not be ignored.
    struct stat log {};
    const bool has_log = ::stat((path_ + "-wal").c_str(), &log) == 0 && log.st_size > 0;
    if (!has_log) opened = try_open("?mode=ro&immutable=1");
  }
  if (!opened) return opened;
  sqlite3* const database = connection_.handle();
  if (const int code = register_run_tables(database, &counters_, waits_); code != SQLITE_OK) {
    return unexpected(sqlite_error(database, code, path_));
  }
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxBytesOfAValue);
  sqlite3_set_authorizer(database, authorize, nullptr);
  return {};
}

Result<void> SqliteRunFile::query(std::string_view sql, RowSink& sink) {
  const char* at = sql.data();
  const char* const stop = sql.data() + sql.size();
  while (at != stop) {
    sqlite3_stmt* prepared = nullptr;
    const char* next = stop;
    const int code =
        sqlite3_prepare_v2(connection_.handle(), at, static_cast<int>(stop - at), &prepared, &next);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared,
                                                                          sqlite3_finalize);
    if (code != SQLITE_OK) return unexpected(error_of(code));
    at = next;
    if (!statement) continue;  // A comment, or nothing.
    if (auto done = run(statement.get(), sink); !done) return done;
  }
  return {};
}

Result<void> SqliteRunFile::run(sqlite3_stmt* statement, RowSink& sink) {
  const int columns = sqlite3_column_count(statement);
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(columns));
  for (int i = 0; i < columns; ++i) {
    const char* const name = sqlite3_column_name(statement, i);
    names.emplace_back(name == nullptr ? "" : name);
    if (texts_ == Texts::kPrintable) names.back() = printable(names.back());
  }
  if (columns != 0) sink.begin(names);
  std::vector<Value> values(static_cast<std::size_t>(columns));
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (!sink.takes(bytes_of_row(statement, columns))) break;
    for (int i = 0; i < columns; ++i) {
      Value& value = values[static_cast<std::size_t>(i)];
      value = value_at(statement, i);
      make_printable(value);
    }
    if (!sink.row(values)) break;
  }
  if (code != SQLITE_DONE && code != SQLITE_ROW) return unexpected(error_of(code));
  if (columns != 0) sink.end();
  return {};
}

Result<void> SqliteRunFile::execute(const char* sql) {
  sqlite3_set_authorizer(connection_.handle(), nullptr, nullptr);
  const int code = sqlite3_exec(connection_.handle(), sql, nullptr, nullptr, nullptr);
  sqlite3_set_authorizer(connection_.handle(), authorize, nullptr);
  if (code != SQLITE_OK) return unexpected(error_of(code));
  return {};
}

// The first read of a transaction decides which commit it sees.
Result<void> SqliteRunFile::hold() {
  if (holds_ > 0) {
    ++holds_;
    return {};
  }
  if (auto begun = execute("BEGIN"); !begun) return begun;
  holds_ = 1;
  auto read = execute("SELECT 1 FROM sqlite_schema LIMIT 1");
  if (!read) release();
  return read;
}

void SqliteRunFile::release() {
  if (holds_ == 0 || --holds_ > 0) return;
  // The transaction has only read, so nothing can fail.
  static_cast<void>(execute("ROLLBACK"));
}

void SqliteRunFile::set_deadline(Nanos deadline, const std::atomic<bool>* given_up) {
  // One step may make a value of the maximum size, or open chunks of events. So the steps between
  // two checks are few and the values small: a query ends a few tenths of a second late at most.
  constexpr int kStepsBetweenLooks = 16;
  constexpr int kMaxBytesInTime = 16 << 20;
  sqlite3_limit(connection_.handle(), SQLITE_LIMIT_LENGTH,
                deadline == kForever ? kMaxBytesOfAValue : kMaxBytesInTime);
  deadline_ = deadline;
  given_up_ = given_up;
  const auto has_passed = [](void* file) {
    return static_cast<SqliteRunFile*>(file)->is_late() ? 1 : 0;
  };
  const bool is_bounded = deadline != kForever || given_up != nullptr;
  sqlite3_progress_handler(connection_.handle(), !is_bounded ? 0 : kStepsBetweenLooks, has_passed,
                           this);
}

// Several statements read the events. All of them must see the same commit.
Result<std::shared_ptr<const WaitStates>> SqliteRunFile::wait_states() {
  if (auto held = hold(); !held) return unexpected(held.error());
  auto states = waits_->get(connection_);
  release();
  auto read = connection_.take();
  if (read) return states;
  if (is_late()) return unexpected(error_of(SQLITE_INTERRUPT));
  if (read.error().code != Code::kCorrupt) return unexpected(read.error());
  WaitStates none;
  none.fault = path_ + ": " + read.error().message;
  return std::make_shared<const WaitStates>(std::move(none));
}

Result<std::unique_ptr<EventReader>> SqliteRunFile::events(const EventQuery& query) {
  auto reader = std::make_unique<EventReader>(connection_, query);
  if (auto read = connection_.take(); !read) return unexpected(read.error());
  return Result<std::unique_ptr<EventReader>>(std::move(reader));
}

Error SqliteRunFile::error_of(int code) {
  if (is_late()) {
    return {Code::kTimedOut, path_ + ": the question took too long; ask for less of the run"};
  }
  if ((code & 0xff) == SQLITE_NOMEM) {
    return {Code::kExhausted, path_ + ": the question needs too much memory; ask for less at once"};
  }
  return query_error(connection_.handle(), code, path_);
}

std::string quoted(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const char c = text.front();
    const Utf8Character next = first_character(text);
    // JSON needs no escape for the control characters of C1, but a terminal would obey them.
    const bool is_control = next.code < 0x20 || (next.code >= 0x7f && next.code < 0xa0);
    if (next.bytes == 0) {
      json += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (is_control) {
      constexpr const char* kDigits = "0123456789abcdef";
      json += "\\u00";
      json += {kDigits[next.code >> 4], kDigits[next.code & 15]};
    } else {
      json += text.substr(0, next.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return json + '"';
}

class Collector final : public RowSink {
 public:
  explicit Collector(std::size_t max_rows) : max_rows_(max_rows) {}
  void begin(std::span<const std::string>) override {}
  bool row(std::span<const Value> values) override {
    too_many = rows.size() == max_rows_;
    if (!too_many) rows.emplace_back(values.begin(), values.end());
    return !too_many;
  }
  std::vector<std::vector<Value>> rows;
  bool too_many = false;

 private:
  std::size_t max_rows_;
};

}  // namespace

Result<std::unique_ptr<RunFile>> RunFile::open(const std::string& path, Texts texts) {
  // SQLite would report "unable to open" for all of these faults.
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return unexpected(errno == EACCES ? Code::kPermissionDenied : Code::kNotFound,
                      path + ": " + std::strerror(errno));
  }
  if (S_ISDIR(found.st_mode)) {
    return unexpected(Code::kInvalidArgument, path + ": it is a directory, not a run's file");
  }
  if (::access(path.c_str(), R_OK) != 0) {
    return unexpected(Code::kPermissionDenied, path + ": " + std::strerror(errno));
  }
  if (found.st_size == 0) {
    return unexpected(Code::kInvalidArgument, path + ": it is empty, not a run's file");
  }
  auto file = std::make_unique<SqliteRunFile>(path, texts);
  if (auto connected = file->connect(); !connected) return unexpected(connected.error());
  return Result<std::unique_ptr<RunFile>>(std::move(file));
}

Result<std::vector<std::vector<Value>>> RunFile::rows(std::string_view sql, std::size_t max_rows) {
  Collector collector(max_rows);
  if (auto asked = query(sql, collector); !asked) return unexpected(asked.error());
  if (collector.too_many) {
    return unexpected(Code::kExhausted, "more than " + std::to_string(max_rows) + " rows");
  }
  return std::move(collector.rows);
}

void limit_memory(std::int64_t bytes) { sqlite3_hard_heap_limit64(bytes); }

std::string sql_quoted(std::string_view text) {
  std::string literal = "'";
  for (const char c : text.substr(0, text.find('\0')))
    literal += c == '\'' ? "''" : std::string(1, c);
  return literal + "'";
}

std::string to_text(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *real).ptr;
    return {digits.data(), end};
  }
  std::string hex;
  if (const auto* blob = std::get_if<Blob>(&value)) {
    constexpr const char* kDigits = "0123456789abcdef";
    for (const std::byte byte : *blob) {
      hex += kDigits[std::to_integer<unsigned>(byte) >> 4];
      hex += kDigits[std::to_integer<unsigned>(byte) & 15];
    }
  }
  return hex;
}

std::string to_json(const Value& value) {
  if (value.index() == 0) return "null";
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (std::holds_alternative<Blob>(value)) return quoted(to_text(value));
  if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real)) {
    return "null";
  }
  return to_text(value);
}

std::int64_t integer_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return saturating_cast<std::int64_t>(*real);
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer == nullptr ? 0 : *integer;
}

Nanos time_of(const Value& value) {
  constexpr Nanos kMax = std::numeric_limits<Nanos>::max() / 2;
  return std::clamp(integer_of(value), -kMax, kMax);
}

double real_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(integer_of(value));
}

std::string text_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? std::string() : *text;
}

}  // namespace xylem::storage
