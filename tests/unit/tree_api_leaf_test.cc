// The leaf's side of tool streams: journals as small as they may be, what close() says, and the
// waiting calls' time-outs.

#include <gtest/gtest.h>

#include <string>

#include "tests/support/task.h"
#include "tests/support/tool_tree.h"

namespace xylem {
namespace {

using testing::kPatience;
using testing::Task;

class TreeApiLeafTest : public testing::ToolTreeTest {
 protected:
  // A leaf beside the first one, which keeps so little.
  void join_tight(std::size_t journal_bytes) {
    backend::LeafOptions own = options_of("tight");
    own.journal_bytes = journal_bytes;
    join(std::move(own));
    tree_->wait_for_leaves(2, kPatience).value();
  }
};

class TreeApiSmallJournalTest : public TreeApiLeafTest,
                                public ::testing::WithParamInterface<std::size_t> {};

// Waves that come faster than they leave share packets: none may be more than the journal takes.
TEST_P(TreeApiSmallJournalTest, DeliversWavesThatFollowOneAnotherClosely) {
  start(1);
  join_tight(GetParam());
  auto stream = open({.name = "large"});
  auto leaf = stream_of(1, "large");
  const std::string text(8000, 'x');
  constexpr std::uint64_t kWaves = 300;
  for (std::uint64_t sent = 0, received = 0; sent < kWaves || received < kWaves;) {
    // As many as wait in the leaf without blocking it, then what has arrived of them.
    for (int i = 0; i < 60 && sent < kWaves; ++i, ++sent) leaf.send({{1, text}}).value();
    for (; received < sent; ++received) {
      const auto wave = stream.receive(kPatience);
      ASSERT_TRUE(wave) << received << " of " << sent << ": " << wave.error().message;
      EXPECT_EQ(wave->number, received);
    }
  }
  EXPECT_TRUE(leaf.flush(kPatience));
  EXPECT_TRUE(leaves_[1]->close(kPatience));
}

INSTANTIATE_TEST_SUITE_P(KiB, TreeApiSmallJournalTest,
                         ::testing::Values(64u << 10, 80u << 10, 128u << 10),
                         [](const auto& of) { return std::to_string(of.param >> 10); });

// The front end's queue is full and so is the journal: the rest has never been in it.
TEST_F(TreeApiLeafTest, SaysWhenItIsClosedThatWavesWereNeverInTheJournal) {
  frontend::TreeOptions options;
  options.shape = "flat";
  options.queue_bytes = 64u << 10;
  start(std::move(options), 1);
  join_tight(64u << 10);
  auto stream = open({.name = "stuck"});
  auto leaf = stream_of(1, "stuck");
  const std::string text(8000, 'x');
  for (int i = 0; i < 120; ++i) leaf.send({{1, text}}).value();
  const auto closed = leaves_[1]->close(300 * kMillisecond);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, Code::kTimedOut);
  EXPECT_NE(closed.error().message.find(" packets were not acknowledged in time"),
            std::string::npos)
      << closed.error().message;
  // One or two waves in each; the journal alone holds fewer than ten.
  EXPECT_GT(std::stoi(closed.error().message.substr(closed.error().message.find(": ") + 2)), 20)
      << closed.error().message;
}

}  // namespace
}  // namespace xylem
