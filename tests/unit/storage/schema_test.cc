// Migrations of a run's file.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "storage/schema_internal.h"
#include "storage/sqlite_internal.h"

namespace xylem::storage {
namespace {

void open_in_memory(Connection& file) {
  const auto opened = file.open(":memory:", SQLITE_OPEN_READWRITE, "run.db");
  ASSERT_TRUE(opened) << opened.error().message;
}

/// The statements that make the schema, as in tests/golden/storage/schema.
std::string schema_of(Connection& file) {
  std::string all;
  Statement rows(file,
                 "SELECT rtrim(sql, char(10, 32)) FROM sqlite_schema"
                 " WHERE sql IS NOT NULL AND name <> 'sqlite_sequence'"
                 " ORDER BY instr('table index view trigger', type), name");
  for (bool more = rows.first(); more; more = rows.next()) all += rows.text(0) + ";\n";
  EXPECT_TRUE(file.take());
  return all;
}

std::int64_t version_of(Connection& file) {
  Statement version(file, "PRAGMA user_version");
  EXPECT_TRUE(version.first());
  return version.integer(0);
}

/// The schema of files that a program of this version has written.
std::string written_schema(std::int64_t version) {
  const std::string path =
      XYLEM_GOLDEN_DIR "/storage/schema/version_" + std::to_string(version) + ".sql";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << ": missing; a new version of the schema needs a new file";
  return {std::istreambuf_iterator<char>(file), {}};
}

void make_old_file(Connection& file, std::int64_t version) {
  open_in_memory(file);
  file.execute(written_schema(version).c_str());
  file.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  file.execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
  const auto made = file.take();
  ASSERT_TRUE(made) << made.error().message;
}

TEST(Schema, DoesNotChangeWithoutANewVersion) {
  Connection made;
  open_in_memory(made);
  ASSERT_TRUE(migrate(made));
  EXPECT_EQ(schema_of(made), written_schema(schema_version()));
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
  file.execute("CREATE TABLE service(a)");  // Prevents the migration to version 8.
  const std::string before = schema_of(file);
  EXPECT_FALSE(migrate(file));
  EXPECT_EQ(schema_of(file), before);
  EXPECT_EQ(version_of(file), 3);
}

}  // namespace
}  // namespace xylem::storage
