// What people read: report, tree and query over one small run, against the texts in
// tests/golden/answers. A text that must change is looked at, then replaced by what the test
// prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/top_command.h"
#include "cli/tree_command.h"
#include "tests/unit/changed_file.h"
#include "tests/unit/storage/packets.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

using storage::account_row;
using storage::chunk_packet;
using storage::process_row;
using storage::profile_row;
using storage::registration_packet;
using storage::window_packet;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

struct Answer {
  int code;
  std::string out, err;
};

class Answers : public ::testing::Test {
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
      storage::NodeRow row{NodeId{id}, role, host, NodeId{parent}, level, 100 + id, leaf, state};
      if (role == Role::kCommProcess) row.reason = "even: fewest processes first, 1 there";
      ASSERT_TRUE(store_->put_node(row));
    };
    node(0, Role::kFrontEnd, "node0", 0, 0, wire::kNoLeaf, "started");
    node(1, Role::kCommProcess, "node0", 0, 1, wire::kNoLeaf, "attached");
    node(2, Role::kCommProcess, "node1", 0, 1, wire::kNoLeaf, "attached");
    node(3, Role::kBackEnd, "node0", 1, 2, LeafId{0}, "left");
    node(4, Role::kBackEnd, "node2", 1, 2, LeafId{2}, "left");
    node(5, Role::kBackEnd, "node1", 2, 2, LeafId{1}, "left");
    node(6, Role::kBackEnd, "node3", 2, 2, LeafId{3}, "lost");
    put_link(0, kSecond, 0, 0, 3 * kMillisecond);
    put_link(0, 2 * kSecond, 4096, 40, 3 * kMillisecond);
    put_link(1, kSecond, 10'000, 100, 120 * kMicrosecond);
    put_link(1, 2 * kSecond, 2'010'000, 1600, 120 * kMicrosecond);
    put_link(2, 2 * kSecond, 500, 5, 110 * kMicrosecond);
    put_link(5, 2 * kSecond, 500, 5, 80 * kMicrosecond);
    ASSERT_TRUE(store_->put_host_facts({LeafId{0},
                                        {{"idle", 0.953},
                                         {"run_queue", 0.25},
                                         {"memory", 96.04},
                                         {"network", 25},
                                         {"round_trip", 81.7},
                                         {"cores", 8}}},
                                       kSecond));
    ASSERT_TRUE(store_->put_host_facts({LeafId{2}, {{"idle", 0.1}, {"cores", 1.5}}}, kSecond));
    wire::Notice notice;
    notice.host = "node2";
    notice.text = "the front end's clock is unknown; this host's clock is used";
    ASSERT_TRUE(store_->put_notice(notice, kSecond));
    notice.dropped = 2;
    ASSERT_TRUE(store_->put_notice(notice, 2 * kSecond));
    notice = {wire::Role::kCommProcess, "node1", 102, true, 0, "no parent for too long", 0};
    ASSERT_TRUE(store_->put_notice(notice, 3 * kSecond));
  }

  void put_link(std::uint32_t node, Nanos at_ns, std::uint64_t bytes, std::uint64_t packets,
                Nanos round_trip_ns) {
    const wire::LinkReport report{
        NodeId{node}, 64 * node, bytes, packets, round_trip_ns, 0, 0, 0, wire::Transport::kTls};
    ASSERT_TRUE(store_->put_link(report, at_ns));
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
  EXPECT_THAT(page.out, HasSubstr("none: no rank has registered"));
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

// Of fifty worlds with a rank each, where the time in MPI grows with the world's number.
TEST_F(Answers, ReportListsTheWorldsInWhichMostTimeWasSpent) {
  begin();
  std::vector<wire::ProcessRow> rows;
  wire::ProfileWindow window;
  for (std::uint32_t lane = 1; lane <= 50; ++lane) {
    rows.push_back(process_row(lane, 0, static_cast<std::uint8_t>(lane), 1));
    window.rows.push_back(profile_row(0, lane, lane));
    window.accounts.push_back(account_row(0, lane, lane));
  }
  put(registration_packet(0, rows));
  put(window_packet(0, IntervalSet::of(0), window));
  ASSERT_TRUE(store_->commit());
  const std::string text = answer(run_report, ReportOptions{path_}).out;
  EXPECT_THAT(text, HasSubstr("  world 30  "));
  EXPECT_THAT(text, HasSubstr("  world 49  "));
  EXPECT_THAT(text, Not(HasSubstr("  world 29  ")));
  EXPECT_THAT(text, HasSubstr("and 30 worlds more"));
  EXPECT_THAT(text, HasSubstr("Share of MPI, world 49, 1 rank"));
  EXPECT_THAT(text, Not(HasSubstr("Share of MPI, world 29,")));
  EXPECT_THAT(answer(run_report, ReportOptions{path_, true}).out,
              HasSubstr("\"worlds_in_all\":50"));
}

TEST_F(Answers, TreeShowsWhoIsWhereAndHowItsLinkDoes) {
  make_run();
  const Answer tree = answer(run_tree, TreeCommandOptions{path_});
  EXPECT_EQ(tree.code, 0) << tree.err;
  expect_golden("tree.txt", tree.out);
}

TEST_F(Answers, TreePrintsATopologyThatCanBeReadBack) {
  make_run();
  const Answer tree = answer(run_tree, TreeCommandOptions{path_, TreeFormat::kTopology});
  EXPECT_EQ(tree.code, 0) << tree.err;
  expect_golden("tree.topology", tree.out);
  const auto parsed = tree::parse_topology(tree.out, "tree");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->topology.size(), 3u);
}

