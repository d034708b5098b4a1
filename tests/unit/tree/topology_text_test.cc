#include "tree/topology_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace xylem::tree {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string printed(std::string_view text) {
  const auto file = parse_topology(text, "x.topo");
  return file ? print(file->topology) : file.error().message;
}

std::string refusal_of_text(std::string_view text) {
  const auto file = parse_topology(text, "x.topo");
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  return file.error().message;
}

/// A random tree whose hosts carry several processes each.
Topology make_random_topology(std::mt19937& random) {
  const std::uint32_t size = 1 + static_cast<std::uint32_t>(random() % 60);
  std::vector<Branch> branches;
  for (std::uint32_t i = 0; i < size; ++i) {
    branches.push_back({{"node-" + std::to_string(i % 7) + ".x_y", i}, {}});
    if (i > 0) branches[random() % i].children.push_back(branches[i].parent);
  }
  std::shuffle(branches.begin(), branches.end(), random);
  auto topology = Topology::make(branches);
  EXPECT_TRUE(topology) << topology.error().message;
  return *std::move(topology);
}

TEST(TopologyText, ReadsMrnetsFormat) {
  EXPECT_EQ(printed("# head and two\nhead:0 => n1:0 n2:7 ; # yes\nn1:0 =>\n  n2:0\n  n2:1;"),
            "head:0 => n1:0 n2:7 ;\nn1:0 => n2:0 n2:1 ;\n");
}

TEST(TopologyText, NeedsNoBlanksAndNoOrder) {
  EXPECT_EQ(printed("b:0=>c:0;a:0=>b:0;"), "a:0 => b:0 ;\nb:0 => c:0 ;\n");
  EXPECT_EQ(printed("a:0 =>\r\n b:4294967295 ;\r\n"), "a:0 => b:4294967295 ;\n");
}

TEST(TopologyText, ReadsAFrontEndAlone) { EXPECT_EQ(printed("head:0 ;"), "head:0 ;\n"); }

TEST(TopologyText, RemembersWhereEachProcessStands) {
  const auto file = parse_topology("\nb:0 => c:0\n d:0 ;\n# x\na:0 => b:0 ;", "x.topo");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->source, "x.topo");
  EXPECT_THAT(file->lines, ElementsAre(5, 5, 2, 3));  // a b c d
}

TEST(TopologyText, SaysFileAndLineOfASyntaxError) {
  EXPECT_THAT(refusal_of_text("a:0 => b:0 ;\nb:0 -> c:0 ;"),
              AllOf(StartsWith("x.topo:2: syntax error: "), HasSubstr("after b:0, found '-'")));
  EXPECT_THAT(refusal_of_text("a:0 => b:0"), HasSubstr("found the end of the text"));
  EXPECT_THAT(refusal_of_text("a:0 => ;"),
              HasSubstr("expected a process such as node1:0, found ';'"));
  EXPECT_THAT(refusal_of_text("a => b:0 ;"), HasSubstr("write a:0"));
  EXPECT_THAT(refusal_of_text("a:x ;"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal_of_text("a:4294967296 ;"), HasSubstr("expected a number"));
  EXPECT_THAT(refusal_of_text("a:0 => b:0 => c:0 ;"),
              HasSubstr("expected a child or ';' after b:0"));
  EXPECT_THAT(refusal_of_text("a:0 b:0 ;"), HasSubstr("expected '=>' or ';' after a:0, found 'b'"));
  EXPECT_THAT(refusal_of_text("\x01:0 ;"), HasSubstr("found the byte 0x01"));
  EXPECT_THAT(refusal_of_text(std::string(300, 'a') + ":0 ;"),
              HasSubstr("too long for a host name"));
}

TEST(TopologyText, SaysWhereAHostIsNamedTwice) {
  EXPECT_THAT(refusal_of_text("head:0 =>\n n1:0\n node12:0 ;\n\n\nn1:0 =>\n node12:0 ;"),
              AllOf(StartsWith("x.topo:7: host node12 is named twice"), HasSubstr("(line 3)"),
                    HasSubstr("give each process")));
  EXPECT_THAT(refusal_of_text("a:0 => b:0 ;\na:0 => c:0 ;"),
              AllOf(StartsWith("x.topo:2: host a is named twice"), HasSubstr("one statement")));
}

TEST(TopologyText, SaysWhereACycleCloses) {
  EXPECT_THAT(refusal_of_text("head:0 => a:0 ;\na:0 => b:0 ;\nb:0 =>\n a:0 ;"),
              StartsWith("x.topo:4: cycle: a:0 => b:0 => a:0; "));
  EXPECT_THAT(refusal_of_text("a:0 => a:0 ;"), StartsWith("x.topo:1: cycle: a:0 => a:0; "));
  EXPECT_THAT(refusal_of_text("head:0 => x:0 ;\na:0 => b:0 ;\nb:0 => a:0 ;"),
              StartsWith("x.topo:3: cycle"));
}

TEST(TopologyText, SaysWhichPartIsNotConnected) {
  EXPECT_THAT(refusal_of_text("\nhead:0 => a:0 ;\nb:0 => c:0 ;"),
              AllOf(StartsWith("x.topo:3: b:0 is not connected"), HasSubstr("head:0 (line 2)")));
}

TEST(TopologyText, RefusesATextWithoutProcesses) {
  for (const char* text : {"", "\n\n", "# nothing\n", "   "}) {
    EXPECT_THAT(refusal_of_text(text), AllOf(StartsWith("x.topo:1: "), HasSubstr("head:0 ;")));
  }
  EXPECT_THAT(refusal_of_text(";"), HasSubstr("expected a process"));
}

TEST(TopologyText, RefusesATextOverTheLimit) {
  EXPECT_THAT(refusal_of_text(std::string(kMaxTopologyBytes + 1, ' ')), HasSubstr("larger than"));
}

TEST(TopologyText, ReadsBackEveryPrintedTree) {
  std::mt19937 random(42);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 2000; ++trial) {
    const Topology topology = make_random_topology(random);
    const auto again = parse_topology(print(topology), "printed");
    ASSERT_TRUE(again) << "trial " << trial << ": " << again.error().message;
    ASSERT_EQ(again->topology, topology) << "trial " << trial;
  }
}

