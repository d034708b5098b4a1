#include "storage/read/tree_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr Nanos kStarted = 1'780'000'000 * kSecond;

class TreeReportTest : public StoredRun {
 protected:
  TreeReportTest() : StoredRun(facts()) { put_node(0, wire::Role::kFrontEnd, "attached", 0); }

  static RunFacts facts() {
    RunFacts facts;
    facts.started_realtime_ns = kStarted;
    return facts;
  }

  void put_node(std::uint32_t id, wire::Role role, const char* state, Nanos at_ns) {
    NodeRow row{NodeId{id},
                role,
                "node" + std::to_string(id),
                kFrontEndNode,
                id > 0,
                1,
                role == wire::Role::kBackEnd ? LeafId{id} : wire::kNoLeaf,
                state};
    row.at_ns = at_ns;
    EXPECT_TRUE(store_->put_node(row));
  }

  void put_link(std::uint32_t node, Nanos at_ns, std::uint64_t packets, std::uint64_t bytes) {
    wire::LinkReport report;
    report.node = NodeId{node};
    report.sent_packets = packets;
    report.sent_bytes = bytes;
    EXPECT_TRUE(store_->put_link(report, at_ns));
  }

  TreeReport report(std::optional<Nanos> at_ns = std::nullopt) {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    auto made = make_tree_report(**run, at_ns);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *std::move(made) : TreeReport{};
  }

  std::int64_t count(const std::string& sql) {
    EXPECT_TRUE(store_->commit());
    auto run = RunFile::open(path_);
    const auto rows = (*run)->rows(sql);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows ? integer_of(rows->at(0).at(0)) : -1;
  }
};

TEST_F(TreeReportTest, ARunThatEndedBeforeItBeganHasATreeAllTheSame) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_link(1, kSecond, 5, 5);
  EXPECT_TRUE(store_->commit());
  change_file(path_,
              "UPDATE run SET started_ns = 9223372036854775807, ended_ns = -9223372036854775808;"
              "UPDATE link SET round_trip_ns = 9223372036854775807");
  const TreeReport tree = report();
  EXPECT_EQ(tree.nodes.size(), 2u);
  EXPECT_LT(tree.at_ns, 0);
}

TEST_F(TreeReportTest, RatesAreOfTheLastFiveSeconds) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_link(1, kSecond, 0, 0);
  put_link(1, 10 * kSecond, 100'000, 100'000);  // Long ago.
  for (int second = 11; second <= 16; ++second) {
    put_link(1, second * kSecond, 100'000 + 10u * (second - 10), 100'000 + 500u * (second - 10));
  }
  const TreeReport now = report();
  ASSERT_TRUE(now.nodes[1].link && now.nodes[1].link->packets_per_s);
  EXPECT_DOUBLE_EQ(*now.nodes[1].link->packets_per_s, 10);
  EXPECT_DOUBLE_EQ(*now.nodes[1].link->bytes_per_s, 500);
  // At a past time, of the seconds before it.
  const TreeReport then = report(10 * kSecond);
  EXPECT_THAT(*then.nodes[1].link->packets_per_s, DoubleNear(100'000 / 9.0, 1));
}

TEST_F(TreeReportTest, RatesOfAnEndedRunAreOfAllOfIt) {
  put_node(1, wire::Role::kBackEnd, "left", 0);
  put_link(1, kSecond, 0, 0);
  put_link(1, 2 * kSecond, 100, 0);
  put_link(1, 11 * kSecond, 100, 0);
  ASSERT_TRUE(store_->end_run(0, kStarted + 12 * kSecond));
  auto run = RunFile::open(path_);
  const auto made = make_tree_report(**run);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE(made->has_ended);
  EXPECT_EQ(made->at_ns, 12 * kSecond);
  EXPECT_DOUBLE_EQ(*made->nodes[1].link->packets_per_s, 10);
}

TEST_F(TreeReportTest, CountsALinkThatBeganAnewFromItsBeginning) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_link(1, kSecond, 1000, 1000);
  put_link(1, 2 * kSecond, 30, 60);
  const TreeReport now = report();
  EXPECT_DOUBLE_EQ(*now.nodes[1].link->packets_per_s, 30);
  EXPECT_DOUBLE_EQ(*now.nodes[1].link->bytes_per_s, 60);
}

TEST_F(TreeReportTest, OneReportMakesNoRate) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_link(1, kSecond, 1000, 1000);
  const TreeReport now = report();
  ASSERT_TRUE(now.nodes[1].link);
  EXPECT_FALSE(now.nodes[1].link->packets_per_s);
  EXPECT_FALSE(now.nodes[1].link->round_trip_ns);
  EXPECT_FALSE(now.nodes[0].link);
}

