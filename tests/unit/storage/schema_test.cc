// Migrations of a run's file.

#include <gtest/gtest.h>

#include <string>

#include "storage/migrations_internal.h"
#include "storage/schema_internal.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

void open_in_memory(Connection& file) {
  const auto opened = file.open(":memory:", SQLITE_OPEN_READWRITE, "run.db");
  ASSERT_TRUE(opened) << opened.error().message;
}

/// The names and statements of all tables, indexes, views and triggers.
std::string schema_of(Connection& file) {
  std::string all;
  Statement rows(file, "SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1");
  for (bool more = rows.first(); more; more = rows.next()) all += rows.text(0) + "\n";
  EXPECT_TRUE(file.take());
  return all;
}

std::int64_t version_of(Connection& file) {
  Statement version(file, "PRAGMA user_version");
  EXPECT_TRUE(version.first());
  return version.integer(0);
}

/// A file of an older version, whose views are others.
void make_old_file(Connection& file, std::int64_t version) {
  open_in_memory(file);
  for (const Migration step : migrations().first(static_cast<std::size_t>(version))) step(file);
  file.execute("CREATE VIEW rank AS SELECT 1; CREATE VIEW loss AS SELECT 2");
  file.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  file.execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
  const auto made = file.take();
  ASSERT_TRUE(made) << made.error().message;
}

TEST(Schema, AFileOfAnyOlderVersionGetsTheSchemaOfANewFile) {
  Connection made;
  open_in_memory(made);
  ASSERT_TRUE(migrate(made));
  const std::string expected = schema_of(made);
  EXPECT_EQ(version_of(made), schema_version());
  for (std::int64_t version = 1; version < schema_version(); ++version) {
    SCOPED_TRACE(version);
    Connection file;
    make_old_file(file, version);
    const auto migrated = migrate(file);
    ASSERT_TRUE(migrated) << migrated.error().message;
    EXPECT_EQ(schema_of(file), expected);
    EXPECT_EQ(version_of(file), schema_version());
  }
}

TEST(Schema, AFailedMigrationLeavesTheFileAsItWas) {
  Connection file;
  make_old_file(file, 3);
  file.execute("CREATE TABLE service(a)");  // In the way of version 8.
  const std::string before = schema_of(file);
  EXPECT_FALSE(migrate(file));
  EXPECT_EQ(schema_of(file), before);
  EXPECT_EQ(version_of(file), 3);
}

}  // namespace
}  // namespace xylem::storage
