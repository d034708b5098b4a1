// A run's file from a stranger: whatever its cells hold, what reads it answers or refuses with a
// sentence. The input is a list of injuries to a real file: which column of which table, or that
// the table is dropped, and what its cells are to hold.

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "storage/read/query.h"
#include "storage/read/report.h"
#include "storage/read/run_view.h"
#include "storage/read/tree_report.h"
#include "tests/support/byte_source.h"
#include "tests/unit/storage/packets.h"

// Instead of the system's: nothing here has to survive a power cut.
extern "C" int fsync(int) { return 0; }
extern "C" int fdatasync(int) { return 0; }

using namespace xylem;
using testing::ByteSource;

namespace {

constexpr std::size_t kMaxInjuries = 8;
constexpr const char* kRun = "20240607-1f2e";

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

Database open_raw(const std::string& path) {
  sqlite3* handle = nullptr;
  CHECK(sqlite3_open(path.c_str(), &handle) == SQLITE_OK);
  return {handle, sqlite3_close};
}

std::vector<std::pair<std::string, std::string>> pairs(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw_statement = nullptr;
  CHECK(sqlite3_prepare_v2(database, sql, -1, &raw_statement, nullptr) == SQLITE_OK);
  const Statement statement(raw_statement, sqlite3_finalize);
  std::vector<std::pair<std::string, std::string>> found;
  const auto text = [&](int column) {
    return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), column)));
  };
  while (sqlite3_step(statement.get()) == SQLITE_ROW) found.emplace_back(text(0), text(1));
  return found;
}

// A run of two hosts, two ranks each, of which one was lost, and all that can be asked of it.
struct Original {
  storage::Folder folder;
  std::string path = folder.file("run.db");
  std::string bytes;
  std::vector<std::pair<std::string, std::string>> columns;  // Table, column.
  std::vector<std::string> tables_and_views;

  Original() {
    set_log_sink([](Level, std::string_view) {});
    write();
    const Database database = open_raw(path);
    columns = pairs(database.get(),
                    "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
                    " WHERE m.type = 'table' ORDER BY 1, 2");
    for (const auto& [name, type] : pairs(database.get(),
                                          "SELECT name, type FROM sqlite_master WHERE type IN "
                                          "('table', 'view') ORDER BY name")) {
      tables_and_views.push_back(name);
    }
    tables_and_views.insert(tables_and_views.end(), {"event", "completion"});
    sqlite3_exec(database.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }

  void write() const {
    auto store = storage::make_sqlite_store({path});
    CHECK(store);
    storage::RunFacts facts;
    facts.run_id = kRun;
    facts.command = {"mpirun", "app"};
    facts.host = "node0";
    facts.chunks = true;
    facts.window_ns = 250 * kMillisecond;
    CHECK((*store)->begin_run(facts));
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      const auto put = [&](const wire::Packet& packet) { CHECK((*store)->put(packet)); };
      put(storage::registration_packet(
          leaf, {storage::process_row(1, 2 * leaf), storage::process_row(2, 2 * leaf + 1)}));
      put(storage::chunk_packet(leaf, 1, 0, 40));
      put(storage::window_packet(3, leaf, 40, storage::account_row(leaf, 1, 41, true, 1)));
      put(storage::tombstone_of(storage::chunk_packet(leaf, 2, 0, 10), 10));
      put(storage::window_packet(4, leaf, 10, storage::account_row(leaf, 2, 10)));
      storage::NodeRow node;
      node.id = NodeId{leaf};
      node.role = leaf == 0 ? wire::Role::kFrontEnd : wire::Role::kBackEnd;
      node.host = "node" + std::to_string(leaf);
      node.leaf = LeafId{leaf};
      node.state = "attached";
      node.addresses = {{"10.0.0.1", 4711, "", ""}};
      CHECK((*store)->put_node(node));
      CHECK((*store)->put_clock({LeafId{leaf}, 5, 6, 7}));
      wire::LinkReport report;
      report.node = NodeId{leaf};
      report.round_trip_ns = 1000;
      CHECK((*store)->put_link(report, kSecond));
      wire::Notice notice;
      notice.host = "node1";
      notice.text = "a warning";
      CHECK((*store)->put_notice(notice, 3));
    }
    CHECK((*store)->put_host_lost(LeafId{1}, "it went away"));
    CHECK((*store)->commit());
  }

  void restore() const {
    std::filesystem::remove(path + "-journal");
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
    std::ofstream(path, std::ios::binary) << bytes;
  }
};

void bind_any(ByteSource& in, sqlite3_stmt* statement) {
  switch (in.below(6)) {
    case 0:
      sqlite3_bind_null(statement, 1);
      break;
    case 1:
      sqlite3_bind_int64(statement, 1, in.number<std::int64_t>());
      break;
    case 2:
      sqlite3_bind_double(statement, 1, 0.25 * static_cast<double>(in.number<std::int64_t>()));
      break;
    case 3: {
      const auto text = in.take(in.below(64));
      sqlite3_bind_text(statement, 1, reinterpret_cast<const char*>(text.data()),
                        static_cast<int>(text.size()), SQLITE_TRANSIENT);
      break;
    }
    default: {
      const auto blob = in.take(in.byte());
      sqlite3_bind_blob(statement, 1, blob.data(), static_cast<int>(blob.size()), SQLITE_TRANSIENT);
    }
  }
}

