#include "tree/shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace xylem::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Shape parsed(std::string_view text) {
  const auto shape = parse_shape(text);
  EXPECT_TRUE(shape) << shape.error().message;
  return shape ? *shape : Shape{};
}

/// Sizes of the levels below the front end.
std::vector<std::size_t> levels_of(std::string_view text, std::size_t back_ends) {
  const auto skeleton = grow(parsed(text), back_ends);
  EXPECT_TRUE(skeleton) << skeleton.error().message;
  std::vector<std::size_t> sizes;
  for (std::uint32_t level = 1; skeleton && level <= skeleton->depth(); ++level) {
    sizes.push_back(skeleton->nodes_at(level).size());
  }
  return sizes;
}

void expect_refused(std::string_view text, Code code, const std::string& part) {
  SCOPED_TRACE(text);
  const auto shape = parse_shape(text);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, code);
  EXPECT_THAT(shape.error().message, HasSubstr(std::string(text)));
  EXPECT_THAT(shape.error().message, HasSubstr(part));
}

TEST(ParseShape, ReadsEveryForm) {
  EXPECT_EQ(parsed("flat"), (Shape{Shape::Kind::kFlat, 0, 0, ""}));
  EXPECT_EQ(parsed("kary:8"), (Shape{Shape::Kind::kKary, 8, 0, ""}));
  EXPECT_EQ(parsed("kary"), (Shape{Shape::Kind::kKary, 16, 0, ""}));
  EXPECT_EQ(parsed("balanced:2x4"), (Shape{Shape::Kind::kBalanced, 4, 2, ""}));
  EXPECT_EQ(parsed("binomial:3"), (Shape{Shape::Kind::kBinomial, 0, 3, ""}));
  EXPECT_EQ(parsed("binomial"), (Shape{Shape::Kind::kBinomial, 0, 0, ""}));
  EXPECT_EQ(parsed("file:a:b.topo"), (Shape{Shape::Kind::kFile, 0, 0, "a:b.topo"}));
}

TEST(ParseShape, TakesABarePathThatExistsAsAFile) {
  const auto path = std::filesystem::path(::testing::TempDir()) /
                    ("xylem-shape-" + std::to_string(::getpid()) + ".topo");
  std::ofstream(path) << "head:0 ;\n";
  EXPECT_EQ(parsed(path.string()), (Shape{Shape::Kind::kFile, 0, 0, path.string()}));
  std::filesystem::remove(path);
  expect_refused(path.string(), Code::kNotFound, "no such topology file");
}

TEST(ParseShape, RefusesWhatIsNoShapeAndSaysWhatWouldDo) {
  expect_refused("", Code::kInvalidArgument, "kary:K");
  expect_refused("star", Code::kInvalidArgument, "kary:K");
  expect_refused("flat:2", Code::kInvalidArgument, "kary:K");
  expect_refused("missing.topo", Code::kNotFound, "file:PATH");
  expect_refused("file:", Code::kInvalidArgument, "file:PATH");
  for (const char* text : {"kary:", "kary:1", "kary:0", "kary:-2", "kary:+2", "kary: 2", "kary:2x",
                           "kary:99999999999"}) {
    expect_refused(text, Code::kInvalidArgument, "from 2");
  }
  for (const char* text : {"balanced", "balanced:4", "balanced:0x4", "balanced:4x0", "balanced:x",
                           "balanced:2x3x4", "balanced:2*4"}) {
    expect_refused(text, Code::kInvalidArgument, "balanced:2x8");
  }
  for (const char* text : {"binomial:", "binomial:0", "binomial:20", "binomial:a"}) {
    expect_refused(text, Code::kInvalidArgument, "from 1 to 19");
  }
}

TEST(ParseShape, RefusesTreesBeyondTheLimit) {
  expect_refused("balanced:4294967295x4294967295", Code::kInvalidArgument, "make it smaller");
  expect_refused("balanced:2x1000", Code::kInvalidArgument, "make it smaller");  // 1 001 000
  EXPECT_EQ(parsed("balanced:2x999").fanout, 999u);                              // 999 000
}

TEST(ParseShape, ReadsBackWhatToTextPrints) {
  for (const char* text : {"flat", "kary:2", "kary", "balanced:3x2", "binomial", "binomial:5",
                           "file:x y.topo", "file:flat"}) {
    EXPECT_EQ(parsed(to_text(parsed(text))), parsed(text)) << text;
  }
  EXPECT_EQ(to_text(parsed("kary")), "kary:16");
}

TEST(Grow, FlatHasNoCommProcess) { EXPECT_THAT(levels_of("flat", 1000), ElementsAre()); }

