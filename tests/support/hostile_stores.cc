// Most changes are SQL, with two functions that draw from the seed: hostile(x) gives another value
// for x, and pick() says of a row whether it is changed. The rest happens to the file's bytes.

#include "tests/support/hostile_stores.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <utility>

#include "base/check.h"
#include "storage/write/store.h"
#include "tests/support/large_run.h"
#include "tests/unit/storage/packets.h"

namespace xylem::testing {
namespace {

using Random = std::mt19937_64;
using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

Database open_raw(const std::string& path) {
  sqlite3* handle = nullptr;
  CHECK(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  return {handle, sqlite3_close};
}

std::vector<std::string> column_of(sqlite3* database, const std::string& sql) {
  std::vector<std::string> found;
  sqlite3_stmt* raw_statement = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &raw_statement, nullptr) != SQLITE_OK)
    return {};
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw_statement,
                                                                        sqlite3_finalize);
  while (sqlite3_step(raw_statement) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw_statement, 0));
    found.emplace_back(text == nullptr ? "" : text);
  }
  return found;
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- The originals ----

void put_overlay(storage::Store& store, std::uint32_t leaf) {
  storage::NodeRow node;
  node.id = NodeId{leaf};
  node.role = leaf == 0 ? wire::Role::kFrontEnd : wire::Role::kBackEnd;
  node.host = "node" + std::to_string(leaf);
  node.leaf = LeafId{leaf};
  node.state = "attached";
  CHECK(store.put_node(node));
  CHECK(store.put_clock({LeafId{leaf}, 5, 6, 7}));
  for (int second = 1; second <= 3; ++second) {
    wire::LinkReport report;
    report.node = NodeId{leaf};
    report.round_trip_ns = 1000;
    report.sent_bytes = static_cast<std::uint64_t>(1000 * second);
    CHECK(store.put_link(report, second * kSecond));
  }
  CHECK(store.put_host_facts({LeafId{leaf}, {{"idle", 0.5}, {"cores", 8}, {"processes", 2}}},
                             kSecond));
  wire::Notice notice;
  notice.host = "node1";
  notice.text = "a warning";
  CHECK(store.put_notice(notice, 3));
}

/// Events that no MPI makes: any times, numbers, peers and threads.
std::vector<wire::Event> impossible_events(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_of = [&random](auto... values) {
    const std::array<std::int64_t, sizeof...(values)> all{static_cast<std::int64_t>(values)...};
    return all[random() % all.size()];
  };
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<wire::Event> events;
  for (int i = 0; i < 400; ++i) {
    wire::Event event;
    event.begin_ns = one_of(kMin, -1, 0, 5, 1000, 2000, kMax);
    event.end_ns = one_of(kMin, 0, 7, 1500, 2500, kMax - 1, kMax);
    event.request = static_cast<std::uint64_t>(one_of(0, 1, 2, -1));
    event.comm = CommId{static_cast<std::uint32_t>(one_of(0, 1, 2, -1))};
    event.peer = static_cast<std::int32_t>(one_of(-7, 0, 1, 2, 3, 0x7fffffff));
    event.tag = static_cast<std::int32_t>(one_of(0, 1, -5));
    event.number = static_cast<std::uint32_t>(one_of(0, 1, 2, 3, -2, -1));
    event.thread = ThreadIndex{static_cast<std::uint32_t>(one_of(0, 1, 70, -1))};
    event.calls = static_cast<std::uint32_t>(one_of(0, 1, -1));
    event.function = FunctionId{static_cast<std::uint16_t>(one_of(0, 1, 2, 3, 4, 9, -1))};
    event.kind = static_cast<std::uint8_t>(one_of(0, 0, 1, 9));
    event.flags = static_cast<std::uint8_t>(random() % 16);
    events.push_back(event);
  }
  return events;
}

