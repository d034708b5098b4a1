#include "frontend/overlay.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tree/topology_text.h"

namespace xylem::frontend {
namespace {

wire::HostReport report_of(int host) {
  wire::HostReport report;
  report.name = "node" + std::to_string(host);
  report.host_key = "key" + std::to_string(host);
  report.pid = 100 + static_cast<std::uint32_t>(host);
  return report;
}

class OverlayTest : public ::testing::Test {
 protected:
  void join_hosts(int hosts) {
    for (int host = 1; host <= hosts; ++host) {
      const OverlayNode& node = overlay_.join(report_of(host));
      known_[node.leaf].processes = 2;
    }
  }
  std::vector<NodeId> place(const char* shape) {
    auto started = overlay_.place(*tree::parse_shape(shape), known_);
    EXPECT_TRUE(started) << started.error().message;
    for (const NodeId node : *started) overlay_.started(node, {{"10.0.0.1", 1, "", ""}}, 1);
    return *started;
  }
  NodeId first_parent(NodeId node) { return overlay_.assignment(node).parents.front().node; }

  Overlay overlay_{"head", 1};
  std::map<LeafId, KnownHost> known_;
};

TEST_F(OverlayTest, GivesAHostTheSameLeafAgainAfterARestart) {
  const OverlayNode first = overlay_.join(report_of(1));
  overlay_.join(report_of(2));
  wire::HostReport again = report_of(1);
  again.pid = 999;
  const OverlayNode& second = overlay_.join(again);
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.leaf, first.leaf);
  EXPECT_EQ(second.pid, 999u);
  EXPECT_EQ(overlay_.leaves().count(), 2u);
}

TEST_F(OverlayTest, GoesOnWithWhatAFormerFrontEndKnew) {
  join_hosts(4);
  place("kary:2");
  Overlay successor("head", 2, 1000);
  for (const auto& [id, node] : overlay_.nodes()) successor.restore(node);
  EXPECT_EQ(successor.leaves(), overlay_.leaves());
  for (const auto& [id, node] : overlay_.nodes()) {
    if (id == kFrontEndNode) continue;
    const auto line = successor.assignment(id).parents;
    EXPECT_EQ(line.front().node, overlay_.assignment(id).parents.front().node);
    EXPECT_EQ(line.back().node, kFrontEndNode);
  }
  EXPECT_EQ(successor.join(report_of(2)).leaf, overlay_.join(report_of(2)).leaf);
  EXPECT_GT(raw(successor.join(report_of(9)).leaf), 1000u) << "a number given out before";
}

TEST_F(OverlayTest, MakesTheFrontEndEverybodysParentBeforeItIsPlaced) {
  join_hosts(3);
  for (const auto& [id, node] : overlay_.nodes()) {
    if (id == kFrontEndNode) continue;
    const wire::Assignment assignment = overlay_.assignment(id);
    ASSERT_EQ(assignment.parents.size(), 1u);
    EXPECT_EQ(assignment.parents[0].node, kFrontEndNode);
    EXPECT_EQ(assignment.leaf, node.leaf);
  }
}

TEST_F(OverlayTest, NeedsNoCommunicationProcessForOneHost) {
  join_hosts(1);
  EXPECT_TRUE(place("kary:2").empty());
  EXPECT_TRUE(overlay_.all_started());
}

TEST_F(OverlayTest, PutsEachBackEndBelowTheInternalLeafOfItsHost) {
  join_hosts(8);
  const auto started = place("kary:2");
  ASSERT_EQ(started.size(), 6u);
  std::map<std::string, NodeId> leaf_of_host;
  std::map<NodeId, int> children;
  for (const auto& [id, node] : overlay_.nodes()) {
    if (node.role == wire::Role::kCommProcess && node.level == 2) leaf_of_host[node.host] = id;
  }
  ASSERT_EQ(leaf_of_host.size(), 4u);
  for (const auto& [id, node] : overlay_.nodes()) {
    if (node.role != wire::Role::kBackEnd) continue;
    EXPECT_EQ(node.level, 3u);
    ++children[node.parent];
    if (leaf_of_host.contains(node.host)) {
      EXPECT_EQ(node.parent, leaf_of_host[node.host]) << node.host;
    }
  }
  for (const auto& [leaf, count] : children) EXPECT_LE(count, 2);
}

TEST_F(OverlayTest, KnowsWhyACommunicationProcessIsWhereItIs) {
  join_hosts(4);
  for (const NodeId node : place("kary:2")) {
    EXPECT_EQ(overlay_.find(node)->reason, "even: fewest processes first, 2 there");
  }
}

TEST_F(OverlayTest, EndsEveryLineOfParentsAtTheFrontEndAndOnlyGoesUp) {
  join_hosts(8);
  place("kary:2");
  for (const auto& [id, node] : overlay_.nodes()) {
    if (id == kFrontEndNode) continue;
    const wire::Assignment assignment = overlay_.assignment(id);
    EXPECT_EQ(assignment.parents.front().node, node.parent);
    EXPECT_EQ(assignment.parents.back().node, kFrontEndNode);
    std::set<NodeId> seen;
    for (const wire::Parent& parent : assignment.parents) {
      EXPECT_LT(overlay_.find(parent.node)->level, node.level) << "a cycle could come of it";
      EXPECT_TRUE(seen.insert(parent.node).second);
    }
  }
}

TEST_F(OverlayTest, MovesTheChildrenOfANodeThatDidNotStart) {
  join_hosts(8);
  const auto started = place("kary:2");
  const NodeId gone = started.back();
  const auto moved = overlay_.remove(gone, NodeState::kLost);
  EXPECT_EQ(moved.size(), 2u);
  for (const NodeId child : moved) {
    EXPECT_NE(first_parent(child), gone);
    EXPECT_EQ(overlay_.find(child)->parent, first_parent(child));
    for (const wire::Parent& parent : overlay_.assignment(child).parents) {
      EXPECT_NE(parent.node, gone);
    }
  }
}

TEST_F(OverlayTest, GivesALateHostTheLeastLoadedInternalLeaf) {
  join_hosts(5);
  place("kary:2");  // Internal leaves with 2, 2 and 1 back ends.
  const OverlayNode& late = overlay_.join(report_of(6));
  const NodeId id = late.id;
  overlay_.attach_late(id);
  int siblings = 0;
  for (const auto& [other, node] : overlay_.nodes()) {
    siblings += node.role == wire::Role::kBackEnd && node.parent == overlay_.find(id)->parent;
  }
  EXPECT_EQ(siblings, 2);
  const NodeId parent = overlay_.find(id)->parent;
  overlay_.attach_late(id);
  EXPECT_EQ(overlay_.find(id)->parent, parent) << "a place is given once";
}

wire::HostReport program_on(int host, int number = 1) {
  wire::HostReport report = report_of(host);
  report.host_key = "leaf:" + std::to_string(number);
  return report;
}

TEST_F(OverlayTest, AProgramThatWasThereBeforeThePlanIsNoHostOfIt) {
  for (int number = 1; number <= 20; ++number) {
    overlay_.join(program_on(number % 4 + 1, number), wire::Role::kProgram);
  }
  join_hosts(4);
  EXPECT_EQ(overlay_.host_count(), 4u);
  EXPECT_EQ(overlay_.leaves().count(), 24u);
  const auto started = place("kary:2");
  EXPECT_EQ(started.size(), 2u) << "as many as four hosts need";
  for (const NodeId id : started) {
    EXPECT_TRUE(overlay_.find(*overlay_.starter_of(id))->is_host());
  }
  for (const auto& [id, node] : overlay_.nodes()) {
    if (node.role != wire::Role::kProgram) continue;
    EXPECT_EQ(overlay_.find(node.parent)->role, wire::Role::kCommProcess);
    EXPECT_EQ(overlay_.assignment(id).parents.back().node, kFrontEndNode);
  }
  const auto topology = overlay_.topology();
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->size(), 3u);
}

