// Brings a run's file to the schema that this program writes, and refuses files that it cannot
// read.

#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"
#include "storage/migrations_internal.h"
#include "storage/schema_internal.h"

namespace xylem::storage {
namespace {

struct FileVersion {
  std::int64_t application = 0;
  std::int64_t version = 0;
  bool empty = true;
};

/// Ours, but migrate() has not ended: a matter of milliseconds, where the one who makes it lives.
constexpr Nanos kMakingPatience = 1 * kSecond;
bool is_being_made(const FileVersion& found) {
  return found.application == kApplicationId && found.version == 0;
}

FileVersion read_version(Connection& connection) {
  FileVersion found;
  Statement application(connection, "PRAGMA application_id");
  if (application.first()) found.application = application.integer(0);
  application.reset();
  Statement version(connection, "PRAGMA user_version");
  if (version.first()) found.version = version.integer(0);
  version.reset();
  Statement any(connection, "SELECT 1 FROM sqlite_schema LIMIT 1");
  found.empty = !any.first();
  any.reset();
  return found;
}

Result<void> judge(const Connection& connection, const FileVersion& found) {
  if (found.application != kApplicationId) {
    return unexpected(Code::kInvalidArgument,
                      connection.name() + ": it is a SQLite database, but not a run of xylem");
  }
  if (found.version < 0) {
    return unexpected(Code::kCorrupt, connection.name() + ": its schema cannot have version " +
                                          std::to_string(found.version));
  }
  if (found.version > schema_version()) {
    return unexpected(Code::kInvalidArgument,
                      connection.name() + ": written by a newer xylem (schema " +
                          std::to_string(found.version) + ", this one knows up to " +
                          std::to_string(schema_version()) + "); use that one");
  }
  return {};
}

}  // namespace

std::int64_t schema_version() { return static_cast<std::int64_t>(migrations().size()); }

Result<void> migrate(Connection& connection) {
  FileVersion found = read_version(connection);
  if (auto read = connection.take(); !read) return read;
  const bool fresh = found.empty && found.version == 0;
  if (!fresh) {
    if (auto fits = judge(connection, found); !fits) return fits;
  }
  if (found.version == schema_version()) return {};
  connection.execute("BEGIN IMMEDIATE");
  for (std::int64_t next = found.version; next < schema_version(); ++next) {
    const Migration& migration = migrations()[static_cast<std::size_t>(next)];
    connection.execute(migration.tables);
    connection.execute(migration.views);
  }
  connection.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  connection.execute(("PRAGMA user_version = " + std::to_string(schema_version())).c_str());
  connection.execute("COMMIT");
  auto done = connection.take();
  if (!done) {
    connection.execute("ROLLBACK");
    static_cast<void>(connection.take());  // Often there is nothing left to roll back.
  }
  return done;
}

Result<void> check_readable(Connection& connection) {
  FileVersion found = read_version(connection);
  const Nanos deadline = deadline_in(kMakingPatience);
  while (is_being_made(found) && monotonic_now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = read_version(connection);
  }
  if (auto read = connection.take(); !read) return read;
  if (auto fits = judge(connection, found); !fits) return fits;
  if (is_being_made(found)) {
    return unexpected(Code::kUnavailable, connection.name() + ": it is being created; try again");
  }
  return {};
}

}  // namespace xylem::storage