TEST_F(TreeReportTest, WhoIsNotHeardOfWhileTheFrontEndGoesOnIsSilent) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_node(2, wire::Role::kBackEnd, "left", 0);
  for (const std::uint32_t node : {0, 1, 2}) put_link(node, kSecond, 0, 0);
  EXPECT_FALSE(report().nodes[1].silent_ns);
  put_link(0, kSecond + kSilentAfter, 0, 0);
  const TreeReport later = report();
  EXPECT_EQ(later.nodes[1].silent_ns, kSilentAfter);
  EXPECT_FALSE(later.nodes[2].silent_ns) << "it has left: it owes no report";
  ASSERT_TRUE(store_->end_run(0, kStarted + 12 * kSecond));
  auto run = RunFile::open(path_);
  EXPECT_FALSE(make_tree_report(**run)->nodes[1].silent_ns) << "nobody reports after the end";
}

TEST_F(TreeReportTest, ThePastOfALargeTreeTakesABoundedRate) {
  constexpr std::uint32_t kNodes = 1000;
  constexpr int kSeconds = 60;
  for (int second = 1; second <= kSeconds; ++second) {
    for (std::uint32_t node = 1; node <= kNodes; ++node) put_link(node, second * kSecond, 1, 1);
  }
  const std::int64_t kept = count("SELECT count(*) FROM link_sample");
  EXPECT_GT(kept, 60 * kSeconds);
  EXPECT_LT(kept, 100 * kSeconds + 2 * kNodes) << "every link's first, then a hundred a second";
  EXPECT_EQ(count("SELECT count(*) FROM link WHERE at_ns = 60000000000"), kNodes);
}

TEST_F(TreeReportTest, ANodeThatIsToldAgainUnchangedIsOneLineOfThePast) {
  put_node(1, wire::Role::kBackEnd, "attached", kSecond);
  put_node(1, wire::Role::kBackEnd, "attached", 2 * kSecond);
  put_node(1, wire::Role::kBackEnd, "lost", 3 * kSecond);
  EXPECT_EQ(count("SELECT count(*) FROM node_change WHERE node = 1"), 2);
}

TEST_F(TreeReportTest, ErrorsComeFirstAndEachHostOnce) {
  wire::Notice notice;
  notice.host = "b";
  notice.text = "slow";
  EXPECT_TRUE(store_->put_notice(notice, kSecond));
  notice.error = true;
  notice.text = "broken";
  notice.dropped = 3;
  for (const char* host : {"b", "a", "b"}) {
    notice.host = host;
    EXPECT_TRUE(store_->put_notice(notice, 2 * kSecond));
  }
  const TreeReport now = report();
  ASSERT_EQ(now.notices.size(), 2u);
  EXPECT_EQ(now.notices[0].text, "broken");
  EXPECT_THAT(now.notices[0].hosts, ElementsAre("a", "b"));
  EXPECT_EQ(now.notices[0].times, 3u);
  EXPECT_EQ(now.notices_dropped, 9u);
  EXPECT_EQ(report(kSecond).notices.size(), 1u);
}

TEST_F(TreeReportTest, AFileWithoutAPastShowsTheNewestState) {
  put_node(1, wire::Role::kBackEnd, "lost", 5 * kSecond);
  put_link(1, 5 * kSecond, 1, 1);
  ASSERT_TRUE(store_->commit());
  store_.reset();
  change_file(path_,
              "DROP VIEW link_rate; DROP TABLE link_sample; DROP TABLE node_change;"
              "ALTER TABLE node DROP COLUMN reason;"
              "PRAGMA user_version = 5");
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto made = make_tree_report(**run, kSecond);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->nodes[1].state, "lost");
  EXPECT_FALSE(made->nodes[1].link->packets_per_s);
}

TEST_F(TreeReportTest, TellsWhatAHostLastMeasuredByThen) {
  put_node(1, wire::Role::kBackEnd, "attached", 0);
  put_node(2, wire::Role::kBackEnd, "attached", 0);
  ASSERT_TRUE(store_->put_host_facts({LeafId{1}, {{"idle", 0.5}, {"cores", 4}}}, kSecond));
  ASSERT_TRUE(store_->put_host_facts({LeafId{1}, {{"idle", 0.25}}}, 3 * kSecond));
  const TreeReport now = report();
  EXPECT_THAT(now.nodes[1].facts, ElementsAre(Pair("cores", 4), Pair("idle", 0.25)));
  EXPECT_TRUE(now.nodes[2].facts.empty());
  EXPECT_THAT(report(2 * kSecond).nodes[1].facts, ElementsAre(Pair("cores", 4), Pair("idle", 0.5)));
}

TEST_F(TreeReportTest, TellsWhyAProcessWasPlacedOnItsHost) {
  NodeRow row{NodeId{1}, wire::Role::kCommProcess, "node1", kFrontEndNode, 1, 1, wire::kNoLeaf,
              "attached"};
  row.reason = "even: fewest processes first, 2 there";
  ASSERT_TRUE(store_->put_node(row));
  const TreeReport now = report();
  EXPECT_EQ(now.nodes[0].reason, "");
  EXPECT_EQ(now.nodes[1].reason, row.reason);
}

TEST_F(TreeReportTest, SaysWhenThereWasNoTree) {
  ASSERT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  const auto made = make_tree_report(**run, -kSecond);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kNotFound);
  EXPECT_THAT(made.error().message, HasSubstr("no front end at that time"));
}

}  // namespace
}  // namespace xylem::storage
