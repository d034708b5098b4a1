#include "storage/read/recorded_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/changed_file.h"
#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

/// A run with two hosts, with one rank and two.
class RecordedHostsTest : public StoredRun {
 protected:
  RecordedHostsTest() : StoredRun(facts()) {
    for (std::uint32_t leaf = 0; leaf < 2; ++leaf) {
      std::vector<wire::ProcessRow> rows = {process_row(1, leaf)};
      if (leaf == 1) rows.push_back(process_row(2, 2));
      put(registration_packet(leaf, rows));
      EXPECT_TRUE(
          store_->put_node({NodeId{leaf + 1}, wire::Role::kBackEnd, "node" + std::to_string(leaf),
                            NodeId{0}, 1, 1, LeafId{leaf}, "left"}));
    }
  }
  static RunFacts facts() {
    RunFacts facts;
    facts.host = "login1";
    return facts;
  }
  void measure(const std::string& values) {
    EXPECT_TRUE(store_->commit());
    store_.reset();
    change_file(path_, "INSERT INTO host_value(leaf, at_ns, name, value) VALUES " + values);
  }
  RecordedHosts recorded() {
    auto run = RunFile::open(path_);
    EXPECT_TRUE(run) << run.error().message;
    auto hosts = read_recorded_hosts(**run);
    EXPECT_TRUE(hosts) << hosts.error().message;
    return hosts ? *std::move(hosts) : RecordedHosts{};
  }
};

TEST_F(RecordedHostsTest, HaveTheirRanksAndTheNewestValues) {
  measure("(0, 1, 'idle', 1), (0, 9, 'idle', 0.1), (1, 5, 'cores', 2), (7, 5, 'idle', 1)");
  const RecordedHosts found = recorded();
  EXPECT_EQ(found.front_end_host, "login1");
  ASSERT_EQ(found.hosts.size(), 2u);
  EXPECT_EQ(found.hosts[0].name, "node0");
  EXPECT_EQ(found.hosts[0].processes, 1u);
  EXPECT_THAT(found.hosts[0].values, ElementsAre(Pair("idle", 0.1)));
  EXPECT_EQ(found.hosts[1].processes, 2u);
  EXPECT_THAT(found.hosts[1].values, ElementsAre(Pair("cores", 2.0)));
}

TEST_F(RecordedHostsTest, AreThoseOfThePlacementIfThereWasOne) {
  measure(
      "(1, 5, 'processes', 8), (1, 5, 'idle', 0.5), (1, 9, 'idle', 0.1), (0, 3, 'processes', 4)");
  const RecordedHosts found = recorded();
  ASSERT_EQ(found.hosts.size(), 1u) << "node0 was not there when the run was placed";
  EXPECT_EQ(found.hosts[0].name, "node1");
  EXPECT_EQ(found.hosts[0].processes, 8u);
  EXPECT_THAT(found.hosts[0].values, ElementsAre(Pair("idle", 0.5)));
}

class RunWithoutAgents : public StoredRun {};

TEST_F(RunWithoutAgents, HasNoHosts) {
  EXPECT_TRUE(store_->commit());
  auto run = RunFile::open(path_);
  ASSERT_TRUE(run) << run.error().message;
  const auto found = read_recorded_hosts(**run);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_THAT(found->hosts, IsEmpty());
}

}  // namespace
}  // namespace xylem::storage
