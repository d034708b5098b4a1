#include "tree/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tree/host_name.h"

namespace xylem::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

Names listed(std::string_view text) {
  const auto hosts = parse_host_list(text);
  EXPECT_TRUE(hosts) << hosts.error().message;
  return hosts ? *hosts : Names{};
}

std::string refusal_of_list(std::string_view text) {
  const auto hosts = parse_host_list(text);
  if (hosts) return "accepted";
  EXPECT_EQ(hosts.error().code, Code::kInvalidArgument);
  return hosts.error().message;
}

TEST(HostList, NamesHostsOneByOneAndByRanges) {
  EXPECT_THAT(listed("head"), ElementsAre("head"));
  EXPECT_THAT(listed("node[01-03,07],head"),
              ElementsAre("node01", "node02", "node03", "node07", "head"));
  EXPECT_THAT(listed("n[9-11].x.org"), ElementsAre("n9.x.org", "n10.x.org", "n11.x.org"));
  EXPECT_THAT(listed(""), IsEmpty());
}

TEST(HostList, KeepsTheWidthOfTheFirstNumber) {
  EXPECT_THAT(listed("n[08-10]"), ElementsAre("n08", "n09", "n10"));
  EXPECT_THAT(listed("n[099-100]"), ElementsAre("n099", "n100"));
}

TEST(HostList, ReadsTheVectorsOfRfc29) {
  const std::pair<const char*, Names> vectors[] = {
      {"", {}},
      {"foox,fooy,fooz", {"foox", "fooy", "fooz"}},
      {"[1-3,5-6]", {"1", "2", "3", "5", "6"}},
      {"foo[1-5]", {"foo1", "foo2", "foo3", "foo4", "foo5"}},
      {"foo[0-4]-eth2", {"foo0-eth2", "foo1-eth2", "foo2-eth2", "foo3-eth2", "foo4-eth2"}},
      {"foo1,foo1,foo1", {"foo1", "foo1", "foo1"}},
      {"[00-02]", {"00", "01", "02"}},
      {"[00-2]", {"00", "01", "02"}},
      {"foo[1,1,2,1]", {"foo1", "foo1", "foo2", "foo1"}},
      // Of its text: the first number's leading zeros hold for all of the bracket.
      {"[5,4,11-13]", {"5", "4", "11", "12", "13"}},
      {"[005,4,11-13]", {"005", "004", "011", "012", "013"}},
  };
  for (const auto& [text, names] : vectors) EXPECT_EQ(listed(text), names) << text;
}

TEST(HostList, ReadsFullNames) {
  EXPECT_THAT(listed("n[1-2].rack[07-08].example.org"),
              ElementsAre("n1.rack07.example.org", "n1.rack08.example.org", "n2.rack07.example.org",
                          "n2.rack08.example.org"));
}

TEST(HostList, CrossesSeveralBrackets) {
  EXPECT_THAT(listed("rack[1-2]n[1-2]"), ElementsAre("rack1n1", "rack1n2", "rack2n1", "rack2n2"));
}

TEST(HostList, SaysWhichItemIsWrong) {
  EXPECT_THAT(refusal_of_list("a,,b"), HasSubstr("'' is not a host name"));
  EXPECT_THAT(refusal_of_list("a,"), HasSubstr("is not a host name"));
  EXPECT_THAT(refusal_of_list("n[1-2"), HasSubstr("'n[1-2' has a bracket that is not closed"));
  EXPECT_THAT(refusal_of_list("n[[1]]"), HasSubstr("a bracket in a bracket"));
  EXPECT_THAT(refusal_of_list("n[]"), HasSubstr("without numbers"));
  EXPECT_THAT(refusal_of_list("n[3-1]"), HasSubstr("without numbers"));
  EXPECT_THAT(refusal_of_list("n[a-b]"), HasSubstr("without numbers"));
  EXPECT_THAT(refusal_of_list("n[1,]"), HasSubstr("without numbers"));
  EXPECT_THAT(refusal_of_list("n 1"), HasSubstr("is not a host name"));
  EXPECT_THAT(refusal_of_list("n]"), HasSubstr("is not a host name"));
}