TEST(Grow, KaryNeedsNoCommProcessWhileTheFrontEndHasRoom) {
  for (std::size_t back_ends : {0, 1, 15, 16})
    EXPECT_THAT(levels_of("kary", back_ends), ElementsAre());
  EXPECT_THAT(levels_of("kary", 17), ElementsAre(2));
}

TEST(Grow, KaryDividesByKUpToTheFrontEnd) {
  EXPECT_THAT(levels_of("kary:2", 3), ElementsAre(2));
  EXPECT_THAT(levels_of("kary:2", 8), ElementsAre(2, 4));
  EXPECT_THAT(levels_of("kary:2", 5), ElementsAre(2, 3));
  EXPECT_THAT(levels_of("kary:2", 9), ElementsAre(2, 3, 5));
  EXPECT_THAT(levels_of("kary:8", 65), ElementsAre(2, 9));
  EXPECT_THAT(levels_of("kary:16", 1024), ElementsAre(4, 64));
}

TEST(Grow, SplitsALevelEvenlyLongerRunsFirst) {
  const auto skeleton = grow(parsed("kary:8"), 65);
  ASSERT_TRUE(skeleton);
  EXPECT_THAT(skeleton->children(NodeId{1}),
              ElementsAre(NodeId{3}, NodeId{4}, NodeId{5}, NodeId{6}, NodeId{7}));
  EXPECT_EQ(skeleton->children(NodeId{2}).size(), 4u);
}

TEST(Grow, KaryKeepsItsPromisesForAnySize) {
  std::mt19937 random(7);  // Fixed, so that a failure can be repeated.
  for (int trial = 0; trial < 2000; ++trial) {
    const Shape shape{Shape::Kind::kKary, static_cast<std::uint32_t>(2 + random() % 40), 0, {}};
    const std::size_t back_ends = random() % 5000;
    SCOPED_TRACE(::testing::Message() << to_text(shape) << ", " << back_ends << " back ends");
    const auto skeleton = grow(shape, back_ends);
    ASSERT_TRUE(skeleton);
    const auto leaves = skeleton->internal_leaves();
    const std::size_t wanted = (back_ends + shape.fanout - 1) / shape.fanout;
    EXPECT_EQ(leaves.size(), std::max<std::size_t>(1, wanted));
    for (NodeId leaf : leaves) EXPECT_EQ(skeleton->level(leaf), skeleton->depth());
    for (NodeId node : skeleton->nodes()) {
      EXPECT_LE(skeleton->children(node).size(), shape.fanout);
    }
  }
}

TEST(Grow, BalancedHasFanoutToThePowerOfDepthInternalLeaves) {
  EXPECT_THAT(levels_of("balanced:1x4", 100), ElementsAre(4));
  EXPECT_THAT(levels_of("balanced:3x2", 0), ElementsAre(2, 4, 8));
  EXPECT_THAT(levels_of("balanced:3x1", 5), ElementsAre(1, 1, 1));
}

TEST(Grow, BinomialHasTheLevelsOfPascalsTriangle) {
  EXPECT_THAT(levels_of("binomial:1", 5), ElementsAre(1));
  EXPECT_THAT(levels_of("binomial:4", 5), ElementsAre(4, 6, 4, 1));
  const auto skeleton = grow(parsed("binomial:4"), 0);
  ASSERT_TRUE(skeleton);
  EXPECT_EQ(skeleton->size(), 16u);
  EXPECT_EQ(skeleton->internal_leaves().size(), 8u);
}

TEST(Grow, BinomialAloneIsAsLargeAsItMustBe) {
  EXPECT_THAT(levels_of("binomial", 16), ElementsAre());
  EXPECT_THAT(levels_of("binomial", 32), ElementsAre(2, 1));     // 2 internal leaves of 4 nodes
  EXPECT_THAT(levels_of("binomial", 33), ElementsAre(3, 3, 1));  // 4 of 8
}

TEST(Grow, RefusesFilesAndTreesBeyondTheLimit) {
  const auto file = grow(parsed("file:x.topo"), 4);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  for (const char* text : {"kary:2", "binomial"}) {
    const auto large = grow(parsed(text), std::size_t{1} << 62);
    ASSERT_FALSE(large) << text;
    EXPECT_THAT(large.error().message, HasSubstr("make it smaller"));
  }
  for (const Shape& shape :
       {Shape{Shape::Kind::kKary, 1, 0, {}}, Shape{Shape::Kind::kKary, 0, 0, {}},
        Shape{Shape::Kind::kBalanced, 0, 1, {}}, Shape{Shape::Kind::kBalanced, 2, 0, {}},
        Shape{Shape::Kind::kBalanced, 4000000000, 4000000000, {}},
        Shape{Shape::Kind::kBinomial, 0, 4000000000, {}}}) {
    EXPECT_FALSE(grow(shape, 100)) << to_text(shape);
  }
}

}  // namespace
}  // namespace xylem::tree
