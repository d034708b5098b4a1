#pragma once

// Read-only queries on a run's file, live or finished.
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

class EventReader;
struct EventQuery;
struct WaitStates;

/// The value of a cell: NULL, an integer, a real, text, or a blob.
using Blob = std::vector<std::byte>;
using Value = std::variant<std::monostate, std::int64_t, double, std::string, Blob>;

/// Receives a result row by row. For each statement that has columns, begin() is called once, and
/// end() once if the statement does not fail. All functions are called within RunFile::query(), on
/// its thread.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void begin(std::span<const std::string> columns) = 0;
  /// Called before each row. `bytes` is the size of the row's texts and blobs. If it returns false,
  /// the row is not copied, and the statement ends without an error. Override it to refuse rows
  /// that are too large.
  virtual bool takes(std::size_t /*bytes*/) { return true; }
  /// Called for each row. `values` is valid only during the call. If row() returns false, the
  /// statement ends without an error. The next statement of the query still runs.
  virtual bool row(std::span<const Value> values) = 0;
  virtual void end() {}
};

/// The form in which texts are returned. Texts of a run's file are not trusted: a program's name
/// may contain terminal control codes.
enum class Texts {
  kExact,  ///< Unchanged texts: for programs, and for formats with their own escaping, such as HTML
           ///< and JSON.
  /// Printable texts and column names (base/printable_text.h): for people at a terminal.
  kPrintable,
};

/// A run's file, opened for reading. SQL comes from users, so a query can only read the run's
/// tables. It cannot use other files or extensions, and it cannot change settings. Not thread-safe.
class RunFile {
 public:
  /// Opens a run's file. Works while the run is still writing the file: each statement sees the
  /// data that is committed when the statement starts. Also works for finished files on read-only
  /// media. Fails with kNotFound, kPermissionDenied or kUnavailable. Fails with kInvalidArgument
  /// for a directory, an empty file, a database that is not a run, or a run of a newer xylem. Fails
  /// with kCorrupt if the file is not a database or is damaged.
  static Result<std::unique_ptr<RunFile>> open(const std::string& path,
                                               Texts texts = Texts::kExact);
  virtual ~RunFile() = default;

  /// Runs all statements of `sql`, one after another. Fails with kInvalidArgument if the SQL is
  /// wrong or a name is unknown. Fails with kPermissionDenied if a statement does anything else
  /// than read, with kCorrupt if the file is damaged, and with kUnavailable if it cannot be read
  /// now. When query() fails, the sink may already have received rows.
  virtual Result<void> query(std::string_view sql, RowSink& sink) = 0;

  /// Until release() is called, all queries see the same commit, even while the run continues. The
  /// writer's log grows meanwhile, so call release() soon. May be called again before release();
  /// then the commit is kept until release() has been called as often. Fails with kCorrupt or
  /// kUnavailable if the file cannot be read; then do not call release() for it.
  virtual Result<void> hold() = 0;
  /// Ends one hold(). Does nothing without hold().
  virtual void release() = 0;

  /// After `deadline` (on the monotonic clock) queries fail with kTimedOut, also a query that is
  /// already running. kForever means no deadline. While there is a deadline, a value must not be
  /// larger than 16 MiB, so that no single step takes long. If `given_up` is not null, queries also
  /// fail after `*given_up` was set to true. Any thread may set it. `*given_up` must live longer
  /// than this object.
  virtual void set_deadline(Nanos deadline, const std::atomic<bool>* given_up = nullptr) = 0;

  /// Runs a query and returns all rows, without column names. Use it for results with few rows.
  /// Fails if query() fails, and with kExhausted if there are more than `max_rows` rows.
  Result<std::vector<std::vector<Value>>> rows(std::string_view sql,
                                               std::size_t max_rows = 1'000'000);

  /// Returns the wait states of all events of the file, shared as WaitStates says. Computes them at
  /// the first call and when the file has more events: this reads all events, about 0.2 s for a
  /// million. Fails like a query, with kTimedOut after the deadline. If a chunk is damaged, the
  /// result has a fault.
  virtual Result<std::shared_ptr<const WaitStates>> wait_states() = 0;

  /// Returns the run's events in the order of time. Call hold() before, if the run may be in
  /// progress. The reader must be destroyed before this object, and before a release(). Fails like
  /// a query.
  virtual Result<std::unique_ptr<EventReader>> events(const EventQuery& query) = 0;

  /// Returns the number of chunks that the tables `event` and `completion` have decoded so far.
  virtual std::uint64_t chunks_decoded() const = 0;

  virtual const std::string& path() const = 0;
};

/// Limits SQLite's memory in this process, for all connections together. A query that needs more
/// fails with kExhausted. Call it once, before the first file is opened.
void limit_memory(std::int64_t bytes);

/// Returns `text` as an SQL literal. Like SQLite, leaves out the first zero byte and everything
/// after it.
std::string sql_quoted(std::string_view text);

/// Returns a value as text: "" for NULL, hex for blobs. A real becomes the shortest text from which
/// the same number can be read.
std::string to_text(const Value& value);
/// Returns a value as JSON: null, a number, or a string. Reals that JSON cannot represent are null,
/// blobs are hex, and bytes that are not UTF-8 become U+FFFD. Control characters, including C1, are
/// escaped.
std::string to_json(const Value& value);
/// integer_of(), real_of() and text_of() return 0 or "" if the value has another type. real_of()
/// also accepts an integer. integer_of() also accepts a real: it limits the real to the range of
/// integers, and returns 0 for NaN.
std::int64_t integer_of(const Value& value);
/// Returns integer_of(), limited to plus or minus 146 years in ns. So two times can be subtracted
/// without overflow.
Nanos time_of(const Value& value);
double real_of(const Value& value);
std::string text_of(const Value& value);

}  // namespace xylem::storage
