// The tables of events, messages and waits for any SQLite client:
//
//   sqlite3 run.db
//   sqlite> .load PREFIX/lib/xylem/libxylem-sqlite
//   sqlite> SELECT function, count(*) FROM event GROUP BY function;

#include <sqlite3ext.h>

#include <memory>

#include "storage/read/run_tables_internal.h"

// Defines the global `sqlite3_api`: SQLite's functions in the program that loads us. SQLite's
// interface for extensions requires it. It is written once, when the extension is loaded.
SQLITE_EXTENSION_INIT1

extern "C" __attribute__((visibility("default"))) int sqlite3_xylemsqlite_init(
    sqlite3* database, char** /*error*/, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api)
  return xylem::storage::register_run_tables(database, nullptr,
                                             std::make_shared<xylem::storage::KeptWaitStates>());
}