void write_traced_run(const std::string& path) {
  auto store = storage::make_sqlite_store({path});
  CHECK(store);
  storage::RunFacts facts;
  facts.run_id = "20240607-1f2e";
  facts.command = {"mpirun", "app"};
  facts.host = "node0";
  facts.chunks = true;
  facts.window_ns = 250 * kMillisecond;
  CHECK((*store)->begin_run(facts));
  for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
    const auto put = [&](const wire::Packet& packet) { CHECK((*store)->put(packet)); };
    put(storage::registration_packet(
        leaf, {storage::process_row(1, 2 * leaf), storage::process_row(2, 2 * leaf + 1)}));
    wire::Registration more;
    more.functions = {{FunctionId{2}, "MPI_Waitall", 3},
                      {FunctionId{3}, "MPI_Barrier", 2},
                      {FunctionId{4}, "MPI_Bcast", 2}};
    put(wire::Packet({wire::kRegistrationStream, kLeafLane, 1, 2, IntervalSet::of(leaf)},
                     wire::encode(more)));
    put(storage::chunk_packet(leaf, 1, 0, 40));
    put(storage::window_packet(3, leaf, 40, storage::account_row(leaf, 1, 41, true, 1)));
    put(storage::tombstone_of(storage::chunk_packet(leaf, 2, 0, 10), 10));
    put(storage::chunk_packet(leaf, 2, 10, impossible_events(leaf)));
    put(storage::window_packet(4, leaf, 10, storage::account_row(leaf, 2, 10)));
    put_overlay(**store, leaf);
  }
  CHECK((*store)->put_host_lost(LeafId{1}, "it went away"));
  CHECK((*store)->commit());
}

void write_windowed_run(const std::string& path) {
  LargeRun run;
  run.ranks = 8;
  run.seconds = 10;
  run.ranks_a_host = 4;
  run.values = 5;
  run.neighbours = run.strangers = 2;
  write_large_run(run, path);
}

// What the writers above leave empty.
constexpr const char* kAlertsAndStreams = R"sql(
INSERT INTO alert VALUES
  (101, 1000000000, NULL, 'stalled', 0, 1, 'rank 1 is in MPI_Recv', 5, 3, 'world', NULL, 0),
  (102, 2000000000, 3000000000, 'loss', 0, NULL, 'host node1 is lost', 7, 1, 'lost_host', 1, 1),
  (103, 2000000000, NULL, 'of a newer version', 0, 1, '', 1, 1, 'of another', 1, 0),
  (104, 2000000000, NULL, 'loss', 0, NULL, '', 1, 1, NULL, NULL, 0);
INSERT INTO stream VALUES (1, 'temperature', 'sum', 'wait');
INSERT INTO stream_leaf VALUES (1, 1, 0, 5, 3, 1, 1, 1, 'gone'), (2, 1, 1, 5, 5, 0, 0, 0, NULL);
INSERT INTO stream_seen VALUES (1, 0, 4), (2, 0, 5);
INSERT INTO stream_part VALUES (1, 1, 0, 1000, '0-1', 2, x'0102', '[1,2]'),
                               (2, 1, 1, 2000, '0-1', 2, x'0102', '[1,"x"]');
INSERT INTO ring_loss SELECT id, 0, 5 FROM process;
PRAGMA journal_mode = DELETE;
)sql";

// ---- Values ----

/// Numbers at which arithmetic ends.
std::int64_t hostile_integer(Random& random) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::array kEdges = {Limits::min(),
                                 Limits::max(),
                                 Limits::min() + 1,
                                 Limits::max() - 1,
                                 Limits::max() / 2,
                                 Limits::min() / 2,
                                 std::int64_t{0},
                                 std::int64_t{-1},
                                 std::int64_t{1},
                                 std::int64_t{0x7fffffff},
                                 std::int64_t{0x80000000},
                                 std::int64_t{0xffffffff},
                                 std::int64_t{0x100000000},
                                 std::int64_t{-0x80000000ll}};
  if (random() % 4 != 0) return kEdges[random() % kEdges.size()];
  return static_cast<std::int64_t>(random() >> random() % 64);
}

double hostile_real(Random& random) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr std::array kEdges = {kInfinite, -kInfinite, 1e308, -1e308, 0x1p63, -0x1p63, 0x1p64,
                                 5e-324,    -0.0,       0.5,   1e-300, 1.5e19, -1.0};
  return kEdges[random() % kEdges.size()];
}