TEST_F(OverlayTest, AProgramGetsTheInternalLeafOfItsHostElseTheLeastLoaded) {
  join_hosts(4);
  const auto started = place("kary:2");
  ASSERT_EQ(started.size(), 2u);
  const OverlayNode& carrier = *overlay_.find(started.back());
  const int host = carrier.host.back() - '0';
  const NodeId beside = overlay_.join(program_on(host, 1), wire::Role::kProgram).id;
  overlay_.attach_late(beside);
  EXPECT_EQ(overlay_.find(beside)->parent, carrier.id);
  const NodeId elsewhere = overlay_.join(program_on(9, 2), wire::Role::kProgram).id;
  overlay_.attach_late(elsewhere);
  EXPECT_EQ(overlay_.find(elsewhere)->parent, started.front());
}

TEST_F(OverlayTest, AProgramWritesItsHostsNameInFullOrShort) {
  join_hosts(4);
  const auto started = place("kary:2");
  const OverlayNode& carrier = *overlay_.find(started.back());
  wire::HostReport report = program_on(9);
  report.name = carrier.host + ".a.org";
  const NodeId beside = overlay_.join(report, wire::Role::kProgram).id;
  overlay_.attach_late(beside);
  EXPECT_EQ(overlay_.find(beside)->parent, carrier.id);
}

