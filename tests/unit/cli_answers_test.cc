// What people read: report, tree and query over one small run, against the texts in
// tests/golden/answers. A text that must change is looked at, then replaced by what the test
// prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/tree_command.h"
#include "tests/unit/storage_packets.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

using storage::account_row;
using storage::chunk_packet;
using storage::process_row;
using storage::profile_row;
using storage::registration_packet;
using storage::window_packet;
using testing::HasSubstr;

struct Answer {
  int code;
  std::string out, err;
};

class Answers : public testing::Test {
 protected:
  Answers() {
    auto made = storage::make_sqlite_store({path_});
    EXPECT_TRUE(made) << made.error().message;
    store_ = std::move(*made);
  }

  void put(const wire::Packet& packet) {
    const auto outcome = store_->put(packet);
    ASSERT_TRUE(outcome) << outcome.error().message;
  }

  void begin() {
    storage::RunFacts facts;
    facts.run_id = "00c0ffee00c0ffee";
    facts.command = {"mpirun", "-n", "4", "./app", "input file"};
    facts.directory = "/home/ada/case";
    facts.user = "ada";
    facts.host = "node0";
    facts.version = "0.1.0";
    facts.started_realtime_ns = 1'780'000'000 * kSecond;
    facts.chunks = true;
    ASSERT_TRUE(store_->begin_run(facts));
  }

  /// Front end on node0; two communication processes, one there and one on node1; four back ends,
  /// of which the last was lost. Four ranks: 3 is on the lost host.
  void put_tree() {
    using wire::Role;
    const auto node = [&](std::uint32_t id, Role role, const char* host, std::uint32_t parent,
                          std::uint32_t level, LeafId leaf, const char* state) {
      ASSERT_TRUE(
          store_->put_node({NodeId{id}, role, host, NodeId{parent}, level, 100 + id, leaf, state}));
    };
    node(0, Role::kFrontEnd, "node0", 0, 0, wire::kNoLeaf, "started");
    node(1, Role::kCommProcess, "node0", 0, 1, wire::kNoLeaf, "attached");
    node(2, Role::kCommProcess, "node1", 0, 1, wire::kNoLeaf, "attached");
    node(3, Role::kBackEnd, "node0", 1, 2, LeafId{0}, "left");
    node(4, Role::kBackEnd, "node2", 1, 2, LeafId{2}, "left");
    node(5, Role::kBackEnd, "node1", 2, 2, LeafId{1}, "left");
    node(6, Role::kBackEnd, "node3", 2, 2, LeafId{3}, "lost");
    ASSERT_TRUE(store_->put_link({NodeId{1}, 0, 0, 0, 120 * kMicrosecond, 0, 0, 0}, kSecond));
    wire::Notice notice;
    notice.host = "node2";
    notice.text = "front end's clock not known, this host's is taken";
    ASSERT_TRUE(store_->put_notice(notice, kSecond));
    notice.dropped = 2;
    ASSERT_TRUE(store_->put_notice(notice, 2 * kSecond));
    notice = {wire::Role::kCommProcess, "node1", 102, true, 0, "no parent for too long", 0};
    ASSERT_TRUE(store_->put_notice(notice, 3 * kSecond));
  }

  /// Event i begins at 1.2 i ms.
  static std::vector<wire::Event> spread_events(std::uint64_t first, std::uint64_t end) {
    auto events = storage::some_events(first, end);
    for (wire::Event& event : events) {
      event.begin_ns *= 1200;
      event.end_ns = event.begin_ns + 400;
    }
    return events;
  }