// NOLINTBEGIN(misc-misleading-bidirectional): one text has such a mark on purpose.
std::string hostile_text(Random& random) {
  constexpr std::array kTexts = {"",
                                 "\x1b[2J\x1b]0;owned\x07",
                                 "\xc2\x9b"
                                 "31m\xc2\x85",
                                 "\xff\xfe\xc0\x80\xed\xa0\x80",
                                 "\xe2\x80\xae"
                                 "gnp.exe\xe2\x80\x8b",
                                 "<script>alert(1)</script>\"'&",
                                 "9223372036854775808",
                                 "-1e999",
                                 "[",
                                 "[1e999,-1e999,null,\"x\"]",
                                 "[[[[[[[[",
                                 "a\nb\r\nc\td",
                                 "../../../etc/passwd",
                                 "%s%n{}{0:*>9999999999}",
                                 "0-4294967295",
                                 "host",
                                 "trace",
                                 "lost",
                                 "attached"};
  switch (random() % 12) {
    case 0:
      return std::string(1 << (random() % 20), "x\x1b\n\xff"[random() % 4]);
    case 1: {
      std::string bytes(random() % 64, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    }
    default:
      return kTexts[random() % kTexts.size()];
  }
}
// NOLINTEND(misc-misleading-bidirectional)

std::string injured_bytes(std::string bytes, Random& random) {
  for (auto left = 1 + random() % 4; left > 0 && !bytes.empty(); --left) {
    bytes[random() % bytes.size()] = static_cast<char>(random());
  }
  if (random() % 8 == 0) bytes.resize(random() % (bytes.size() + 1));
  if (random() % 8 == 0) bytes += bytes;
  return bytes;
}

void give_text(sqlite3_context* out, const std::string& text) {
  sqlite3_result_text(out, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
void give_blob(sqlite3_context* out, const std::string& bytes) {
  sqlite3_result_blob(out, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}

/// A value somewhat like the old one: a number nearby or its opposite, or bytes of which some
/// differ.
void give_changed(sqlite3_context* out, sqlite3_value* old, Random& random) {
  const int type = sqlite3_value_type(old);
  if (type == SQLITE_INTEGER) {
    const auto was = static_cast<std::uint64_t>(sqlite3_value_int64(old));
    const std::array changed = {was + 1, 0 - was, was << 32, ~std::uint64_t{0} / 2 - was, was * 3};
    return sqlite3_result_int64(out,
                                static_cast<sqlite3_int64>(changed[random() % changed.size()]));
  }
  if (type == SQLITE_FLOAT) return sqlite3_result_double(out, -1e30 * sqlite3_value_double(old));
  const auto* blob = static_cast<const char*>(sqlite3_value_blob(old));
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(old));
  const std::string changed =
      injured_bytes(blob == nullptr ? std::string() : std::string(blob, size), random);
  return type == SQLITE_TEXT ? give_text(out, changed) : give_blob(out, changed);
}

void hostile(sqlite3_context* out, int, sqlite3_value** values) {
  Random& random = *static_cast<Random*>(sqlite3_user_data(out));
  switch (random() % 16) {
    case 0:
      return sqlite3_result_null(out);
    case 1:
    case 2:
      return give_text(out, hostile_text(random));
    case 3:
      return give_blob(out, hostile_text(random));
    case 4:
    case 5:
      return sqlite3_result_double(out, hostile_real(random));
    case 6:
    case 7:
    case 8:
      return give_changed(out, values[0], random);
    default:
      return sqlite3_result_int64(out, hostile_integer(random));
  }
}

void pick(sqlite3_context* out, int, sqlite3_value** values) {
  Random& random = *static_cast<Random*>(sqlite3_user_data(out));
  const auto one_in = static_cast<std::uint64_t>(std::max(1, sqlite3_value_int(values[0])));
  sqlite3_result_int(out, random() % one_in == 0 ? 1 : 0);
}

// ---- Changes ----

/// One store in the making.
class Injurer {
 public:
  Injurer(const std::string& path, Random& random) : random_(random), database_(open_raw(path)) {
    sqlite3* const db = database_.get();
    sqlite3_create_function(db, "hostile", 1, SQLITE_UTF8, &random_, hostile, nullptr, nullptr);
    sqlite3_create_function(db, "pick", 1, SQLITE_UTF8, &random_, pick, nullptr, nullptr);
    try_sql("PRAGMA synchronous = OFF; PRAGMA legacy_alter_table = ON");
    try_sql("PRAGMA journal_mode = MEMORY; PRAGMA recursive_triggers = OFF; BEGIN");
    tables_ = column_of(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    views_ = column_of(db, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name");
    indexes_ = column_of(db,
                         "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
                         " ORDER BY name");
  }

  void injure() {
    for (auto left = 1 + random_() % 6; left > 0; --left) injure_once();
  }

  std::string finish() {
    try_sql("COMMIT");
    return std::move(told_);
  }

 private:
  void injure_once() {
    switch (random_() % 24) {
      case 0:
        return change("DELETE FROM " + table() + where());
      case 1:
        return duplicate(table());
      case 2:
        return unconstrain(table(), "");
      case 3: {
        const std::string of = table();
        return unconstrain(of, column(of));
      }
      case 4:
        return drop();
      case 5:
        return replace_view();
      case 6:
        return change_version();
      case 7:
      case 8:
        return change_tree();
      case 9:
        return change_many();
      case 10:
      case 11:
        return change_run();
      case 12:
      case 13:
        return change_row();
      default: {
        const std::string of = table();
        const std::string cell = column(of);
        return change("UPDATE OR IGNORE " + of + " SET " + cell + " = hostile(" + cell + ")" +
                      where());
      }
    }
  }

  std::string any(const std::vector<std::string>& names) {
    return names.empty() ? "nothing" : '"' + names[random_() % names.size()] + '"';
  }
  std::string table() { return any(tables_); }
  std::vector<std::string> columns(const std::string& of) {
    return column_of(database_.get(), "SELECT name FROM pragma_table_info(" + of + ")");
  }
  std::string column(const std::string& of) { return any(columns(of)); }
  std::string where() {
    constexpr std::array<const char*, 4> kWhich = {"", " WHERE pick(2)", " WHERE pick(10)",
                                                   " WHERE pick(100)"};
    return kWhich[random_() % kWhich.size()];
  }

  void try_sql(const std::string& sql) {
    sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  }
  void change(const std::string& sql) {
    told_ += "  " + sql.substr(0, 300) + '\n';
    try_sql(sql);
  }

  void change_row() {
    const std::string of = table();
    std::string sets;
    for (const std::string& name : columns(of)) {
      sets += (sets.empty() ? "\"" : ", \"") + name + "\" = hostile(\"" + name + "\")";
    }
    change("UPDATE OR IGNORE " + of + " SET " + sets + where());
  }

  void duplicate(const std::string& of) {
    std::string values;
    for (const std::string& name : columns(of)) {
      const std::string cell = '"' + name + '"';
      values += (values.empty() ? "" : ", ");
      values += random_() % 2 == 0 ? cell : "hostile(" + cell + ")";
    }
    change("INSERT OR IGNORE INTO " + of + " SELECT " + values + " FROM " + of + where());
  }

  /// Makes a table anew without its constraints, its indexes and a column; then any row may be
  /// there twice, and any value anywhere.
  void unconstrain(const std::string& of, const std::string& without) {
    std::string kept;
    for (const std::string& name : columns(of)) {
      const std::string cell = '"' + name + '"';
      if (cell != without) kept += (kept.empty() ? "" : ", ") + cell;
    }
    change("CREATE TABLE anew AS SELECT " + kept + " FROM " + of + "; DROP TABLE " + of +
           "; ALTER TABLE anew RENAME TO " + of);
    if (random_() % 2 == 0) duplicate(of);
    change_row();
  }

  void drop() {
    switch (random_() % 3) {
      case 0:
        return change("DROP TABLE " + table());
      case 1:
        return change("DROP VIEW " + any(views_));
      default:
        return change("DROP INDEX " + any(indexes_));
    }
  }

  void replace_view() {
    const std::string of = any(views_);
    std::string values;
    for (const std::string& name : columns(of)) {
      const std::string literal = random_() % 3 == 0   ? "x'1b5b324a'"
                                  : random_() % 2 == 0 ? std::to_string(hostile_integer(random_))
                                                       : "9e999";
      values += (values.empty() ? "" : ", ") + literal + " AS \"" + name + '"';
    }
    change("DROP VIEW " + of + "; CREATE VIEW " + of + " AS SELECT " + values);
  }

  void change_version() {
    constexpr std::array<int, 8> kVersions = {0, 1, 5, 7, 8, 12, -1, 2147483647};
    change("PRAGMA user_version = " + std::to_string(kVersions[random_() % kVersions.size()]));
  }

  void change_tree() {
    constexpr std::array<const char*, 8> kChanges = {
        "UPDATE node SET parent = id; UPDATE node_change SET parent = node",
        "UPDATE node SET parent = (id + 1) % (SELECT count(*) FROM node)",
        "UPDATE node SET parent = NULL; UPDATE node_change SET parent = NULL",
        "UPDATE node SET parent = 4294967295",
        "UPDATE node SET role = 'program' WHERE pick(2); UPDATE node SET state = 'lost'",
        "WITH RECURSIVE n(i) AS (VALUES(100) UNION ALL SELECT i + 1 FROM n WHERE i < 2100)"
        " INSERT INTO node(id, role, host, parent, level, state)"
        " SELECT i, 'comm_process', 'node' || i, iif(i = 100, 0, i - 1), i, 'attached' FROM n",
        "UPDATE node SET id = id - 4294967296 WHERE pick(2)",
        "UPDATE node SET host = NULL, role = 'comm_process'"};
    change(kChanges[random_() % kChanges.size()]);
  }

  void change_many() {
    constexpr std::array<const char*, 8> kChanges = {
        "UPDATE process SET rank = 4294967295 WHERE pick(2); UPDATE world SET size = 4294967296",
        "UPDATE process SET rank = 0, world = 0",
        "UPDATE process SET rank = rank * 1000000",
        "UPDATE world SET size = 9223372036854775807",
        "UPDATE profile_row SET begin_ns = end_ns, end_ns = begin_ns - 1",
        "UPDATE profile_row SET begin_ns = 0, end_ns = 9223372036854775807",
        "UPDATE profile_row SET begin_ns = -9223372036854775807 - 1",
        "UPDATE matrix_sum SET destination = 4294967295; UPDATE wait_sum SET peer = -1"};
    // A million rows take seconds to write: few stores have them.
    if (random_() % 64 != 0) return change(kChanges[random_() % kChanges.size()]);
    change(
        "WITH RECURSIVE n(i) AS (VALUES(10) UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)"
        " INSERT INTO world SELECT i, CAST(i AS BLOB), 4, 'MPI', 'app' FROM n");
  }

  void change_run() {
    constexpr std::array<const char*, 4> kColumns = {"window_ns", "started_ns", "ended_ns",
                                                     "exit_code"};
    const std::string cell = kColumns[random_() % kColumns.size()];
    change("UPDATE run SET " + cell + " = " + std::to_string(hostile_integer(random_)));
  }

  Random& random_;
  Database database_;
  std::vector<std::string> tables_, views_, indexes_;
  std::string told_;
};

/// Changes to the file itself, as of a disk that errs or a hand that knows the format.
std::string injured_file(std::string bytes, Random& random, std::string& told) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = bytes.size() / kPage;
  if (pages < 2) return bytes;
  switch (random() % 5) {
    case 0:
      told += "  truncated\n";
      bytes.resize(random() % bytes.size());
      return bytes;
    case 1: {
      told += "  a page of zeros\n";
      const std::size_t at = random() % pages * kPage;
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), kPage, '\0');
      return bytes;
    }
    case 2: {
      told += "  two pages exchanged\n";
      const auto at = [&] {
        return bytes.begin() + static_cast<std::ptrdiff_t>((1 + random() % (pages - 1)) * kPage);
      };
      const auto one = at(), other = at();
      if (one != other) std::swap_ranges(one, one + kPage, other);
      return bytes;
    }
    default: {
      told += "  bytes changed\n";
      for (auto left = 1 + random() % 64; left > 0; --left) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      return bytes;
    }
  }
}

void write_bytes(const std::string& path, const std::string& bytes) {
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    std::filesystem::remove(path + suffix);
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

HostileStores::HostileStores(const std::string& folder) {
  for (const auto write : {write_traced_run, write_windowed_run}) {
    const std::string path = folder + "/original.db";
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
      std::filesystem::remove(path + suffix);
    }
    write(path);
    {
      const Database database = open_raw(path);
      char* fault = nullptr;
      sqlite3_exec(database.get(), kAlertsAndStreams, nullptr, nullptr, &fault);
      CHECK(fault == nullptr);
      names_ = column_of(database.get(),
                         "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
                         " ORDER BY name");
    }
    originals_.push_back(bytes_of(path));
  }
  names_.insert(names_.end(), {"event", "completion", "callsite_total", "region", "message",
                               "collective", "unmatched", "wait_state", "wait_coverage"});
}

std::string HostileStores::write(std::uint64_t seed, const std::string& path) const {
  Random random(seed);
  const std::size_t which = random() % originals_.size();
  std::string told = which == 0 ? "  a traced run\n" : "  a run of windows\n";
  write_bytes(path, originals_[which]);
  const bool is_of_bytes = random() % 5 == 0;
  if (!is_of_bytes || random() % 2 == 0) {
    Injurer injurer(path, random);
    injurer.injure();
    told += injurer.finish();
  }
  if (is_of_bytes) write_bytes(path, injured_file(bytes_of(path), random, told));
  return told;
}

}  // namespace xylem::testing