/// What may stand between two words.
std::string random_gap(std::mt19937& random) {
  static constexpr const char* kGaps[] = {
      " ",          "\t", "  ", "\n", "\r\n", "\n\n    ", " # a comment; with => and n1:0 in it\n",
      "\n#\n#;\n\t"};
  return kGaps[random() % std::size(kGaps)];
}

TEST(TopologyText, ReadsATreeInAnyLayout) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed << ", trial " << trial);
    const Topology topology = make_random_topology(random);
    // One statement a line, as print() makes them, cut into words and laid out anew.
    std::vector<std::string> statements;
    std::istringstream lines(print(topology));
    for (std::string line; std::getline(lines, line);) {
      std::string laid_out;
      std::istringstream words(line);
      for (std::string word; words >> word;) laid_out += word + random_gap(random);
      statements.push_back(laid_out);
    }
    std::shuffle(statements.begin(), statements.end(), random);
    std::string text;
    for (const std::string& statement : statements) text += random_gap(random) + statement;

    const auto again = parse_topology(text, "laid out");
    ASSERT_TRUE(again) << again.error().message << "\n" << text;
    ASSERT_EQ(again->topology, topology) << text;
  }
}

TEST(TopologyText, ReadsAChainOfAHundredThousandProcesses) {
  std::string text;
  for (int i = 100'000; i > 0; --i) {
    text += "n:" + std::to_string(i - 1) + " => n:" + std::to_string(i) + " ;\n";
  }
  const auto file = parse_topology(text, "chain");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->topology.skeleton().depth(), 100'000u);
}

TEST(TopologyText, SurvivesAnyMutation) {
  const std::string seed =
      "# two levels\nhead:0 => n1:0 n2:0 ;\nn1:0 => n3:1 n3:2 ;\nn2:0 => n4:0 ;\n";
  const std::string alphabet = "=>;:#\n ahn0123\xff-._\t";
  std::mt19937 random(99);  // Fixed, so that a failure can be repeated.
  std::size_t accepted = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string text = seed;
    for (std::size_t change = 1 + random() % 6; change > 0; --change) {
      const std::size_t at = random() % (text.size() + 1);
      const std::size_t length = std::min<std::size_t>(random() % 9, text.size() - at);
      switch (random() % 4) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          text.insert(random() % (text.size() + 1), text.substr(at, length));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    const auto file = parse_topology(text, "m");
    if (!file) {
      ASSERT_THAT(file.error().message, StartsWith("m:")) << "trial " << trial;
      continue;
    }
    ++accepted;
    const auto again = parse_topology(print(file->topology), "m");
    ASSERT_TRUE(again) << "trial " << trial << ": " << again.error().message;
    ASSERT_EQ(again->topology, file->topology) << "trial " << trial;
  }
  EXPECT_GT(accepted, 1000u) << "mutations leave hardly a text that can be read: a poor test";
}

TEST(TopologyFile, IsReadFromDisk) {
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("xylem-topology-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "a.topo").string();
  std::ofstream(path) << "a:0 => b:0 ;\nb:0 => ;\n";
  const auto broken = read_topology_file(path);
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, StartsWith(path + ":2: syntax error"));

  std::ofstream(path) << "a:0 => b:0 ;\n";
  const auto file = read_topology_file(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->topology.size(), 2u);

  const auto missing = read_topology_file(path + "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const auto directory = read_topology_file(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Code::kInvalidArgument);
  std::filesystem::remove_all(folder);
}

TEST(TopologyFile, StopsReadingAnEndlessFile) {
  const auto endless = read_topology_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message, HasSubstr("larger than"));
}

}  // namespace
}  // namespace xylem::tree