  void put_ranks() {
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
      put(registration_packet(leaf, {process_row(1, leaf)}));
    }
    for (std::uint32_t leaf = 0; leaf < 4; ++leaf) {
      const auto waited = static_cast<std::uint64_t>(20 * kMillisecond) * (leaf + 1);
      wire::ProfileWindow window;
      window.rows = {profile_row(leaf, 1, 1000 * (leaf + 1)),
                     profile_row(leaf, 1, 10, storage::kReceive)};
      window.rows[1].estimated = leaf == 2;
      window.rows[1].time_ns = waited;
      window.rows[1].max_ns = 15 * kMillisecond;
      window.matrix = {{LeafId{leaf}, Lane{1}, Rank{(leaf + 1) % 4}, 8000 * (leaf + 1), 1000}};
      window.waits = {{LeafId{leaf}, Lane{1}, Rank{(leaf + 3) % 4}, waited, 10}};
      wire::AccountRow account = account_row(leaf, 1, 1000 * (leaf + 1) + 10, leaf != 3);
      account.events = account.event_calls = 200;
      if (leaf == 2) {
        account.captured += 5;
        account.lost = 5;
        account.loss_by_function = {{storage::kSend, 5}};
      }
      if (leaf == 3) account.captured += 1234567;
      window.accounts = {account};
      put(window_packet(0, IntervalSet::of(leaf), window));
      put(chunk_packet(leaf, 1, 0, spread_events(0, 100)));
      if (leaf != 3) put(chunk_packet(leaf, 1, 100, spread_events(100, 200)));
    }
    put(storage::tombstone_of(chunk_packet(3, 1, 100, 200), 100, "its host is gone"));
    ASSERT_TRUE(store_->put_host_lost(LeafId{3}, "no heartbeat for 3 s"));
  }

  void make_run() {
    begin();
    put_tree();
    put_ranks();
    ASSERT_TRUE(store_->end_run(0, (1'780'000'000 + 12) * kSecond + 345 * kMillisecond));
    store_.reset();
  }

  template <typename Options>
  Answer answer(int (*run)(const Options&, std::ostream&, std::ostream&), const Options& options) {
    std::ostringstream out, err;
    const int code = run(options, out, err);
    return {code, out.str(), err.str()};
  }
  Answer query(const std::string& sql, ResultFormat format = ResultFormat::kTable,
               const std::string& input = {}) {
    std::istringstream in(input);
    std::ostringstream out, err;
    const int code = run_query({path_, sql, format}, in, out, err);
    return {code, out.str(), err.str()};
  }

  static void expect_golden(const std::string& name, const std::string& text) {
    std::ifstream file(std::string(XYLEM_GOLDEN_DIR) + "/answers/" + name);
    EXPECT_TRUE(file) << "tests/golden/answers/" << name << " is missing";
    std::ostringstream golden;
    if (file) golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << "tests/golden/answers/" << name << " differs; it is now:\n"
                                  << text;
  }

  storage::Folder folder_;
  std::string path_ = folder_.file("run.db");
  std::unique_ptr<storage::Store> store_;
};

TEST_F(Answers, ReportIsAPageForPeople) {
  make_run();
  const Answer page = answer(run_report, ReportOptions{path_, false, true});
  EXPECT_EQ(page.code, 0) << page.err;
  expect_golden("report.txt", page.out);
}

TEST_F(Answers, ReportIsAnObjectForPrograms) {
  make_run();
  const Answer object = answer(run_report, ReportOptions{path_, true, false});
  EXPECT_EQ(object.code, 0) << object.err;
  expect_golden("report.json", object.out);
}

TEST_F(Answers, ReportOfALiveRunSaysThatItHasNoEndYet) {
  begin();
  const Answer page = answer(run_report, ReportOptions{path_, false, false});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("its end is not stored"));
  EXPECT_THAT(page.out, HasSubstr("none: no process has called MPI_Init"));
}

TEST_F(Answers, ReportStaysShortWithManyRanks) {
  begin();
  std::vector<wire::ProcessRow> rows;
  wire::ProfileWindow window;
  for (std::uint32_t lane = 1; lane <= 2000; ++lane) {
    rows.push_back(process_row(lane, lane - 1, 1, 2000));
    window.rows.push_back(profile_row(0, lane, lane));
    window.accounts.push_back(account_row(0, lane, lane + 1));
  }
  put(registration_packet(0, rows));
  put(window_packet(0, IntervalSet::of(0), window));
  ASSERT_TRUE(store_->commit());
  const Answer page = answer(run_report, ReportOptions{path_, false, false});
  EXPECT_LT(std::ranges::count(page.out, '\n'), 70);
  EXPECT_THAT(page.out, HasSubstr("and 1,980 ranks more"));
  EXPECT_THAT(page.out, HasSubstr("..."));
}

TEST_F(Answers, TreeShowsWhoIsWhereAndWhatIsBelow) {
  make_run();
  const Answer tree = answer(run_tree, TreeOptions{path_, false, false});
  EXPECT_EQ(tree.code, 0) << tree.err;
  expect_golden("tree.txt", tree.out);
}

TEST_F(Answers, TreePrintsATopologyThatCanBeReadBack) {
  make_run();
  const Answer tree = answer(run_tree, TreeOptions{path_, true, false});
  EXPECT_EQ(tree.code, 0) << tree.err;
  expect_golden("tree.topology", tree.out);
  const auto parsed = tree::parse_topology(tree.out, "tree");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->topology.size(), 3u);
}

