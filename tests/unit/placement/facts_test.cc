#include "placement/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "placement/room.h"

namespace xylem::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

FactTable read_facts_of(std::string_view text) {
  auto table = parse_fact_table(text, "facts");
  EXPECT_TRUE(table) << table.error().message;
  return table ? *std::move(table) : FactTable{};
}

std::string refusal_of_facts(std::string_view text) {
  const auto table = parse_fact_table(text, "facts");
  if (table) return "accepted";
  EXPECT_EQ(table.error().code, Code::kInvalidArgument);
  return table.error().message;
}

TEST(FactTable, ReadsColumnsBetweenBlanksOrCommas) {
  for (const char* text :
       {"host idle memory\nn[1,3] 0.5 -\nn2 - 8 # half\n", "host,idle,memory\nn[1,3],0.5,\nn2,,8\n",
        " host ,idle,  memory\r\n n[1,3] , 0.5 , -\r\nn2\t-,8"}) {
    const FactTable table = read_facts_of(text);
    ASSERT_EQ(table.rows.size(), 3u) << text;
    EXPECT_EQ(table.rows[0].host, "n1");
    EXPECT_EQ(table.rows[0].facts[Fact::kIdle], 0.5);
    EXPECT_EQ(table.rows[0].facts[Fact::kMemory], std::nullopt);
    EXPECT_EQ(table.rows[1].host, "n3");
    EXPECT_EQ(table.rows[1].facts, table.rows[0].facts);
    EXPECT_EQ(table.rows[2].facts[Fact::kIdle], std::nullopt);
    EXPECT_EQ(table.rows[2].facts[Fact::kMemory], 8);
    EXPECT_EQ(table.rows[2].line, 3u);
  }
}

TEST(FactTable, SaysWhereItIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "facts: is empty; write a line of names"},
      {"node1 0.5\n", "facts:1: the first line names the columns, host first, and 'node1' is not"},
      {"\nhost heat\n", "facts:2: 'heat' is not a factor; they are idle, run_queue,"},
      {"host idle idle\n", "facts:1: 'idle' is there twice"},
      {"host processes\n", "facts:1: processes are counted, not told here"},
      {"host idle\nnode1\n", "facts:2: 1 columns where the first line names 2; write - for"},
      {"host idle\nnode1 0.5 3\n", "facts:2: 3 columns where the first line names 2"},
      {"host idle\nnode1 half\n", "facts:2: 'half' is not a number"},
      {"host idle\nnode1 1.5\n", "facts:2: '1.5' cannot be idle, a share from 0 to 1"},
      {"host memory\nnode1 -2\n", "facts:2: '-2' cannot be memory, a number from 0 on"},
      {"host memory\nnode1 inf\n", "facts:2: 'inf' cannot be memory"},
      {"host cores\nnode1 0\n", "facts:2: '0' cannot be cores, a number above 0; write - for"},
      {"host idle\nnode[1-\n", "facts:2: 1 columns where"},
      {"host idle\nnode[1- 1\n", "facts:2: host list: 'node[1-' has a bracket that is not closed"},
      {"host idle\nn1 0.5\nn[1-2] 0.5\n", "facts:3: host n1 is there already (line 2)"},
      {"host idle\n,0.5\n", "facts:2: a host's name is missing"},
  };
  for (const auto& [text, sentence] : cases)
    EXPECT_THAT(refusal_of_facts(text), StartsWith(sentence)) << text;
}

TEST(AddFacts, FindsHostsByFullAndByShortNames) {
  std::vector<tree::Host> hosts = {{"a.x.org", 1, 3, 0}, {"b", 1, 4, 16}, {"c", 1, 0, 0}};
  auto facts = facts_of(hosts);
  EXPECT_EQ(facts[1][Fact::kCores], 16);
  EXPECT_EQ(facts[0][Fact::kProcesses], 3);
  const auto table = read_facts_of("host idle cores\na 0.5 8\nb.x.org 0.25 -\nelsewhere 1 1\n");
  const auto added = add_facts(table, hosts, facts);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(facts[0][Fact::kIdle], 0.5);
  EXPECT_EQ(hosts[0].cores, 8u) << "the capacity comes from the host";
  EXPECT_EQ(facts[1][Fact::kIdle], 0.25);
  EXPECT_EQ(facts[1][Fact::kCores], 16) << "what the table does not know stays";
  EXPECT_EQ(facts[2][Fact::kIdle], std::nullopt);
}

TEST(AddFacts, APartOfACoreHasRoomForOne) {
  std::vector<tree::Host> hosts = {{"a", 1, 0, 0}, {"b", 1, 0, 0}};
  auto facts = facts_of(hosts);
  ASSERT_TRUE(add_facts(read_facts_of("host cores\na 0.5\nb 2.5\n"), hosts, facts));
  EXPECT_EQ(facts[0][Fact::kCores], 0.5);
  EXPECT_EQ(hosts[0].cores, 1u);
  EXPECT_EQ(hosts[1].cores, 2u);
}

TEST(AddFacts, RefusesATableOfOtherHosts) {
  std::vector<tree::Host> hosts = {{"a", 1, 0, 0}};
  auto facts = facts_of(hosts);
  const auto added = add_facts(read_facts_of("host idle\nz 1\n"), hosts, facts);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "facts: names none of the hosts; use its hosts: a");
}

TEST(Room, IsWhatEveryRuleLeaves) {
  const std::vector<tree::Host> hosts = {{"a", 1, 4, 16}, {"b", 1, 4, 2}, {"c", 0, 0, 0}};
  EXPECT_THAT(*room_of(hosts, {}), ElementsAre(16, 2, kUnlimited));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kMixed, {}, 8}), ElementsAre(8, 2, 8));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kCompute}), ElementsAre(16, 2, 0));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kExtra}), ElementsAre(0, 0, kUnlimited));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kMixed, {"a"}}), ElementsAre(0, 2, kUnlimited));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kCompute, {}, {}, 3}), ElementsAre(13, 0, 0));
  EXPECT_THAT(*room_of(hosts, {CommHosts::kCompute, {}, {}, 0, true}), ElementsAre(12, 0, 0));
}

TEST(Room, RefusesWhatItCannotKnow) {
  const std::vector<tree::Host> hosts = {{"a", 1, 4, 16}, {"c", 0, 0, 0}};
  const auto reserved = room_of(hosts, {CommHosts::kMixed, {}, {}, 1});
  ASSERT_FALSE(reserved);
  EXPECT_THAT(reserved.error().message, HasSubstr("those of host c are not known"));
  const auto excluded = room_of(hosts, {CommHosts::kMixed, {"z"}});
  ASSERT_FALSE(excluded);
  EXPECT_EQ(excluded.error().code, Code::kNotFound);
  EXPECT_THAT(excluded.error().message, HasSubstr("host z is to be excluded"));
  EXPECT_FALSE(parse_comm_hosts("all"));
  EXPECT_EQ(*parse_comm_hosts("extra"), CommHosts::kExtra);
}

TEST(Room, IsNotExceeded) {
  EXPECT_TRUE(check_room(5, 3, {}));
  EXPECT_TRUE(check_room(0, 0, {}));
  EXPECT_TRUE(check_room(5, 2, std::vector<std::uint64_t>{kUnlimited, 4}));
  const auto full = check_room(5, 2, std::vector<std::uint64_t>{0, 4});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message,
            "5 communication processes do not fit: the 2 hosts have room for 4; ask for fewer, "
            "allow more on a host, or add hosts");
  EXPECT_FALSE(check_room(1, 0, {}));
}

}  // namespace
}  // namespace xylem::placement
