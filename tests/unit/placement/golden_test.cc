// Hosts and shape in, topology text and explanation out, byte by byte: tests/golden/placement/.
// The example files of topology_files/ are read here as well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "placement/place.h"

namespace xylem::placement {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = XYLEM_SOURCE_DIR;

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path << " cannot be read";
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Case {
  std::string shape;
  std::string front_end;
  std::vector<tree::Host> hosts;
};

Case read_case(const fs::path& path) {
  Case read;
  std::istringstream lines(contents(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "shape") {
      words >> read.shape;
    } else if (word == "front_end") {
      words >> read.front_end;
    } else if (word == "host") {
      tree::Host host;
      words >> host.name >> host.back_ends >> host.processes;
      read.hosts.push_back(host);
    } else {
      EXPECT_EQ(line.front(), '#') << path << ": " << line;
    }
    EXPECT_FALSE(words.fail()) << path << ": " << line;
  }
  return read;
}

void compare(const std::string& text, const fs::path& expected) {
  if (std::getenv("XYLEM_UPDATE_GOLDEN") != nullptr) std::ofstream(expected) << text;
  EXPECT_EQ(text, contents(expected)) << expected;
}

TEST(GoldenPlacement, ComesOutByteByByte) {
  std::size_t cases = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/golden/placement")) {
    if (entry.path().extension() != ".hosts") continue;
    SCOPED_TRACE(entry.path());
    ++cases;
    const Case read = read_case(entry.path());
    const auto shape = tree::parse_shape(read.shape);
    ASSERT_TRUE(shape) << shape.error().message;
    const auto plan = plan_tree(read.hosts, *shape, {}, read.front_end);
    ASSERT_TRUE(plan) << plan.error().message;
    compare(print(plan->topology), fs::path(entry.path()).replace_extension(".topo"));
    compare(explain(*plan, read.hosts), fs::path(entry.path()).replace_extension(".explain"));
  }
  EXPECT_GE(cases, 8u);
}

TEST(TopologyFiles, AreExamplesThatCanBeUsed) {
  std::size_t examples = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "topology_files")) {
    if (entry.path().extension() != ".topo") continue;
    SCOPED_TRACE(entry.path());
    ++examples;
    const auto file = tree::read_topology_file(entry.path());
    ASSERT_TRUE(file) << file.error().message;
    std::set<std::string> names;
    for (const auto& process : file->topology.processes()) names.insert(process.host);
    std::vector<tree::Host> hosts;
    for (const auto& name : names) hosts.push_back({name, 1, 1, 0});
    const auto plan = plan_tree(hosts, *file, file->topology.front_end().host);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->topology, file->topology);
  }
  EXPECT_GE(examples, 11u);
}

}  // namespace
}  // namespace xylem::placement
