// The tables of events, messages and waits for any SQLite client:
//
//   sqlite3 run.db
//   sqlite> .load PREFIX/lib/xylem/libxylem-sqlite
//   sqlite> SELECT function, count(*) FROM event GROUP BY function;

#include <sqlite3ext.h>

#include "storage/read/call_site_table_internal.h"
#include "storage/read/event_table_internal.h"
#include "storage/read/matching_tables_internal.h"
#include "storage/read/wait_tables_internal.h"

// Defines the global `sqlite3_api`: SQLite's functions in the program that loads us. SQLite's
// interface for extensions requires it. It is written once, when the extension is loaded.
SQLITE_EXTENSION_INIT1

extern "C" __attribute__((visibility("default"))) int sqlite3_xylemsqlite_init(
    sqlite3* database, char** /*error*/, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  int code = xylem::storage::register_event_tables(database, nullptr);
  if (code == SQLITE_OK) code = xylem::storage::register_wait_tables(database);
  if (code == SQLITE_OK) code = xylem::storage::register_matching_tables(database);
  return code == SQLITE_OK ? xylem::storage::register_call_site_table(database) : code;
}
