// The tool builders' API over loopback: a front end and several leaves in one process.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backend/leaf.h"
#include "frontend/tree.h"

namespace xylem {
namespace {

using backend::Leaf;
using backend::LeafOptions;
using frontend::StreamOptions;
using frontend::Tree;
using frontend::TreeOptions;

constexpr Nanos kPatience = 30 * kSecond;

std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return "";
}

class TreeApiTest : public ::testing::Test {
 protected:
  void start(std::size_t leaves, const std::string& shape = "flat") {
    TreeOptions options;
    options.shape = shape;
    options.listen = "127.0.0.1";
    options.expected = leaves;
    auto tree = Tree::start(std::move(options));
    ASSERT_TRUE(tree) << tree.error().message;
    tree_ = *std::move(tree);
    for (std::size_t i = 0; i < leaves; ++i) join("leaf" + std::to_string(i));
    const auto all = tree_->wait_for_leaves(leaves, kPatience);
    ASSERT_TRUE(all) << all.error().message;
  }

  void join(const std::string& name) {
    LeafOptions options;
    options.address = value_of(tree_->environment(), "XYLEM_ADDRESS");
    options.run = value_of(tree_->environment(), "XYLEM_RUN");
    options.key = value_of(tree_->environment(), "XYLEM_KEY");
    options.name = name;
    auto leaf = Leaf::join(std::move(options));
    ASSERT_TRUE(leaf) << leaf.error().message;
    leaves_.push_back(*std::move(leaf));
  }

  backend::LeafStream stream_of(std::size_t leaf, const std::string& name) {
    auto stream = leaves_[leaf]->stream(name, kPatience);
    EXPECT_TRUE(stream) << stream.error().message;
    return *std::move(stream);
  }

  std::unique_ptr<Tree> tree_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
};

TEST_F(TreeApiTest, AddsUpOneNumberOfEachLeaf) {
  start(4);
  StreamOptions options;
  options.name = "sum";
  options.aggregation = "sum";
  auto sum = tree_->open(options);
  ASSERT_TRUE(sum) << sum.error().message;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    const auto sent = stream_of(i, "sum").send({{1, std::int64_t(1) << (8 * i)}});
    ASSERT_TRUE(sent) << sent.error().message;
  }
  const auto wave = sum->receive(kPatience);
  ASSERT_TRUE(wave) << wave.error().message;
  EXPECT_EQ(wave->number, 0u);
  EXPECT_EQ(wave->sources.count(), 4u);
  EXPECT_EQ(*wave->fields.get<std::int64_t>(1), 0x01010101);
}

TEST_F(TreeApiTest, SendsDownAndTakesTheAnswersUp) {
  start(3);
  StreamOptions options;
  options.name = "ask";
  options.aggregation = "sum";
  auto ask = tree_->open(options);
  ASSERT_TRUE(ask) << ask.error().message;
  for (std::int64_t round = 1; round <= 20; ++round) {
    const auto number = ask->multicast({{7, round}});
    ASSERT_TRUE(number);
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      auto stream = stream_of(i, "ask");
      const auto question = stream.receive(kPatience);
      ASSERT_TRUE(question) << question.error().message;
      EXPECT_EQ(question->number, *number);
      ASSERT_TRUE(
          stream.send_wave(question->number, {{7, *question->fields.get<std::int64_t>(7) * 10}}));
    }
    const auto answer = ask->receive(kPatience);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->number, *number);
    EXPECT_EQ(*answer->fields.get<std::int64_t>(7), 30 * round);
  }
}

