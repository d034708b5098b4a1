#include "tree/host_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace xylem::tree {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Slots = std::vector<HostSlots>;

Slots read(std::string_view text) {
  const auto hosts = parse_host_file(text, "hosts");
  EXPECT_TRUE(hosts) << hosts.error().message;
  return hosts ? *hosts : Slots{};
}

std::string refusal_of_slots(std::string_view text) {
  const auto hosts = parse_host_file(text, "hosts");
  if (hosts) return "accepted";
  EXPECT_EQ(hosts.error().code, Code::kInvalidArgument);
  return hosts.error().message;
}

TEST(HostFile, ReadsTheFormOfOpenMpi) {
  EXPECT_EQ(
      read("# two of them\nnode1 slots=4 max_slots=8\n\n  ada@node2.x.org\tcpus=2 # fast\r\n"),
      (Slots{{"node1", 4}, {"node2.x.org", 2}}));
}

TEST(HostFile, ReadsTheFormOfHydra) {
  EXPECT_EQ(read("node1:4 binding=user:0,1\nnode2 user=ada\nnode[3-4]:2"),
            (Slots{{"node1", 4}, {"node2", 1}, {"node3", 2}, {"node4", 2}}));
}

TEST(HostFile, CountsAHostAsOftenAsItIsNamed) {
  EXPECT_EQ(read("b\na\nb\nb slots=3\n"), (Slots{{"b", 5}, {"a", 1}}));
}

TEST(HostFile, SaysWhereItIsWrong) {
  EXPECT_EQ(refusal_of_slots("node1\nnode2 slot=4\n"),
            "hosts:2: 'slot=4' is not valid in a host file; write HOST slots=N or HOST:N");
  EXPECT_THAT(refusal_of_slots("node1 slots=four"),
              StartsWith("hosts:1: 'slots=four' tells no number"));
  EXPECT_THAT(refusal_of_slots("node1:\n"), StartsWith("hosts:1: 'node1:' tells no number"));
  EXPECT_THAT(refusal_of_slots("\n\nno$name"),
              AllOf(StartsWith("hosts:3: "), HasSubstr("not a host name")));
  EXPECT_THAT(refusal_of_slots(":4"), StartsWith("hosts:1: a host's name is missing"));
  EXPECT_THAT(refusal_of_slots("a slots=1000001"), HasSubstr("tells no number"));
  EXPECT_THAT(refusal_of_slots("a slots=1000000\na"),
              StartsWith("hosts:2: 'a' has too many slots"));
  EXPECT_THAT(refusal_of_slots("# nobody\n"), StartsWith("hosts: no host is named"));
}

TEST(HostFile, IsReadFromAPath) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "hosts_of_a_test";
  std::ofstream(path) << "node1 slots=2\nnode1 oops\n";
  const auto hosts = read_host_file(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(hosts);
  EXPECT_THAT(hosts.error().message, StartsWith(path.string() + ":2: 'oops'"));
  const auto missing = read_host_file(path);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const auto folder = read_host_file(::testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("is a folder"));
}

TEST(Counts, AreReadOneByOneAndRepeated) {
  EXPECT_THAT(*parse_counts("8,2,2,0"), ElementsAre(8, 2, 2, 0));
  EXPECT_THAT(*parse_counts("4(x3),2"), ElementsAre(4, 4, 4, 2));
  EXPECT_THAT(*parse_counts(""), IsEmpty());
}

TEST(Counts, QuoteWhatIsNone) {
  for (const char* text : {"8,,2", "8,", "-1", "4(x0)", "4(x", "4(x2", "4(x2)3", "(x2)", "1.5",
                           " 1", "99999999999", "1(x9999999)"}) {
    const auto counts = parse_counts(text);
    ASSERT_FALSE(counts) << text;
    EXPECT_THAT(counts.error().message, HasSubstr("'")) << text;
  }
  EXPECT_THAT(parse_counts("2,x").error().message, StartsWith("'x' is not a count"));
}

TEST(Slurm, TellsHostsAndTasks) {
  EXPECT_EQ(*slurm_slots("node[01-03],login", "16(x3),4"),
            (Slots{{"node01", 16}, {"node02", 16}, {"node03", 16}, {"login", 4}}));
  EXPECT_EQ(*slurm_slots("node[1-2]", ""), (Slots{{"node1", 1}, {"node2", 1}}));
}

TEST(Slurm, NamesTheVariableThatIsWrong) {
  EXPECT_THAT(slurm_slots("node[1-", "1").error().message, StartsWith("SLURM_JOB_NODELIST: "));
  EXPECT_THAT(slurm_slots("node1", "x").error().message, StartsWith("SLURM_TASKS_PER_NODE: "));
  EXPECT_THAT(slurm_slots("node[1-3]", "2(x2)").error().message,
              HasSubstr("names 3 hosts, SLURM_TASKS_PER_NODE counts for 2"));
}

}  // namespace
}  // namespace xylem::tree
