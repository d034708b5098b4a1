#pragma once

// Queries on a run's file, live or finished, read-only.
//
//   auto run = RunFile::open("run.db");
//   run->query("SELECT rank, sum(calls) FROM function_total GROUP BY rank", sink);

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace xylem::storage {

/// What a cell of a result holds: NULL, an integer, a real, text, or a blob.
using Blob = std::vector<std::byte>;
using Value = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

/// Receives a result, a row at a time. `begin` comes once for each statement that has columns.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void begin(std::span<const std::string> columns) = 0;
  /// Before each row, the bytes of its texts and blobs. False ends the query as `row` does: a row
  /// that is too large is not even copied.
  virtual bool takes(std::size_t /*bytes*/) { return true; }
  /// The row is valid during the call. False ends the query without an error.
  virtual bool row(std::span<const Value> values) = 0;
  virtual void end() {}
};

/// How texts are returned. A store's texts are untrusted: a program's name may contain terminal
/// control codes.
enum class Texts {
  kExact,      ///< For programs, and for formats with their own escaping, such as HTML and JSON.
  kPrintable,  ///< For people at a terminal: by base/printable_text.h, names of columns too.
};

/// A file opened for reading. SQL comes from users: it can only read the run's tables; no other
/// file, no extension, no setting. One thread at a time.
class RunFile {
 public:
  /// Opens a run's file. Works while it is written (what is committed shows with the next query),
  /// and for finished files on media that cannot be written.
  /// Fails with kNotFound, kPermissionDenied, kInvalidArgument (a directory; a database that is no
  /// run; written by a newer xylem), kCorrupt (no database), kUnavailable.
  static Result<std::unique_ptr<RunFile>> open(const std::string& path,
                                               Texts texts = Texts::kExact);
  virtual ~RunFile() = default;

  /// Runs all statements of `sql`, one after the other. Fails with kInvalidArgument on wrong SQL or
  /// unknown names, kPermissionDenied on operations other than reading, kCorrupt on a damaged file.
  /// Rows before a failure have been passed to the sink.
  virtual Result<void> query(std::string_view sql, RowSink& sink) = 0;

  /// Until `release` all queries see one commit, even while the run continues. Holding it for long
  /// lets the writer's log grow. Fails as a query does.
  virtual Result<void> hold() = 0;
  virtual void release() = 0;

  /// After `deadline` (monotonic) queries fail with kTimedOut, also during execution; kForever:
  /// none. While there is a deadline a value has at most 16 MiB, so that no single step takes long.
  /// Queries also fail once `given_up`, if not null, is true: any thread may set it, and it must
  /// outlive this object.
  virtual void set_deadline(Nanos deadline, const std::atomic<bool>* given_up = nullptr) = 0;

  /// The same for few rows: returns all rows, without column names. More than `most` rows is
  /// kExhausted.
  Result<std::vector<std::vector<Value>>> rows(std::string_view sql, std::size_t most = 1'000'000);

  /// How many chunks of events the queries so far have opened.
  virtual std::uint64_t chunks_decoded() const = 0;

  virtual const std::string& path() const = 0;
};

/// Limits SQLite's memory in this process, for all connections: a query that needs more fails with
/// kExhausted. For servers; once, before the first file is opened.
void limit_memory(std::int64_t bytes);

/// Text as a literal of SQL. What follows a zero byte is left out, as SQLite would.
std::string sql_quoted(std::string_view text);

/// A value as text: "" for NULL, the shortest text that reads back for reals, hex for blobs.
std::string to_text(const Value& value);
/// A value as JSON: null, a number, or a string; reals that JSON has no form for are null, blobs
/// are hex, bytes that are not UTF-8 become U+FFFD. Control characters are escaped, those of C1
/// too.
std::string to_json(const Value& value);
/// 0 or "" if the value has another type. A real is clamped to an integer's range; NaN gives 0.
std::int64_t integer_of(const Value& value);
/// An integer, clamped to 146 years either way, so that any two can be subtracted without overflow.
Nanos time_of(const Value& value);
double real_of(const Value& value);
std::string text_of(const Value& value);

}  // namespace xylem::storage