TEST_F(Answers, TreeIsAnArrayForPrograms) {
  make_run();
  expect_golden("tree.json", answer(run_tree, TreeOptions{path_, false, true}).out);
}

TEST_F(Answers, TreeSetsProcessesWithoutAPlaceApart) {
  begin();
  put_tree();
  ASSERT_TRUE(store_->put_node(
      {NodeId{8}, wire::Role::kBackEnd, "node8", NodeId{77}, 2, 1, LeafId{8}, "started"}));
  // A file that was made by hand may even hold a cycle.
  ASSERT_TRUE(store_->put_node(
      {NodeId{9}, wire::Role::kCommProcess, "node9", NodeId{9}, 1, 1, wire::kNoLeaf, "started"}));
  ASSERT_TRUE(store_->commit());
  const Answer tree = answer(run_tree, TreeOptions{path_, false, false});
  EXPECT_THAT(tree.out, HasSubstr("not attached:\n  back_end 8 on node8, started: 0 ranks\n"
                                  "  comm_process 9 on node9"));
}

TEST_F(Answers, TreeSaysWhenThereIsNone) {
  begin();
  const Answer tree = answer(run_tree, TreeOptions{path_, false, false});
  EXPECT_EQ(tree.code, 1);
  EXPECT_THAT(tree.err, HasSubstr("it tells of no front end"));
}

constexpr const char* kMixed =
    "SELECT world, rank, 'a, \"b\"' AS text, NULL AS absent, x'00ff' AS blob, 1.5 AS real,"
    " captured FROM account ORDER BY rank LIMIT 2; SELECT 'x' || char(10) || 'ü' AS line";

TEST_F(Answers, QueryAlignsATable) {
  make_run();
  const Answer table = query(kMixed);
  EXPECT_EQ(table.code, 0) << table.err;
  expect_golden("query.txt", table.out);
}

TEST_F(Answers, QueryWritesCsv) {
  make_run();
  expect_golden("query.csv", query(kMixed, ResultFormat::kCsv).out);
}

TEST_F(Answers, QueryWritesJson) {
  make_run();
  expect_golden("query.json", query(kMixed, ResultFormat::kJson).out);
  EXPECT_EQ(query("SELECT 1 WHERE false", ResultFormat::kJson).out, "[]\n");
}

TEST_F(Answers, QueryReadsSqlFromStandardInput) {
  make_run();
  EXPECT_EQ(query("-", ResultFormat::kCsv, "SELECT 1 AS one;\n").out, "one\n1\n");
  EXPECT_EQ(query("", ResultFormat::kCsv, "SELECT 1 AS one;\n").out, "one\n1\n");
}

TEST_F(Answers, QueryTellsWhoIsToBlameByItsExitCode) {
  make_run();
  const Answer wrong = query("SELECT x FROM run");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err, "xylem query: SQL: no such column: x (at character 8)\n");
  EXPECT_EQ(query(" ; ").code, 2);
  std::istringstream in;
  std::ostringstream out, err;
  EXPECT_EQ(run_query({folder_.file("none"), "SELECT 1"}, in, out, err), 1);
}

TEST_F(Answers, QueryPrintsTablesAndQuestionsThatWork) {
  make_run();
  std::istringstream in;
  std::ostringstream out, err;
  ASSERT_EQ(run_query({path_, "", ResultFormat::kTable, true}, in, out, err), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("  account(world, rank, captured, stored, lost, complete)\n"));
  EXPECT_THAT(out.str(), HasSubstr("  event(world, rank, thread, begin_ns, end_ns, kind, function, "
                                   "peer, bytes, tag, comm, request, result, calls)\n"));
  const std::string questions = out.str().substr(out.str().find("  -- Is anything missing?"));
  const Answer answers = query(questions);
  EXPECT_EQ(answers.code, 0) << answers.err;
}

TEST(Quantities, ShowThreeDigitsAndTheirUnit) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1204113), "1,204,113");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1234), "1.23 us");
  EXPECT_EQ(duration_text(99949), "99.9 us");
  EXPECT_EQ(duration_text(999'499), "999 us");
  EXPECT_EQ(duration_text(999'500), "1.00 ms");
  EXPECT_EQ(duration_text(12 * kSecond + 345 * kMillisecond), "12.3 s");
  EXPECT_EQ(duration_text(243 * kSecond), "4 m 03 s");
  EXPECT_EQ(duration_text(7500 * kSecond), "2 h 05 m");
  EXPECT_EQ(duration_text(-5), "-5 ns");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(12902), "12.6 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 40), "5.00 TiB");
}

}  // namespace
}  // namespace xylem