void injure(ByteSource& in, const Original& original) {
  const Database database = open_raw(original.path);
  sqlite3_exec(database.get(), "PRAGMA synchronous = OFF; BEGIN", nullptr, nullptr, nullptr);
  for (std::size_t left = kMaxInjuries; left > 0 && !in.is_empty(); --left) {
    const auto& [table, column] = original.columns[in.below(original.columns.size())];
    const std::uint8_t how = in.byte();
    std::string sql = "UPDATE OR IGNORE \"" + table + "\" SET \"" + column + "\" = ?1";
    if (how >= 250) sql = "DROP TABLE \"" + table + "\"";
    // A change within the cell: its tail stays, so that of a blob some remains what it was.
    if (how < 100) sql += " || substr(\"" + column + "\", " + std::to_string(1 + how) + ")";
    sqlite3_stmt* raw_statement = nullptr;
    if (sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &raw_statement, nullptr) != SQLITE_OK) {
      continue;  // Dropped before.
    }
    const Statement statement(raw_statement, sqlite3_finalize);
    bind_any(in, statement.get());
    sqlite3_step(statement.get());
  }
  sqlite3_exec(database.get(), "COMMIT", nullptr, nullptr, nullptr);
}

struct CountingSink final : storage::RowSink {
  std::size_t rows = 0;
  void begin(std::span<const std::string>) override {}
  bool row(std::span<const storage::Value> values) override {
    for (const storage::Value& value : values) static_cast<void>(storage::to_json(value));
    return ++rows < 100'000;
  }
};

template <typename T>
void expect_answer_or_reason(const Result<T>& answer) {
  CHECK(answer || !answer.error().message.empty());
}

void read(const Original& original) {
  auto run = storage::RunFile::open(original.path);
  expect_answer_or_reason(run);
  if (!run) return;
  for (const std::string& name : original.tables_and_views) {
    CountingSink sink;
    expect_answer_or_reason((*run)->query("SELECT * FROM \"" + name + "\"", sink));
  }
  CountingSink sink;
  expect_answer_or_reason((*run)->query(
      "SELECT count(*) FROM event WHERE world = 0 AND rank > 1 AND begin_ns < 30000", sink));
  expect_answer_or_reason(storage::make_report(**run));
  expect_answer_or_reason(storage::verify_totals(**run));
  expect_answer_or_reason(storage::make_tree_report(**run));
  expect_answer_or_reason(storage::make_tree_report(**run, kSecond));
}

void view(const Original& original) {
  auto run = storage::RunView::open(original.path);
  if (!run) return;
  expect_answer_or_reason(run->overview());
  expect_answer_or_reason(run->ranks({}));
  expect_answer_or_reason(run->ranks(
      {.range = {5, 3 * kSecond}, .value = storage::RankValue::kWait, .columns = 7, .rows = 2}));
  expect_answer_or_reason(run->functions({.series = 9, .distribution = true}));
  expect_answer_or_reason(run->functions({}));
  expect_answer_or_reason(run->matrix({.blocks = 3}));
  expect_answer_or_reason(run->matrix({.value = storage::MatrixValue::kWaits}));
  expect_answer_or_reason(run->timeline({}));
  expect_answer_or_reason(run->timeline({.range = {0, 40'000}, .limit = 5}));
  expect_answer_or_reason(run->search({.peer = 1, .limit = 3}));
  expect_answer_or_reason(run->search({.range = {0, 40'000}, .backwards = true}));
  expect_answer_or_reason(run->hosts());
  expect_answer_or_reason(run->series({"idle"}));
  expect_answer_or_reason(run->tree());
  expect_answer_or_reason(run->notices());
}

// A successor of the front end goes on with it.
void resume(const Original& original) {
  auto resumed = storage::resume_sqlite_store({original.path, original.path, kRun});
  expect_answer_or_reason(resumed);
  if (!resumed) return;
  storage::Store& store = *resumed->store;
  expect_answer_or_reason(
      store.put(storage::window_packet(5, 0, 3, storage::account_row(0, 1, 44, true, 1))));
  expect_answer_or_reason(store.put(storage::chunk_packet(1, 1, 20, 60)));
  expect_answer_or_reason(store.commit());
  expect_answer_or_reason(store.end_run(0, kSecond));
  expect_answer_or_reason(store.account());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Original kOriginal;
  ByteSource in(bytes, size);
  kOriginal.restore();
  injure(in, kOriginal);
  read(kOriginal);
  view(kOriginal);
  resume(kOriginal);
  return 0;
}
