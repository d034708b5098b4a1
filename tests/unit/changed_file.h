#pragma once

// Changes a run's file: damages it, or turns it into a file with an older schema.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

namespace xylem::storage {

/// Runs statements on a file, without the store. The test fails if they fail.
inline void change_file(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK) << path;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
}

/// Returns statements that undo the schema changes after `version` (at least 7), newest first. A
/// new schema version adds its line at the top.
inline std::string back_to(int version) {
  struct Step {
    int version;
    const char* taken_back;
  };
  constexpr Step kSteps[] = {
      {24,
       "DROP VIEW rank; DROP VIEW thread; DROP VIEW record_cost; DROP VIEW capture_cost;"
       "DROP VIEW region_total; DROP TABLE process_thread; DROP TABLE process_record_cost;"
       "DROP TABLE region_name; DROP TABLE process_region;"
       "ALTER TABLE process DROP COLUMN thread_level;"
       "CREATE VIEW rank AS SELECT p.world, p.rank, h.name AS host, p.pid, p.program,"
       " p.mpi_library, p.leaf, p.lane, p.first_ns, p.last_ns, p.ended, p.clock, p.since_ns,"
       " p.until_ns, p.threads, p.processors"
       " FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL;"},
      {23, "DROP TABLE callsite;"},
      {22, "ALTER TABLE process RENAME COLUMN lost_parts TO lost_requests;"},
      {21,
       "DROP VIEW loss; ALTER TABLE process DROP COLUMN lost_requests;"
       "CREATE VIEW loss AS SELECT 'host' AS part, NULL AS world, NULL AS rank, name AS host,"
       " NULL AS function, NULL AS calls, lost_reason AS reason, NULL AS wave FROM host"
       " WHERE lost_reason IS NOT NULL;"},
      {20,
       "DROP VIEW rank; ALTER TABLE host DROP COLUMN processor;"
       "ALTER TABLE host DROP COLUMN frequency_hz; ALTER TABLE process DROP COLUMN processors;"
       "CREATE VIEW rank AS SELECT p.world, p.rank, h.name AS host, p.pid, p.program,"
       " p.mpi_library, p.leaf, p.lane, p.first_ns, p.last_ns, p.ended, p.clock, p.since_ns,"
       " p.until_ns, p.threads"
       " FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL;"},
      {19,
       "DROP VIEW communicator; DROP VIEW communicator_member; DROP VIEW communicator_neighbor;"
       "DROP TABLE comm; DROP TABLE comm_member; DROP TABLE comm_name; DROP TABLE comm_dimension;"
       "DROP TABLE comm_neighbor; DROP VIEW loss;"
       "ALTER TABLE process DROP COLUMN lost_definitions;"
       "CREATE VIEW loss AS SELECT 'host' AS part, NULL AS world, NULL AS rank, name AS host,"
       " NULL AS function, NULL AS calls, lost_reason AS reason, NULL AS wave FROM host"
       " WHERE lost_reason IS NOT NULL;"},
      {17,
       "DROP VIEW under_way; DROP VIEW rank; DROP TABLE call_under_way;"
       "ALTER TABLE process DROP COLUMN since_ns; ALTER TABLE process DROP COLUMN until_ns;"
       "ALTER TABLE process DROP COLUMN threads; ALTER TABLE process DROP COLUMN called_ns;"
       "CREATE VIEW rank AS SELECT p.world, p.rank, h.name AS host, p.pid, p.program,"
       " p.mpi_library, p.leaf, p.lane, p.first_ns, p.last_ns, p.ended, p.clock"
       " FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL;"},
      {16,
       "ALTER TABLE alert DROP COLUMN subject; ALTER TABLE alert DROP COLUMN leaf;"
       "ALTER TABLE alert DROP COLUMN at_least;"},
      {15,
       "DROP VIEW loss; DROP VIEW unwatched_rank; DROP VIEW unwatched_total;"
       "ALTER TABLE process DROP COLUMN unwatched;"
       "CREATE VIEW loss AS SELECT 'host' AS part, NULL AS world, NULL AS rank, name AS host,"
       " NULL AS function, NULL AS calls, lost_reason AS reason FROM host"
       " WHERE lost_reason IS NOT NULL;"},
      {14,
       "DROP VIEW account; ALTER TABLE process DROP COLUMN given_up_calls;"
       "CREATE VIEW account AS SELECT p.world, p.rank, p.captured, p.stored_calls AS stored,"
       " p.ring_lost + p.closed_calls AS lost, p.ended AS complete"
       " FROM process p WHERE p.world IS NOT NULL;"},
      {13, "DROP INDEX host_value_by_time;"},
      {12,
       "DROP VIEW stream_account; DROP VIEW stream_value; DROP TABLE stream;"
       "DROP TABLE stream_leaf; DROP TABLE stream_seen; DROP TABLE stream_part;"},
      {11, "DROP TABLE alert;"},
      {10, "DROP TABLE window_summary; DROP TABLE window_span; DROP TABLE summary_state;"},
      {9, "ALTER TABLE node DROP COLUMN reason;"},
      {8,
       "DROP VIEW loss; DROP VIEW service_account; DROP VIEW metric; DROP VIEW process_metric;"
       "DROP VIEW host_metric; DROP VIEW series_value; DROP TABLE series_row;"
       "DROP TABLE series_metric; DROP TABLE series_seen; DROP TABLE service;"
       "ALTER TABLE given_up DROP COLUMN service;"
       "ALTER TABLE host_value RENAME TO host_metric;"
       "CREATE VIEW loss AS SELECT 1 AS part;"},
  };
  std::string sql;
  for (const Step& step : kSteps) {
    if (step.version > version) sql += step.taken_back;
  }
  return sql + "PRAGMA user_version = " + std::to_string(version);
}

}  // namespace xylem::storage