TEST_F(Answers, TreeOfAnyStoredRunIsReadBackAsTheSameTree) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  begin();
  for (int trial = 0; trial < 100; ++trial) {
    // The same file again and again: a tree of `size` inner processes and as many back ends.
    const std::uint32_t size = 2 + static_cast<std::uint32_t>(random() % 30);
    std::vector<tree::Branch> branches;
    std::map<std::string, std::uint32_t> used;
    for (std::uint32_t id = 0; id < 32; ++id) {
      const bool is_there = id < size;
      const auto parent = static_cast<std::uint32_t>(id == 0 ? 0 : random() % std::min(id, size));
      const std::string host = "node" + std::to_string(random() % 7);
      const auto role = id == 0 ? wire::Role::kFrontEnd : wire::Role::kCommProcess;
      // Those that are not there now were lost, and have nobody below them.
      ASSERT_TRUE(store_->put_node({NodeId{id}, role, host, NodeId{parent}, 1, 1, wire::kNoLeaf,
                                    is_there ? "attached" : "lost"}));
      ASSERT_TRUE(store_->put_node({NodeId{100 + id}, wire::Role::kBackEnd, host, NodeId{parent}, 2,
                                    1, LeafId{id}, "attached"}));
      if (!is_there) continue;
      branches.push_back({{host, used[host]++}, {}});
      if (id > 0) branches[parent].children.push_back(branches[id].parent);
    }
    ASSERT_TRUE(store_->commit());
    const Answer printed = answer(run_tree, TreeCommandOptions{path_, TreeFormat::kTopology});
    ASSERT_EQ(printed.code, 0) << printed.err;
    const auto read = tree::parse_topology(printed.out, "printed");
    ASSERT_TRUE(read) << read.error().message;
    const auto model = tree::Topology::make(branches);
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_EQ(read->topology, *model) << printed.out;
  }
}

TEST_F(Answers, TreeIsAnObjectForPrograms) {
  make_run();
  expect_golden("tree.json", answer(run_tree, TreeCommandOptions{path_, TreeFormat::kJson}).out);
  expect_golden("tree.csv", answer(run_tree, TreeCommandOptions{path_, TreeFormat::kCsv}).out);
}

TEST_F(Answers, TreeIsAGraphForGraphviz) {
  make_run();
  expect_golden("tree.dot", answer(run_tree, TreeCommandOptions{path_, TreeFormat::kDot}).out);
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
  const Answer tree = answer(run_tree, TreeCommandOptions{path_});
  EXPECT_THAT(tree.out, ContainsRegex("below nobody:\n  back_end 8 on node8 +started +0\n"
                                      "  comm_process 9 on node9 +started +0\n"));
}

