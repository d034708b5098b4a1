// A virtual table has two halves. xBestIndex tells the planner which comparisons the table can use,
// and writes a plan with two characters for each: a column and an operator. xFilter turns the plan
// into a query over the index of chunks by process and time. SQLite checks each row again. So an
// unnecessary chunk costs time, but the answer is right.

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "storage/read/event_functions_internal.h"
#include "storage/read/event_table_internal.h"
#include "storage/table_keys_internal.h"
#include "wire/chunk.h"

namespace xylem::storage {
namespace {

enum Column : int {
  kWorld,
  kRank,
  kThread,
  kBegin,
  kEnd,
  kKind,
  kFunction,
  kPeer,
  kBytes,
  kTag,
  kComm,
  kRequest,
  kResult,
  kCalls,
  kNumber,
  kStage,
  kSuccess,
  kPostedBytes,
  kReceivedBytes,
  kAnySource,
  kAnyTag,
  kOperation,
  kInPlace,
  kCpu,
  kCallSite,
};

constexpr const char* kDeclaration =
    "CREATE TABLE event(world INTEGER, rank INTEGER, thread INTEGER, begin_ns INTEGER,"
    " end_ns INTEGER, kind TEXT, function TEXT, peer INTEGER, bytes INTEGER, tag INTEGER,"
    " comm INTEGER, request INTEGER, result INTEGER, calls INTEGER, number INTEGER,"
    " stage TEXT, success INTEGER, posted_bytes INTEGER, received_bytes INTEGER,"
    " any_source INTEGER, any_tag INTEGER, operation TEXT, in_place INTEGER, cpu INTEGER,"
    " callsite INTEGER)";

struct Module {
  bool completions;
  EventTableCounters* counters;
};

struct Table : sqlite3_vtab {
  Table(sqlite3* database, const Module& which)
      : sqlite3_vtab{}, connection(database), module(which) {}
  Connection connection;
  Module module;
  EventFunctions functions;  // SQLite keeps pointers to their names.
};

class Cursor : public sqlite3_vtab_cursor {
 public:
  explicit Cursor(Table& table) : sqlite3_vtab_cursor{}, table_(table) {}

  int start(const char* plan, int count, sqlite3_value** values);
  int advance();
  bool at_end() const { return finished_; }
  void column(sqlite3_context* out, int column);
  sqlite3_int64 row_number() const { return row_; }

 private:
  int open_next_chunk();
  bool wanted(const wire::Event& event);
  int fail(const std::string& sentence);
  int fail_as_connection();