TEST_F(OverlayTest, ManyProgramsAreSpreadOverTheInternalLeaves) {
  for (int number = 1; number <= 64; ++number) {
    overlay_.join(program_on(number % 8 + 1, number), wire::Role::kProgram);
  }
  join_hosts(8);
  place("kary:2");
  std::map<NodeId, int> children;
  for (const auto& [id, node] : overlay_.nodes()) {
    if (node.role == wire::Role::kProgram) ++children[node.parent];
  }
  EXPECT_EQ(children.size(), 4u) << "kary:2 over eight hosts has four internal leaves";
  for (const auto& [parent, count] : children) EXPECT_EQ(count, 16);
}

TEST_F(OverlayTest, AProgramStaysOneUnderASuccessor) {
  join_hosts(2);
  const OverlayNode program = overlay_.join(program_on(1), wire::Role::kProgram);
  Overlay successor("head", 2, 1000);
  for (const auto& [id, node] : overlay_.nodes()) successor.restore(node);
  EXPECT_EQ(successor.host_count(), 2u);
  EXPECT_EQ(successor.leaves(), overlay_.leaves());
  EXPECT_EQ(successor.find(program.leaf)->role, wire::Role::kProgram);
}

TEST_F(OverlayTest, RefusesAFileThatNamesAForeignHostAndChangesNothing) {
  join_hosts(2);
  tree::Shape shape;
  shape.kind = tree::Shape::Kind::kFile;
  shape.path = "/nonexistent.topo";
  EXPECT_FALSE(overlay_.place(shape, known_));
  EXPECT_EQ(overlay_.nodes().size(), 3u);
}

TEST_F(OverlayTest, PrintsATopologyThatMakesTheSameTreeOnTheSameHosts) {
  join_hosts(8);
  place("kary:2");
  const auto topology = overlay_.topology();
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->size(), 7u) << "4 internal leaves, 2 above them, the front end";
  const std::string path = std::filesystem::path(::testing::TempDir()) /
                           ("xylem-printed-" + std::to_string(::getpid()) + ".topo");
  std::ofstream(path) << print(*topology);
  Overlay again("head", 1);
  for (int host = 1; host <= 8; ++host) again.join(report_of(host));
  const auto placed = again.place(*tree::parse_shape("file:" + path), known_);
  std::filesystem::remove(path);
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(*again.topology(), *topology);
  // A lost one is not printed, and its children stand below their new parent.
  const NodeId lost = placed->front();
  again.remove(lost, NodeState::kLost);
  const auto healed = again.topology();
  ASSERT_TRUE(healed) << healed.error().message;
  EXPECT_EQ(healed->size(), 6u);
}