TEST_F(Answers, TreeNamesWhoIsSilentAndWhoIsSlow) {
  begin();
  put_tree();
  put_link(0, 9 * kSecond, 0, 0, 0);
  put_link(1, 8 * kSecond, 0, 0, 90 * kMicrosecond);
  put_link(5, 9 * kSecond, 0, 0, 21 * kMillisecond);
  // Of its link nothing was heard for seven seconds.
  ASSERT_TRUE(store_->put_node(
      {NodeId{4}, wire::Role::kBackEnd, "node2", NodeId{1}, 2, 1, LeafId{2}, "attached"}));
  put_link(4, 2 * kSecond, 0, 0, 95 * kMicrosecond);
  put_link(2, 9 * kSecond, 0, 0, 95 * kMicrosecond);
  ASSERT_TRUE(store_->commit());
  const Answer tree = answer(run_tree, TreeCommandOptions{path_});
  EXPECT_THAT(tree.out, HasSubstr(": as it was at 9.00 s\n"));
  EXPECT_THAT(tree.out, ContainsRegex("back_end 4 on node2 +silent 7.00 s"));
  EXPECT_THAT(tree.out, HasSubstr("lost: back_end on node3\n"
                                  "silent: back_end on node2\n"
                                  "slow: back_end on node1; half of all round trips take "));
}

TEST_F(Answers, TreeGathersAlikeNoticesOverHosts) {
  begin();
  put_tree();
  wire::Notice notice;
  notice.text = "the disk is full";
  notice.error = true;
  for (const char* host : {"n07", "n02", "n01", "n03", "n03", "n04"}) {
    notice.host = host;
    ASSERT_TRUE(store_->put_notice(notice, 5 * kSecond));
  }
  ASSERT_TRUE(store_->commit());
  EXPECT_THAT(answer(run_tree, TreeCommandOptions{path_}).out,
              HasSubstr("error: back_end on n[01-04,07]: the disk is full (6 times)\n"));
}