  Table& table_;
  Statement chunks_;
  wire::ChunkDecoder decoder_;
  std::span<const wire::Event> events_;
  std::size_t at_ = 0;
  std::optional<std::int64_t> world_, rank_;
  LeafId leaf_{};
  std::optional<std::string> function_;
  bool finished_ = true;
  sqlite3_int64 row_ = 0;
};

/// Returns the SQL for one step of a plan; nullptr if chunks cannot be selected by it. An event is
/// within the time of its chunk, and begins before it ends.
const char* chunk_condition(char column, char operation) {
  const bool equal = operation == '=';
  const bool least = operation == '>';
  switch (column) {
    case 'w':
      return equal ? " AND p.world = ?" : least ? " AND p.world >= ?" : " AND p.world <= ?";
    case 'r':
      return equal ? " AND p.rank = ?" : least ? " AND p.rank >= ?" : " AND p.rank <= ?";
    case 't':  // begin_ns or end_ns
      return equal   ? " AND c.begin_ns <= ? AND c.end_ns >= ?"
             : least ? " AND c.end_ns >= ?"
                     : " AND c.begin_ns <= ?";
    default:
      return nullptr;
  }
}

char plan_column(int column) {
  switch (column) {
    case kWorld:
      return 'w';
    case kRank:
      return 'r';
    case kBegin:
    case kEnd:
      return 't';
    case kFunction:
      return 'f';
    default:
      return 0;
  }
}

char plan_operation(int operation) {
  switch (operation) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return '=';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
      return '>';
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
      return '<';
    default:
      return 0;
  }
}

int Cursor::start(const char* plan, int count, sqlite3_value** values) {
  std::string sql =
      "SELECT c.id, p.world, p.rank, p.leaf, c.chunk FROM process p CROSS JOIN event_chunk c"
      " WHERE c.process = p.id";
  std::vector<sqlite3_value*> bound;
  function_.reset();
  for (int i = 0; i < count; ++i) {
    const char column = *plan++;
    const char operation = *plan++;
    if (column == 'f') {
      const auto* name = reinterpret_cast<const char*>(sqlite3_value_text(values[i]));
      if (name != nullptr) function_ = name;
      continue;
    }
    sql += chunk_condition(column, operation);
    bound.push_back(values[i]);
    if (column == 't' && operation == '=') bound.push_back(values[i]);
  }
  // This is the order of the index. So nothing is sorted, and chunks are fetched one by one.
  sql += " ORDER BY p.id, c.begin_ns";
  chunks_ = Statement();
  table_.functions.refresh(table_.connection);
  chunks_ = Statement(table_.connection, sql);
  if (!table_.connection.ok()) return fail_as_connection();
  for (std::size_t i = 0; i < bound.size(); ++i) {
    sqlite3_bind_value(chunks_.handle(), static_cast<int>(i + 1), bound[i]);
  }
  events_ = {};
  at_ = 0;
  row_ = -1;
  finished_ = false;
  return advance();
}

int Cursor::advance() {
  ++row_;
  if (!events_.empty()) ++at_;
  while (true) {
    for (; at_ < events_.size(); ++at_) {
      if (wanted(events_[at_])) return SQLITE_OK;
    }
    const int code = open_next_chunk();
    if (code != SQLITE_OK || finished_) return code;
  }
}

bool Cursor::wanted(const wire::Event& event) {
  if (event.kind == wire::kKindRegion) return false;  // The table `region` has them.
  const bool is_part = event.kind == wire::kKindCompletion;
  const bool completes = (event.flags & wire::kEventCompletes) != 0;
  if (table_.module.completions ? !is_part && !completes : is_part) return false;
  return !function_ || table_.functions.name(leaf_, event.function) == *function_;
}

int Cursor::open_next_chunk() {
  events_ = {};
  at_ = 0;
  if (!chunks_.next()) {
    finished_ = true;
    return table_.connection.ok() ? SQLITE_OK : fail_as_connection();
  }
  const auto optional = [this](int column) {
    return chunks_.is_null(column) ? std::nullopt : std::optional(chunks_.integer(column));
  };
  world_ = optional(1);
  rank_ = optional(2);
  leaf_ = LeafId{static_cast<std::uint32_t>(chunks_.integer(3))};
  const auto decoded = decoder_.decode(chunks_.blob(4));
  if (table_.module.counters != nullptr) ++table_.module.counters->chunks_decoded;
  if (!decoded) {
    return fail(damaged_chunk(chunks_.integer(0), world_, rank_, decoded.error()).message);
  }
  events_ = *decoded;
  return SQLITE_OK;
}

int Cursor::fail(const std::string& sentence) {
  finished_ = true;
  sqlite3_free(table_.zErrMsg);
  table_.zErrMsg = sqlite3_mprintf("%s", sentence.c_str());
  return SQLITE_ERROR;
}

int Cursor::fail_as_connection() {
  const auto why = table_.connection.take();
  return fail(why ? "the events cannot be read" : why.error().message);
}

void result_optional(sqlite3_context* out, std::optional<std::int64_t> value) {
  if (value) sqlite3_result_int64(out, *value);
}

void Cursor::column(sqlite3_context* out, int column) {
  const wire::Event& event = events_[at_];
  switch (column) {
    case kWorld:
      return result_optional(out, world_);
    case kRank:
      return result_optional(out, rank_);
    case kThread:
      return sqlite3_result_int64(out, raw(event.thread));
    case kBegin:
      return sqlite3_result_int64(out, event.begin_ns);
    case kEnd:
      return sqlite3_result_int64(out, event.end_ns);
    case kKind:
      return sqlite3_result_text(out, wire::event_kind_name(event), -1, SQLITE_STATIC);
    case kFunction: {
      const std::string& name = table_.functions.name(leaf_, event.function);
      return sqlite3_result_text(out, name.data(), static_cast<int>(name.size()), SQLITE_STATIC);
    }
    case kPeer:
      if (event.peer != wire::kNoPeer) sqlite3_result_int(out, event.peer);
      return;
    case kBytes:
      return sqlite3_result_int64(out, to_sqlite(event.bytes));
    case kTag:
      if (event.tag != wire::kNoTag) sqlite3_result_int(out, event.tag);
      return;
    case kComm:
      if (event.comm != wire::kNoComm) sqlite3_result_int64(out, raw(event.comm));
      return;
    case kRequest:  // An identity: all its bits matter, so it is not cut.
      if (event.request != 0) sqlite3_result_int64(out, static_cast<sqlite3_int64>(event.request));
      return;
    case kResult:
      return sqlite3_result_int(out, event.result);
    case kCalls:
      return sqlite3_result_int64(out, event.calls);
    case kNumber:
      if ((event.flags & wire::kEventNumbered) != 0) sqlite3_result_int64(out, event.number);
      return;
    case kStage:
      if (const char* stage = wire::stage_name(event))
        sqlite3_result_text(out, stage, -1, SQLITE_STATIC);
      return;
    case kSuccess:
      if (const auto success = wire::success_of(event)) sqlite3_result_int(out, *success ? 1 : 0);
      return;
    case kPostedBytes:
      if (const auto posted = wire::posted_bytes_of(event))
        sqlite3_result_int64(out, to_sqlite(*posted));
      return;
    case kReceivedBytes:
      if (const auto received = wire::received_bytes_of(event))
        sqlite3_result_int64(out, to_sqlite(*received));
      return;
    case kAnySource:
      return sqlite3_result_int(out, (event.flags & wire::kEventAnySource) != 0 ? 1 : 0);
    case kAnyTag:
      return sqlite3_result_int(out, (event.flags & wire::kEventAnyTag) != 0 ? 1 : 0);
    case kOperation:
      if (const char* name = wire::operation_name(event))
        sqlite3_result_text(out, name, -1, SQLITE_STATIC);
      return;
    case kInPlace:
      return sqlite3_result_int(out, (event.flags & wire::kEventInPlace) != 0 ? 1 : 0);
    case kCpu:
      if (event.cpu != wire::kNoCpu) sqlite3_result_int(out, event.cpu);
      return;
    case kCallSite:
      return result_optional(out, table_.functions.call_site(event.site));
    default:
      return;
  }
}

// From here on: SQLite's C interface. Nothing may be thrown through it.

template <typename Call>
int guarded(Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception&) {
    return SQLITE_INTERNAL;
  }
}

Cursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor); }

int connect(sqlite3* database, void* module, int, const char* const*, sqlite3_vtab** table,
            char**) {
  return guarded([&] {
    const int declared = sqlite3_declare_vtab(database, kDeclaration);
    if (declared != SQLITE_OK) return declared;
    // The table reads only the file itself, so views of an untrusted file may use it.
    sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    *table = std::make_unique<Table>(database, *static_cast<Module*>(module)).release();
    return SQLITE_OK;
  });
}

int disconnect(sqlite3_vtab* table) {
  const std::unique_ptr<Table> owned(static_cast<Table*>(table));
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info* index) {
  std::array<char, 64> plan{};
  std::size_t used = 0;
  double cost = 1e8;
  for (int i = 0; i < index->nConstraint; ++i) {
    const auto& constraint = index->aConstraint[i];
    const char column = plan_column(constraint.iColumn);
    const char operation = plan_operation(constraint.op);
    if (column == 0 || operation == 0 || (column == 'f' && operation != '=')) continue;
    // Only the usual comparison of text is used here. SQLite does the other collations itself.
    if (column == 'f' && std::strcmp(sqlite3_vtab_collation(index, i), "BINARY") != 0) continue;
    if (!constraint.usable || 2 * used + 2 >= plan.size()) continue;
    plan[2 * used] = column;
    plan[2 * used + 1] = operation;
    index->aConstraintUsage[i].argvIndex = static_cast<int>(++used);
    cost /= operation == '=' ? 50 : 4;
  }
  index->estimatedCost = cost;
  index->estimatedRows = static_cast<sqlite3_int64>(cost);
  index->idxStr = sqlite3_mprintf("%s", plan.data());
  index->needToFreeIdxStr = 1;
  return index->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
  return guarded([&] {
    *cursor = std::make_unique<Cursor>(*static_cast<Table*>(table)).release();
    return SQLITE_OK;
  });
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owned(static_cast<Cursor*>(cursor));
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int count, sqlite3_value** values) {
  return guarded([&] { return cursor_of(cursor).start(plan, count, values); });
}

int next_row(sqlite3_vtab_cursor* cursor) {
  return guarded([&] { return cursor_of(cursor).advance(); });
}

int at_end(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).at_end() ? 1 : 0; }

int read_column(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int column) {
  return guarded([&] {
    cursor_of(cursor).column(out, column);
    return SQLITE_OK;
  });
}

int row_number(sqlite3_vtab_cursor* cursor, sqlite3_int64* number) {
  *number = cursor_of(cursor).row_number();
  return SQLITE_OK;
}

/// There is no xCreate: the table exists without CREATE, and CREATE is refused.
constexpr sqlite3_module kEventModule = [] {
  sqlite3_module module{};
  module.iVersion = 2;
  module.xConnect = connect;
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = filter;
  module.xNext = next_row;
  module.xEof = at_end;
  module.xColumn = read_column;
  module.xRowid = row_number;
  return module;
}();

void drop_module(void* module) {
  const std::unique_ptr<Module> owned(static_cast<Module*>(module));
}

}  // namespace

int register_event_tables(sqlite3* database, EventTableCounters* counters) {
  const auto add = [&](const char* name, bool completions) {
    auto module = std::make_unique<Module>(Module{completions, counters});
    return sqlite3_create_module_v2(database, name, &kEventModule, module.release(), drop_module);
  };
  const int code = add("event", false);
  return code == SQLITE_OK ? add("completion", true) : code;
}

}  // namespace xylem::storage