TEST_F(OverlayTest, PlacesOnForeignHostsOnlyWhereSomethingCanStartThem) {
  join_hosts(2);
  tree::Shape shape;
  shape.kind = tree::Shape::Kind::kFile;
  shape.path = std::filesystem::path(::testing::TempDir()) /
               ("xylem-foreign-" + std::to_string(::getpid()) + ".topo");
  std::ofstream(shape.path) << "head:0 => gate:0 node1:0 ; gate:0 => gate:1 node2:0 ;\n";
  const auto refused = overlay_.place(shape, known_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_EQ(overlay_.nodes().size(), 3u);

  const auto started = overlay_.place(shape, known_, true);
  std::filesystem::remove(shape.path);
  ASSERT_TRUE(started) << started.error().message;
  std::map<std::string, int> foreign, own;
  for (const NodeId id : *started) {
    const OverlayNode& node = *overlay_.find(id);
    ++(overlay_.starter_of(id) ? own : foreign)[node.host];
    EXPECT_EQ(node.host_key.empty(), !overlay_.starter_of(id)) << node.host;
  }
  EXPECT_EQ(foreign, (std::map<std::string, int>{{"gate", 2}}));
  EXPECT_EQ(own, (std::map<std::string, int>{{"node1", 1}, {"node2", 1}}));
  // Back ends are below the leaves of the tree, on their own host first.
  for (const NodeId back_end : {NodeId{1}, NodeId{2}}) {
    const OverlayNode& node = *overlay_.find(back_end);
    EXPECT_EQ(overlay_.find(node.parent)->host, node.host);
  }
}

/// Where the communication processes of a shape go.
class OverlayChoiceTest : public OverlayTest {
 protected:
  std::vector<std::string> hosts_of(const char* shape) {
    const auto started = overlay_.place(*tree::parse_shape(shape), known_, true, choice_);
    EXPECT_TRUE(started) << started.error().message;
    std::vector<std::string> hosts;
    if (!started) return hosts;
    for (const NodeId id : *started) hosts.push_back(overlay_.find(id)->host);
    return hosts;
  }
  std::string refusal(const char* shape) {
    const auto started = overlay_.place(*tree::parse_shape(shape), known_, true, choice_);
    EXPECT_FALSE(started);
    return started ? "" : started.error().message;
  }
  using Hosts = std::vector<std::string>;

  HostChoice choice_;
};

TEST_F(OverlayChoiceTest, GoesByScoresWhereItIsAskedTo) {
  join_hosts(4);
  choice_.policy = placement::Policy::kFuzzy;
  for (auto& [leaf, host] : known_) {
    host.facts.set(placement::Fact::kIdle, raw(leaf) % 2 == 0 ? 0.9 : 0.1);
  }
  EXPECT_EQ(hosts_of("balanced:1x2"), (Hosts{"node2", "node4"}));
}

TEST_F(OverlayChoiceTest, HasRoomForAsManyAsThereAreMeasuredCoresAndForOneOnAPartOfOne) {
  join_hosts(2);
  choice_.policy = placement::Policy::kFuzzy;
  for (auto& [leaf, host] : known_) {
    host.facts.set(placement::Fact::kCores, leaf == LeafId{1} ? 0.3 : 2.9);
  }
  const Hosts hosts = hosts_of("balanced:1x3");
  EXPECT_EQ(std::count(hosts.begin(), hosts.end(), "node1"), 1);
  EXPECT_EQ(std::count(hosts.begin(), hosts.end(), "node2"), 2);
  EXPECT_NE(refusal("balanced:1x4").find("room for 3"), std::string::npos);
}

TEST_F(OverlayChoiceTest, DoesNotLimitEvenPlacementByCores) {
  join_hosts(1);
  known_.begin()->second.facts.set(placement::Fact::kCores, 1);
  EXPECT_EQ(hosts_of("balanced:1x3").size(), 3u);
}

TEST_F(OverlayChoiceTest, LeavesCoresAloneAsHostsReportedThem) {
  wire::HostReport report = report_of(1);
  report.cores = 4;
  known_[overlay_.join(report).leaf].processes = 2;
  choice_.room.reserve_for_processes = true;
  EXPECT_NE(refusal("balanced:1x3").find("room for 2"), std::string::npos);
  EXPECT_EQ(hosts_of("balanced:1x2").size(), 2u);
}

TEST_F(OverlayChoiceTest, PutsThemOnExtraHostsOnly) {
  join_hosts(2);
  choice_.extra_hosts = {"gate1", "node2", "gate2"};
  choice_.room.where = placement::CommHosts::kExtra;
  EXPECT_EQ(hosts_of("balanced:1x3"), (Hosts{"gate1", "gate2", "gate1"}))
      << "node2 turned out to be the job's";
}

TEST_F(OverlayChoiceTest, KnowsAHostOfTheJobByItsFullAndItsShortName) {
  join_hosts(2);
  choice_.extra_hosts = {"gate1", "node2.cluster.org", "node2"};
  choice_.room.where = placement::CommHosts::kExtra;
  EXPECT_EQ(hosts_of("balanced:1x2"), (Hosts{"gate1", "gate1"}));
}

TEST_F(OverlayChoiceTest, PutsThemOnHostsOfTheJobOnlyOrOnAll) {
  join_hosts(2);
  choice_.extra_hosts = {"gate"};
  choice_.room.where = placement::CommHosts::kCompute;
  EXPECT_EQ(hosts_of("balanced:1x2"), (Hosts{"node1", "node2"}));
  Overlay again("head", 1);
  overlay_ = std::move(again);
  known_.clear();
  join_hosts(2);
  choice_.room.where = placement::CommHosts::kMixed;
  EXPECT_EQ(hosts_of("balanced:1x1"), (Hosts{"gate"})) << "it carries no rank";
}

TEST_F(OverlayChoiceTest, KeepsOffExcludedHostsAndPassesOverThoseThatAreNotThere) {
  join_hosts(3);
  choice_.room.excluded = {"node1", "login9"};
  choice_.room.excluded_may_be_absent = true;
  choice_.room.max_per_host = 1;
  EXPECT_EQ(hosts_of("balanced:1x2"), (Hosts{"node2", "node3"}));
}

}  // namespace
}  // namespace xylem::frontend