TEST_F(Answers, TreeShowsThePast) {
  begin();
  const auto put_node = [&](std::uint32_t parent, const char* state, Nanos at_ns) {
    storage::NodeRow row{NodeId{2}, wire::Role::kBackEnd, "node2", NodeId{parent}, 1, 1, LeafId{1},
                         state};
    row.at_ns = at_ns;
    ASSERT_TRUE(store_->put_node(row));
  };
  ASSERT_TRUE(store_->put_node({kFrontEndNode, wire::Role::kFrontEnd, "node0", kFrontEndNode, 0, 1,
                                wire::kNoLeaf, "attached"}));
  put_node(0, "attached", kSecond);
  put_link(2, 2 * kSecond, 100, 1, kMillisecond);
  put_node(0, "lost", 5 * kSecond);
  put_node(0, "lost", 6 * kSecond);
  put_link(2, 7 * kSecond, 100, 1, 2 * kMillisecond);
  put_node(0, "left", 8 * kSecond);
  ASSERT_TRUE(store_->end_run(0, (1'780'000'000 + 9) * kSecond));
  const auto state_at = [&](Nanos at_ns) {
    const std::string text =
        answer(run_tree, TreeCommandOptions{path_, TreeFormat::kCsv, at_ns}).out;
    const auto line = text.find("\n2,");
    return line == std::string::npos ? ""
                                     : text.substr(line + 1, text.find('\n', line + 1) - line - 1);
  };
  EXPECT_EQ(state_at(kSecond / 2), "");
  EXPECT_THAT(state_at(3 * kSecond), HasSubstr(",attached,0,,2000000000,"));
  EXPECT_THAT(state_at(5 * kSecond), HasSubstr(",lost,"));
  EXPECT_THAT(state_at(7 * kSecond), HasSubstr(",lost,0,,7000000000,"));
  EXPECT_THAT(state_at(20 * kSecond), HasSubstr(",left,"));
  EXPECT_THAT(answer(run_tree, TreeCommandOptions{path_, TreeFormat::kText, 3 * kSecond}).out,
              HasSubstr(": as it was at 3.00 s\n"));
}

TEST_F(Answers, TreeThatIsWatchedIsPrintedUntilTheRunEnds) {
  begin();
  put_tree();
  ASSERT_TRUE(store_->commit());
  TreeCommandOptions options{path_};
  options.watch_ns = kMillisecond;
  // Ends the run as soon as the tree was printed twice.
  class Watched final : public std::stringbuf {
   public:
    explicit Watched(std::function<void()> end) : end_(std::move(end)) {}
    int sync() override {
      if (++printed == 2) end_();
      return 0;
    }
    int printed = 0;

   private:
    std::function<void()> end_;
  };
  Watched buffer([this] { ASSERT_TRUE(store_->end_run(0, 1'780'000'000 * kSecond)); });
  std::ostream out(&buffer);
  std::ostringstream err;
  EXPECT_EQ(run_tree(options, out, err), 0) << err.str();
  EXPECT_EQ(buffer.printed, 3);
  EXPECT_THAT(buffer.str(), HasSubstr("\n\n"));
  EXPECT_THAT(buffer.str(), HasSubstr(": ended after "));
}

TEST_F(Answers, TreeSaysWhenThereIsNone) {
  begin();
  const Answer tree = answer(run_tree, TreeCommandOptions{path_});
  EXPECT_EQ(tree.code, 1);
  EXPECT_THAT(tree.err, HasSubstr("it has no front end"));
}

TEST_F(Answers, TopPrintsOneScreenWithoutATerminal) {
  make_run();
  ::setenv("TERM", "dumb", 1);  // The test may run in a terminal.
  TopOptions options;
  options.run.file = path_;
  const Answer top = answer(run_top, options);
  EXPECT_EQ(top.code, 0) << top.err;
  options.once = true;
  EXPECT_EQ(top.out, answer(run_top, options).out);
  EXPECT_THAT(top.out, HasSubstr("mpirun -n 4 ./app"));
}

/// Commits, and changes the file past the store.
class HostileAnswers : public Answers {
 protected:
  void make_run_with(const std::string& sql) {
    make_run();
    storage::change_file(path_, sql);
  }
  std::string report() { return text_of(answer(run_report, ReportOptions{path_})); }
  std::string tree(TreeFormat format = TreeFormat::kText) {
    return text_of(answer(run_tree, TreeCommandOptions{path_, format}));
  }
  std::string top(const char* pane) {
    TopOptions options;
    options.run.file = path_;
    options.once = true;
    options.pane = pane;
    return text_of(answer(run_top, options));
  }

 private:
  static std::string text_of(const Answer& answer) {
    EXPECT_EQ(answer.code, 0) << answer.err;
    return answer.out;
  }
};

TEST_F(HostileAnswers, ReportHasATextForEveryDuration) {
  make_run_with(
      "UPDATE function_sum SET time_ns = 0, max_ns = -9223372036854775808;"
      "UPDATE function_sum SET time_ns = -9223372036854775808 WHERE process ="
      " (SELECT min(process) FROM function_sum) AND function ="
      " (SELECT min(function) FROM function_sum);"
      "INSERT INTO alert(id, at_ns, kind, text) VALUES(9, -9223372036854775808, 'stalled', 'x')");
  EXPECT_THAT(report(), HasSubstr("-2562047 h 47 m"));
}

// In every table's texts. A terminal obeys ESC, and U+009B as "ESC [".
constexpr const char* kObeyed =
    "UPDATE run SET command = 'a' || char(27) || '[2Jb' || char(155) || '31m' || char(10) || 'c',"
    " user = char(7), host = char(8238) || 'exe', detail = char(27), version = x'1bff';"
    "UPDATE host SET name = 'h' || char(27) || ']0;owned' || char(7), lost_reason = char(155);"
    "UPDATE world SET program = char(27) || 'c', mpi_library = char(133);"
    "UPDATE function SET name = 'MPI' || char(27) || id, class = char(27);"
    "UPDATE node SET host = 'n' || char(10) || 'forged', role = char(27) || '\"', state = "
    "char(155),"
    " reason = char(27) || '[31m';"
    "UPDATE notice SET host = char(27), role = char(155), level = char(10), text = x'1b5b324a';"
    "INSERT INTO notice VALUES(1, 'n', 'r' || char(27), 1, 'l', CAST(x'ff1b5b' AS TEXT), 0);"
    "INSERT INTO stream(id, name) VALUES(1, 's' || char(27));"
    "INSERT INTO alert(id, at_ns, kind, text) VALUES(9, 1, 'stalled', char(27) || '[2J');"
    "UPDATE given_up SET reason = char(27) || char(13)";

// NOLINTBEGIN(misc-misleading-bidirectional): a terminal must not get this mark.
bool is_obeyed(const std::string& text) {
  return text.find_first_of("\x1b\x07\r\x7f\xff") != std::string::npos ||
         text.find("\xc2\x9b") != std::string::npos || text.find("\xc2\x85") != std::string::npos ||
         text.find("\u202e") != std::string::npos || text.find("\nforged") != std::string::npos;
}
// NOLINTEND(misc-misleading-bidirectional)

TEST_F(HostileAnswers, WhatGoesToATerminalIsShownAndNotObeyed) {
  make_run_with(kObeyed);
  for (const std::string& text :
       {report(), tree(), tree(TreeFormat::kDot), query("SELECT * FROM run").out,
        query("SELECT command AS \"a\x1b[2J\", x'1b' FROM run").out,
        query("SELECT * FROM notice; SELECT * FROM node; SELECT * FROM host").out, top("overview"),
        top("functions"), top("ranks"), top("tree"), top("notices")}) {
    EXPECT_FALSE(is_obeyed(text)) << text;
  }
  EXPECT_THAT(report(), HasSubstr("a\\x1b[2Jb\\u009b31m\\nc\n"));
  EXPECT_THAT(tree(), HasSubstr("on n\\nforged"));
  EXPECT_FALSE(is_obeyed(query("SELECT \x1b[2J").err)) << "SQLite repeats what it was given";
}

TEST_F(HostileAnswers, WhatGoesToAProgramIsExact) {
  make_run_with(kObeyed);
  constexpr const char* kCommand = "SELECT command FROM run";
  EXPECT_EQ(query(kCommand, ResultFormat::kCsv).out,
            "command\n\"a\x1b[2Jb\xc2\x9b"
            "31m\nc\"\n");
  const std::string json = "\"a\\u001b[2Jb\\u009b31m\\u000ac\"";
  EXPECT_THAT(query(kCommand, ResultFormat::kJson).out, HasSubstr(json));
  EXPECT_THAT(answer(run_report, ReportOptions{path_, true}).out, HasSubstr(json));
  EXPECT_FALSE(is_obeyed(tree(TreeFormat::kJson)));
}

TEST_F(HostileAnswers, ALongTextMakesNoOtherLineLong) {
  make_run_with(
      "UPDATE function SET name = hex(zeroblob(1000000)) WHERE id = 0;"
      "UPDATE node SET host = hex(zeroblob(1000000)) WHERE id = 1;"
      "UPDATE notice SET text = hex(zeroblob(1000000))");
  EXPECT_LT(report().size(), 20'000'000u);
  EXPECT_LT(tree().size(), 20'000'000u);
  EXPECT_LT(
      query("SELECT text, level FROM notice UNION ALL SELECT name, 1 FROM function").out.size(),
      20'000'000u);
}

TEST_F(HostileAnswers, ADeepChainOfNodesTakesNoMoreThanItsLines) {
  make_run_with(
      "WITH RECURSIVE n(i) AS (VALUES(100) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
      " INSERT INTO node(id, role, host, parent, level, state)"
      " SELECT i, 'comm_process', 'node' || i, iif(i = 100, 0, i - 1), i, 'attached' FROM n");
  EXPECT_LT(tree().size(), 20'000u * 200);
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
  constexpr const char* kHead = "{\"version\": 1, \"view\": \"query\", \"results\": [";
  EXPECT_EQ(query("SELECT 1 AS one WHERE false", ResultFormat::kJson).out,
            std::string(kHead) + "\n{\"columns\": [\"one\"], \"rows\": []}\n]}\n");
  EXPECT_EQ(query("-- nothing", ResultFormat::kJson).out, std::string(kHead) + "]}\n");
  EXPECT_EQ(query("SELECT x FROM run", ResultFormat::kJson).out, "");
}

TEST_F(Answers, QueryTakesAWordWithABlankForSql) {
  EXPECT_TRUE(is_sql("SELECT 1"));
  EXPECT_FALSE(is_sql("run.db"));
  EXPECT_FALSE(is_sql(""));
  const std::string file = folder_.file("a run.db");
  std::ofstream(file) << "x";
  EXPECT_FALSE(is_sql(file)) << "there is such a file";
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
  EXPECT_THAT(
      out.str(),
      HasSubstr("  event(world, rank, thread, begin_ns, end_ns, kind, function, "
                "peer, bytes, tag, comm, request, result, calls, number, stage, success, "
                "posted_bytes, received_bytes, any_source, any_tag, operation, in_place, cpu, "
                "callsite)\n"));
  EXPECT_THAT(out.str(), HasSubstr("  unmatched(world, rank, kind, count, reason)\n"));
  EXPECT_THAT(out.str(), HasSubstr("  wait_state(world, rank, cause_rank, kind, function, time_ns,"
                                   " calls, root_rank)\n"));
  const std::string questions = out.str().substr(out.str().find("  -- Is anything missing?"));
  const Answer answers = query(questions);
  EXPECT_EQ(answers.code, 0) << answers.err;
}

}  // namespace
}  // namespace xylem