TEST(HostList, RefusesABracketBehindANameThatCannotBeLonger) {
  const std::string longest(253, 'a');
  EXPECT_THAT(refusal_of_list(longest + "[1-9]"), HasSubstr("is not a host name"));
  EXPECT_THAT(refusal_of_list(longest + "[1-9],b"), HasSubstr("at most 253"));
  EXPECT_TRUE(parse_host_list(longest));
  const auto hosts = parse_host_list(longest.substr(1) + "[1-9]");
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_EQ(hosts->size(), 9u);
}

TEST(HostList, RefusesToGrowWithoutBound) {
  EXPECT_THAT(refusal_of_list("n[0-999999999999999999]"), HasSubstr("too many"));
  EXPECT_THAT(refusal_of_list("n[0-9999]n[0-9999]"), HasSubstr("too many"));
  EXPECT_THAT(refusal_of_list("n[0-999999],n[0-999999]"), HasSubstr("too many"));
  EXPECT_THAT(refusal_of_list("n[1234567890123456789]"), HasSubstr("without numbers"));
}

TEST(FoldHosts, GathersNamesThatDifferInTheirLastNumber) {
  EXPECT_EQ(fold_hosts(Names{"n07", "n01", "n03", "n02", "n04", "n01"}), "n[01-04,07]");
  EXPECT_EQ(fold_hosts(Names{"node12"}), "node12");
  EXPECT_EQ(fold_hosts(Names{"head", "node1", "node2"}), "head,node[1-2]");
  EXPECT_EQ(fold_hosts(Names{"n1.a.org", "n2.a.org", "n1.b.org"}), "n[1-2].a.org,n1.b.org");
  EXPECT_EQ(fold_hosts(Names{}), "");
}

TEST(FoldHosts, KeepsNamesOfDifferentWidthApart) {
  EXPECT_EQ(fold_hosts(Names{"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(fold_hosts(Names{"n1", "n01"}), "n[1,01]");
  EXPECT_EQ(fold_hosts(Names{"n01", "n2", "n03", "n004"}), "n[01,03,004],n2");
  EXPECT_EQ(fold_hosts(Names{"n", "n1"}), "n,n1");
}

TEST(FoldHosts, IsReadBackToTheSameHosts) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Names stems = {"n", "node", "r1n", "a-", "x.", ""};
  const Names rests = {"", ".cluster.org", "b"};
  for (int trial = 0; trial < 3000; ++trial) {
    Names hosts;
    for (std::size_t count = random() % 40; count > 0; --count) {
      std::string number = std::to_string(random() % (trial % 2 == 0 ? 15 : 1200));
      if (random() % 3 == 0) number.insert(0, random() % 3, '0');
      hosts.push_back(stems[random() % stems.size()] + number + rests[random() % rests.size()]);
    }
    const std::string folded = fold_hosts(hosts);
    Names read = listed(folded);
    std::ranges::sort(read);
    std::ranges::sort(hosts);
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    ASSERT_EQ(read, hosts) << folded;
  }
}

TEST(HostList, SurvivesAnyText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const std::string alphabet = "n[],-0129.\xff ";
  std::size_t accepted = 0;
  for (int trial = 0; trial < 50'000; ++trial) {
    std::string text;
    for (std::size_t length = random() % 14; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    const auto hosts = parse_host_list(text);
    if (hosts) {
      ++accepted;
    } else {
      ASSERT_THAT(hosts.error().message, ::testing::StartsWith("host list: "));
    }
  }
  EXPECT_GT(accepted, 100u);
}

TEST(HostName, WithAndWithoutADomainMayBeOneHost) {
  EXPECT_TRUE(may_be_one_host("node1", "node1"));
  EXPECT_TRUE(may_be_one_host("node1", "node1.a.org"));
  EXPECT_TRUE(may_be_one_host("node1.a.org", "node1"));
  EXPECT_FALSE(may_be_one_host("node1.a.org", "node1.b.org"));
  EXPECT_FALSE(may_be_one_host("node1", "node11"));
  EXPECT_FALSE(may_be_one_host("node1", "node11.a.org"));
}

TEST(HostName, ASetTellsHowAHostIsWrittenThere) {
  HostNameSet names;
  EXPECT_EQ(names.add("node1.a.org"), std::nullopt);
  EXPECT_EQ(names.add("node1.b.org"), std::nullopt);
  EXPECT_EQ(names.add("node2"), std::nullopt);
  EXPECT_EQ(names.add("node1"), "node1.a.org");
  EXPECT_EQ(names.add("node2.a.org"), "node2");
}

}  // namespace
}  // namespace xylem::tree
