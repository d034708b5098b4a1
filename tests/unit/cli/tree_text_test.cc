#include "cli/tree_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace xylem {
namespace {

using storage::TreeReport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TreeReport::Node node(std::uint32_t id, const char* role, const char* host,
                      std::optional<std::uint32_t> parent, std::uint64_t ranks = 0) {
  TreeReport::Node made;
  made.id = NodeId{id};
  made.role = role;
  made.host = host;
  made.state = "attached";
  if (parent) made.parent = NodeId{*parent};
  made.ranks = ranks;
  return made;
}

/// A front end; below it node 1 with the leaves 3 and 5, and node 2 with leaf 4.
TreeReport two_branches() {
  TreeReport report;
  report.command = "job";
  report.nodes = {node(0, "front_end", "head", {}),   node(1, "comm_process", "n1", 0),
                  node(2, "comm_process", "n2", 0),   node(3, "back_end", "n3", 1, 10),
                  node(4, "back_end", "n4", 2, 1000), node(5, "back_end", "n5", 1, 100)};
  return report;
}

/// The lines of processes, with one space between columns. The values that a node without reports
/// does not have are missing.
std::vector<std::string> processes(const TreeReport& report) {
  std::istringstream text(tree_text(report));
  std::vector<std::string> lines;
  std::string line;
  std::getline(text, line);  // The heading of the report.
  std::getline(text, line);  // The names of the columns.
  while (std::getline(text, line)) {
    std::string narrow;
    const std::size_t indent = line.find_first_not_of(' ');
    for (const char letter : line) {
      const bool is_gap = letter == ' ' && narrow.size() > indent && narrow.back() == ' ';
      if (!is_gap) narrow += letter;
    }
    lines.push_back(narrow);
  }
  return lines;
}

/// Of the processes of two_branches().
auto first_branch_is_below_nobody() {
  return ElementsAre("front_end 0 on head attached 1,000", "  comm_process 2 on n2 attached 1,000",
                     "    back_end 4 on n4 attached 1,000",
                     "below nobody:", "  comm_process 1 on n1 attached 0",
                     "  back_end 3 on n3 attached 10", "  back_end 5 on n5 attached 100");
}

TEST(TreeText, IndentsChildrenBelowTheirParentAndSumsUpTheirRanks) {
  EXPECT_THAT(
      processes(two_branches()),
      ElementsAre("front_end 0 on head attached 1,110", "  comm_process 1 on n1 attached 110",
                  "    back_end 3 on n3 attached 10", "    back_end 5 on n5 attached 100",
                  "  comm_process 2 on n2 attached 1,000", "    back_end 4 on n4 attached 1,000"));
}

TEST(TreeText, ProcessesWithoutAKnownParentComeLastWithTheirOwnRanks) {
  TreeReport report = two_branches();
  report.nodes[1].parent = NodeId{77};
  EXPECT_THAT(processes(report), first_branch_is_below_nobody());
}

TEST(TreeText, ShowsEachProcessOfACycleOnce) {
  TreeReport report = two_branches();
  report.nodes[1].parent = NodeId{3};
  EXPECT_THAT(processes(report), first_branch_is_below_nobody());
}

TEST(TreeTopology, KeepsALostProcessOnlyIfCommunicationProcessesAreBelowIt) {
  TreeReport report = two_branches();
  report.nodes[1].state = report.nodes[2].state = "lost";
  report.nodes.push_back(node(6, "comm_process", "n6", 1));
  const auto topology = tree_topology(report);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_THAT(*topology, HasSubstr("n1"));
  EXPECT_THAT(*topology, HasSubstr("n6"));
  EXPECT_THAT(*topology, Not(HasSubstr("n2")));
  EXPECT_THAT(*topology, Not(HasSubstr("n3")));
}

}  // namespace
}  // namespace xylem