TEST_F(TreeApiTest, KeepsTheOrderAndCountOfManyWaves) {
  start(2);
  StreamOptions options;
  options.name = "many";
  options.aggregation = "sum";
  auto many = tree_->open(options);
  ASSERT_TRUE(many);
  constexpr std::int64_t kWaves = 5000;
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    auto stream = stream_of(i, "many");
    for (std::int64_t wave = 0; wave < kWaves; ++wave) ASSERT_TRUE(stream.send({{1, wave}}));
  }
  for (std::int64_t wave = 0; wave < kWaves; ++wave) {
    const auto got = many->receive(kPatience);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(got->number, static_cast<std::uint64_t>(wave));
    ASSERT_EQ(*got->fields.get<std::int64_t>(1), 2 * wave);
  }
  for (auto& leaf : leaves_) {
    const auto flushed = stream_of(0, "many").flush(kPatience);
    EXPECT_TRUE(flushed) << flushed.error().message;
    static_cast<void>(leaf);
  }
  EXPECT_EQ(many->account().contributions, 2u * kWaves);
  EXPECT_EQ(many->account().duplicates, 0u);
}

TEST_F(TreeApiTest, PassesOnEachLeafsWavesWhereThereIsNoAggregation) {
  start(3);
  auto raw = tree_->open({.name = "raw"});
  ASSERT_TRUE(raw);
  for (std::size_t i = 0; i < leaves_.size(); ++i) {
    auto stream = stream_of(i, "raw");
    for (std::int64_t wave = 0; wave < 10; ++wave) {
      ASSERT_TRUE(stream.send({{1, std::string("leaf") + std::to_string(i)}, {2, wave}}));
    }
  }
  std::map<LeafId, std::int64_t> next;
  for (int i = 0; i < 30; ++i) {
    const auto wave = raw->receive(kPatience);
    ASSERT_TRUE(wave) << wave.error().message;
    ASSERT_EQ(wave->sources.count(), 1u);
    const LeafId leaf{static_cast<std::uint32_t>(wave->sources.intervals().front().first)};
    EXPECT_EQ(*wave->fields.get<std::int64_t>(2), next[leaf]++);
  }
}

TEST_F(TreeApiTest, RefusesAnUnknownAggregationWithASentence) {
  start(1);
  const auto stream = tree_->open({.name = "x", .aggregation = "product"});
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, Code::kNotFound);
  EXPECT_NE(stream.error().message.find("product"), std::string::npos);
}

TEST_F(TreeApiTest, RefusesAValueThatTheAggregationDoesNotTakeAtTheLeaf) {
  start(1);
  auto sum = tree_->open({.name = "sum", .aggregation = "sum"});
  ASSERT_TRUE(sum);
  const auto sent = stream_of(0, "sum").send({{1, std::string("five")}});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Code::kInvalidArgument);
}

TEST_F(TreeApiTest, TellsOfLeavesThatJoinAndLeave) {
  start(2);
  leaves_.pop_back();
  std::map<frontend::TreeEvent::Kind, int> seen;
  while (seen[frontend::TreeEvent::Kind::kLeft] == 0) {
    const auto event = tree_->next_event(kPatience);
    ASSERT_TRUE(event) << event.error().message;
    ++seen[event->kind];
  }
  EXPECT_EQ(seen[frontend::TreeEvent::Kind::kJoined], 2);
}

TEST_F(TreeApiTest, ClosesTheTreeForItsLeaves) {
  start(2);
  auto raw = tree_->open({.name = "raw"});
  ASSERT_TRUE(raw);
  auto stream = stream_of(0, "raw");
  const auto closed = tree_->close(kPatience);
  EXPECT_TRUE(closed) << closed.error().message;
  for (auto& leaf : leaves_) EXPECT_TRUE(leaf->wait_until_closed(kPatience));
  EXPECT_EQ(stream.send({{1, std::int64_t{1}}}).error().code, Code::kUnavailable);
  EXPECT_EQ(raw->receive(kSecond).error().code, Code::kUnavailable);
}

TEST_F(TreeApiTest, RefusesALeafWithAnotherKey) {
  start(1);
  LeafOptions options;
  options.address = value_of(tree_->environment(), "XYLEM_ADDRESS");
  options.run = value_of(tree_->environment(), "XYLEM_RUN");
  options.key = std::string(64, 'a');
  const auto leaf = Leaf::join(options);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace xylem
