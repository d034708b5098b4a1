#include <exception>
#include <new>
#include <string>
#include <utility>

#include "storage/read/row_table_internal.h"

namespace xylem::storage {
namespace {

struct Declared {
  const char* declaration;
  std::unique_ptr<RowTable> rows;
};

struct Connected : sqlite3_vtab {
  Connected(sqlite3* database, Declared& of) : sqlite3_vtab{}, connection(database), declared(of) {}
  Connection connection;
  Declared& declared;
};

struct Reading : sqlite3_vtab_cursor {
  explicit Reading(Connected& of) : sqlite3_vtab_cursor{}, table(of) {}
  Connected& table;
  std::unique_ptr<RowSource> rows;
  bool has_row = false;
  sqlite3_int64 number = 0;

  int advance() {
    has_row = rows->next();
    ++number;
    auto read = table.connection.take();
    if (read) return SQLITE_OK;
    has_row = false;
    sqlite3_free(table.zErrMsg);
    table.zErrMsg = sqlite3_mprintf("%s", read.error().message.c_str());
    return SQLITE_ERROR;
  }
};

// From here on: SQLite's C interface. Nothing may be thrown through it.

template <typename Call>
int without_throwing(Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception&) {
    return SQLITE_INTERNAL;
  }
}

Reading& reading(sqlite3_vtab_cursor* cursor) { return *static_cast<Reading*>(cursor); }

int connect_rows(sqlite3* database, void* declared, int, const char* const*, sqlite3_vtab** table,
                 char**) {
  return without_throwing([&] {
    auto& of = *static_cast<Declared*>(declared);
    if (const int code = sqlite3_declare_vtab(database, of.declaration); code != SQLITE_OK)
      return code;
    // The table reads only the file itself, so views of an untrusted file may use it.
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    *table = std::make_unique<Connected>(database, of).release();
    return SQLITE_OK;
  });
}

int disconnect_rows(sqlite3_vtab* table) {
  const std::unique_ptr<Connected> owned(static_cast<Connected*>(table));
  return SQLITE_OK;
}

int plan_rows(sqlite3_vtab*, sqlite3_index_info* index) {
  index->estimatedCost = 1e9;
  return SQLITE_OK;
}

int open_rows(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  return without_throwing([&] {
    *cursor = std::make_unique<Reading>(*static_cast<Connected*>(table)).release();
    return SQLITE_OK;
  });
}

int close_rows(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Reading> owned(static_cast<Reading*>(cursor));
  return SQLITE_OK;
}

int start_rows(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  return without_throwing([&] {
    Reading& of = reading(cursor);
    of.rows.reset();
    of.rows = of.table.declared.rows->open(of.table.connection);
    of.number = -1;
    return of.advance();
  });
}

int next_of_rows(sqlite3_vtab_cursor* cursor) {
  return without_throwing([&] { return reading(cursor).advance(); });
}

int are_rows_over(sqlite3_vtab_cursor* cursor) { return reading(cursor).has_row ? 0 : 1; }

int column_of_rows(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int column) {
  return without_throwing([&] {
    reading(cursor).rows->column(out, column);
    return SQLITE_OK;
  });
}

int number_of_row(sqlite3_vtab_cursor* cursor, sqlite3_int64* number) {
  *number = reading(cursor).number;
  return SQLITE_OK;
}

// As for the table `event`, there is no xCreate: the table exists without CREATE, and CREATE is
// refused.
constexpr sqlite3_module kRowModule = [] {
  sqlite3_module module{};
  module.iVersion = 2;
  module.xConnect = connect_rows;
  module.xBestIndex = plan_rows;
  module.xDisconnect = disconnect_rows;
  module.xOpen = open_rows;
  module.xClose = close_rows;
  module.xFilter = start_rows;
  module.xNext = next_of_rows;
  module.xEof = are_rows_over;
  module.xColumn = column_of_rows;
  module.xRowid = number_of_row;
  return module;
}();

void drop_declared(void* declared) {
  const std::unique_ptr<Declared> owned(static_cast<Declared*>(declared));
}

}  // namespace

int register_row_table(sqlite3* database, const char* name, const char* declaration,
                       std::unique_ptr<RowTable> table) {
  auto declared = std::make_unique<Declared>(Declared{declaration, std::move(table)});
  return sqlite3_create_module_v2(database, name, &kRowModule, declared.release(), drop_declared);
}

}  // namespace xylem::storage
