// Shares of multicasts below real communication processes, which are killed meanwhile.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using frontend::TreeEvent;
using testing::kPatience;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kLeaves = 8;
constexpr std::int64_t kNumber = 1, kItems = 2;

class TreeDownProcessesTest : public testing::ToolTreeTest {
 protected:
  // Eight leaves in this process, below four communication processes below two.
  void SetUp() override {
    ASSERT_EQ(::setenv("XYLEM_COMMPROC", XYLEM_TEST_COMM_PROCESS, 1), 0);
    frontend::TreeOptions options;
    options.shape = "kary:2";
    options.comm_process = XYLEM_TEST_COMM_PROCESS;
    options.start_limit = kPatience;
    start(std::move(options), kLeaves);
    for (const auto& leaf : leaves_) ids_.insert(raw(leaf->id()));
  }
  void TearDown() override {
    if (tree_) {
      EXPECT_TRUE(tree_->close(kPatience));
    }
    ::unsetenv("XYLEM_COMMPROC");
  }

  // "NODE comm_process HOST pid PID level ..." of Tree::print().
  std::vector<pid_t> comm_processes() const {
    std::vector<pid_t> found;
    std::istringstream in(tree_->print());
    for (std::string line; std::getline(in, line);) {
      char role[32] = {}, host[256] = {};
      int node = 0, pid = 0;
      if (std::sscanf(line.c_str(), "%d %31s %255s pid %d", &node, role, host, &pid) == 4 &&
          std::string(role) == "comm_process" && line.find("attached") != std::string::npos) {
        found.push_back(pid);
      }
    }
    return found;
  }

  // The part of the leaf, by the sentence of filters/scatter.h.
  static Numbers part_of(const Numbers& items, const IntervalSet& to, std::uint64_t leaf) {
    const std::size_t count = to.count(), position = to.count_below(leaf);
    const std::size_t least = items.size() / count, more = items.size() % count;
    Numbers part;
    std::size_t at = 0;
    for (std::size_t p = 0; p <= position; ++p) {
      part.clear();
      const std::size_t length = least + (p < more ? 1 : 0);
      for (std::size_t i = 0; i < length; ++i) part.push_back(items[at++]);
    }
    return part;
  }

  IntervalSet ids_;
};

TEST_F(TreeDownProcessesTest, TheFrontEndIsToldOfANodeWhoseNarrowingFails) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("xylem-down-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::filesystem::path plugin = folder / "span.so";  // That only this user may write.
  std::filesystem::copy_file(std::filesystem::path(XYLEM_TEST_PLUGINS) / "span.so", plugin);
  std::filesystem::permissions(plugin, std::filesystem::perms::owner_read);
  auto odd = open({.name = "odd", .narrowing = "alternate", .narrowing_plugin = plugin});
  std::filesystem::remove_all(folder);  // Nodes have copies of their own.
  // Field 14 is for the leaf at the first place alone; it makes nothing for every other one.
  ASSERT_TRUE(odd.multicast({{kNumber, std::int64_t{1}}}));
  ASSERT_TRUE(odd.multicast({{kNumber, std::int64_t{2}}, {14, 0.5}}));
  ASSERT_TRUE(odd.multicast({{kNumber, std::int64_t{3}}}));
  std::set<std::uint32_t> missed;
  bool is_told_why = false;
  while (missed.size() < kLeaves - 1 || !is_told_why) {
    const auto event = tree_->next_event(kPatience);
    ASSERT_TRUE(event) << event.error().message;
    if (event->kind == TreeEvent::Kind::kGap) {
      EXPECT_EQ(event->text, "missed multicasts 2 to 2 of 'odd'");
      missed.insert(raw(event->leaf));
    }
    const bool is_why = event->kind == TreeEvent::Kind::kNotice &&
                        event->text.find("field 14 is for the first alone") != std::string::npos;
    if (!is_why) continue;
    is_told_why = true;
    EXPECT_FALSE(event->host.empty());
    EXPECT_EQ(event->text.find("stream 'odd': plugin "), 0u) << event->text;
  }
  for (const auto& leaf : leaves_) {
    auto stream = *leaf->stream("odd", kPatience);
    const std::uint64_t place = ids_.count_below(raw(leaf->id()));
    const std::vector<std::uint64_t> expected = place == 0 ? std::vector<std::uint64_t>{1, 2, 3}
                                                : place % 2 == 0 ? std::vector<std::uint64_t>{1, 3}
                                                                 : std::vector<std::uint64_t>{};
    for (const std::uint64_t number : expected) {
      const auto received = stream.receive(kPatience);
      ASSERT_TRUE(received) << received.error().message;
      EXPECT_EQ(received->number, number) << "place " << place;
      EXPECT_EQ(*received->fields.get<std::uint64_t>(100), place);
    }
    EXPECT_FALSE(stream.receive(0)) << "place " << place;
  }
}

TEST_F(TreeDownProcessesTest, EachLeafSeesItsPartOfWhatIsForItWhoeverDies) {
  ASSERT_EQ(comm_processes().size(), 6u) << tree_->print();
  auto work = open({.name = "work", .narrowing = "scatter"});
  constexpr std::uint64_t kMulticasts = 300;
  std::vector<IntervalSet> to;
  std::vector<Numbers> items;
  for (std::uint64_t number = 1; number <= kMulticasts; ++number) {
    items.emplace_back();
    for (std::uint64_t i = 0; i < number % 29; ++i) {
      items.back().push_back(static_cast<std::int64_t>(100 * number + i));
    }
    to.push_back(ids_);
    for (const auto& leaf : leaves_) {
      const std::uint64_t id = raw(leaf->id());
      if (number % 3 == 0 && id % 4 != number % 4) to.back().erase(id, id + 1);
    }
    const auto sent = work.multicast(
        {{kNumber, static_cast<std::int64_t>(number)}, {kItems, items.back()}}, to.back());
    ASSERT_TRUE(sent) << sent.error().message;
    if (number % 75 == 0 && number < kMulticasts) {
      const auto victims = comm_processes();
      ASSERT_FALSE(victims.empty()) << tree_->print();
      ASSERT_EQ(::kill(victims[number / 75 % victims.size()], SIGKILL), 0);
    }
  }
  std::uint64_t seen = 0;
  for (const auto& leaf : leaves_) {
    auto stream = *leaf->stream("work", kPatience);
    const std::uint64_t id = raw(leaf->id());
    for (std::uint64_t number = 1; number <= kMulticasts; ++number) {
      if (!to[number - 1].contains(id)) continue;
      const auto received = stream.receive(kPatience);
      ASSERT_TRUE(received) << received.error().message << ": leaf " << id << ", " << number;
      ASSERT_EQ(received->number, number) << "leaf " << id;
      ASSERT_EQ(*received->fields.get<Numbers>(kItems),
                part_of(items[number - 1], to[number - 1], id))
          << "leaf " << id << ", " << number;
      ++seen;
    }
    const auto more = stream.receive(0);
    EXPECT_FALSE(more) << "leaf " << id << " sees what is not for it: " << more->number;
  }
  while (const auto event = tree_->next_event(0)) EXPECT_NE(event->kind, TreeEvent::Kind::kGap);
  std::printf("%llu parts of %llu multicasts\n", static_cast<unsigned long long>(seen),
              static_cast<unsigned long long>(kMulticasts));
}

}  // namespace
}  // namespace xylem
