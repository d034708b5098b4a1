// What a leaf gets of a multicast: scatter against dealing element by element, and the shares that
// the node above makes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "filters/concatenation.h"
#include "filters/multicast_cut.h"
#include "filters/scatter.h"
#include "filters/stream_filter.h"
#include "wire/message.h"
#include "wire/waves.h"

namespace xylem::filters {
namespace {

using ::testing::HasSubstr;
using wire::Fields;
using wire::MulticastShare;

constexpr std::uint64_t kNarrowingSeed = 20261121;  // Fixed, so that a failure can be repeated.

std::shared_ptr<const Narrowing> scatter_of(const Fields& parameters = {}) {
  auto made = make_narrowing("scatter", parameters);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : nullptr;
}

Fields part(const Narrowing& narrowing, std::size_t position, std::size_t count,
            const Fields& sent) {
  const auto given = narrowing.narrow({LeafId{9}, position, count}, sent);
  EXPECT_TRUE(given && *given);
  return given && *given ? **given : Fields();
}

std::string refusal_of(const Fields& parameters) {
  const auto made = make_narrowing("scatter", parameters);
  EXPECT_FALSE(made);
  if (made) return {};
  EXPECT_EQ(made.error().code, Code::kInvalidArgument);
  return made.error().message;
}

TEST(Scatter, GivesTheRemainderToTheFirst) {
  const Fields sent{{1, std::vector<std::int64_t>{10, 11, 12, 13, 14}}};
  const auto scatter = scatter_of();
  EXPECT_EQ(part(*scatter, 0, 3, sent), (Fields{{1, std::vector<std::int64_t>{10, 11}}}));
  EXPECT_EQ(part(*scatter, 1, 3, sent), (Fields{{1, std::vector<std::int64_t>{12, 13}}}));
  EXPECT_EQ(part(*scatter, 2, 3, sent), (Fields{{1, std::vector<std::int64_t>{14}}}));
}

TEST(Scatter, GivesAllThatIsNoArrayToEveryLeaf) {
  const Fields sent{{1, std::int64_t{-1}},
                    {2, std::uint64_t{2}},
                    {3, 0.5},
                    {4, std::string("text")},
                    {5, std::vector<std::byte>(3, std::byte{7})}};
  for (std::size_t position = 0; position < 4; ++position) {
    EXPECT_EQ(part(*scatter_of(), position, 4, sent), sent);
  }
}

TEST(Scatter, GivesAnEmptyArrayWhereNothingIsLeft) {
  const Fields sent{{1, std::vector<double>{1.5}}, {2, std::vector<std::string>{}}};
  EXPECT_EQ(part(*scatter_of(), 1, 2, sent),
            (Fields{{1, std::vector<double>{}}, {2, std::vector<std::string>{}}}));
}

TEST(Scatter, CutsOnlyTheFieldsThatItsParameterNames) {
  const std::vector<std::uint64_t> table{1, 2, 3, 4};
  const auto scatter = scatter_of({{scatter::kCut, std::vector<std::uint64_t>{2}}});
  EXPECT_EQ(part(*scatter, 1, 2, {{1, table}, {2, table}}),
            (Fields{{1, table}, {2, std::vector<std::uint64_t>{3, 4}}}));
  for (const Fields& other : {Fields{{1, table}}, Fields{{2, 0.5}}}) {
    const auto refused = scatter->narrow({LeafId{1}, 0, 2}, other);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr("scatter: "));
    EXPECT_THAT(refused.error().message, HasSubstr("field 2"));
  }
}

TEST(Scatter, RefusesOtherParametersWithASentence) {
  EXPECT_THAT(refusal_of({{1, 0.5}}), HasSubstr("parameter 1 is float64"));
  EXPECT_THAT(refusal_of({{1, std::vector<std::uint64_t>{}}}), HasSubstr("names no field"));
  EXPECT_THAT(refusal_of({{1, std::vector<std::uint64_t>{65536}}}), HasSubstr("field 65536"));
  EXPECT_THAT(refusal_of({{2, std::uint64_t{1}}}), HasSubstr("no parameter 2"));
}

TEST(Narrowing, OfAnUnknownNameIsRefusedAndTheSentenceNamesThoseThereAre) {
  const auto made = make_narrowing("gather", {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kNotFound);
  EXPECT_THAT(made.error().message, HasSubstr("\"gather\"; built in is scatter"));
}

// The obvious way: element after element, each goes to the leaf whose share is not yet full.
std::vector<std::vector<std::int64_t>> dealt(const std::vector<std::int64_t>& all,
                                             std::size_t count) {
  std::vector<std::vector<std::int64_t>> shares(count);
  std::vector<std::size_t> sizes(count);
  for (std::size_t i = 0; i < all.size(); ++i) ++sizes[i % count];
  std::size_t leaf = 0;
  for (const std::int64_t element : all) {
    while (shares[leaf].size() == sizes[leaf]) ++leaf;
    shares[leaf].push_back(element);
  }
  return shares;
}

TEST(Scatter, DealsAsOneDoesByHandAndConcatenationPutsItTogetherAgain) {
  std::mt19937_64 random(kNarrowingSeed);
  const auto scatter = scatter_of();
  const auto concatenation = make_aggregation("concatenation", {});
  ASSERT_TRUE(concatenation);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t count = 1 + random() % 40;
    std::vector<std::int64_t> all(random() % 100);
    for (std::int64_t& element : all) element = static_cast<std::int64_t>(random());
    SCOPED_TRACE(::testing::Message() << "seed " << kNarrowingSeed << ", trial " << trial << ": "
                                      << all.size() << " for " << count);
    const auto expected = dealt(all, count);
    std::optional<Fields> together;
    for (std::size_t position = 0; position < count; ++position) {
      const Fields mine = part(*scatter, position, count, {{1, all}});
      EXPECT_EQ(mine, (Fields{{1, expected[position]}}));
      auto state = (*concatenation)->lift(LeafId{static_cast<std::uint32_t>(position)}, mine);
      ASSERT_TRUE(state);
      if (!together) {
        together = *std::move(state);
      } else {
        ASSERT_TRUE((*concatenation)->merge(*together, *state));
      }
    }
    const auto gathered = (*concatenation)->finish(*std::move(together));
    ASSERT_TRUE(gathered);
    EXPECT_EQ(*gathered->find_as<std::vector<std::int64_t>>(1), all);
  }
}

// ---- shares ----

class Cut : public ::testing::Test {
 protected:
  static wire::Multicast whole(const Fields& fields, IntervalSet to = {}) {
    return {StreamId{107}, 12, {}, wire::encode_fields(fields), std::move(to)};
  }
  static Fields fields_of(const wire::Multicast& share) {
    const auto fields = wire::decode_fields(share.payload);
    EXPECT_TRUE(fields) << fields.error().message;
    return fields ? *fields : Fields();
  }

  const Fields sent_{{1, std::vector<std::int64_t>{1, 2, 3}}};
  const NodeNarrowing none_ = NodeNarrowing(std::shared_ptr<const Narrowing>());
  const NodeNarrowing scatter_ = NodeNarrowing(scatter_of());
};

TEST_F(Cut, IsAllOfItWhereNobodyIsNamedAndNothingNarrows) {
  const wire::Multicast all = whole(sent_);
  EXPECT_EQ(MulticastCut(none_, all).for_leaf(LeafId{3}), all);
}

TEST_F(Cut, IsNoneForALeafThatIsNotOfTheStream) {
  wire::Multicast all = whole(sent_);
  all.leaves = IntervalSet::range(4, 8);
  EXPECT_FALSE(MulticastCut(none_, all).for_leaf(LeafId{3}));
  EXPECT_TRUE(MulticastCut(none_, all).for_leaf(LeafId{4}));
}

TEST_F(Cut, IsTheNumberAloneForALeafThatIsNotNamed) {
  const wire::Multicast all = whole(sent_, IntervalSet::of(3));
  const auto share = MulticastCut(none_, all).for_leaf(LeafId{4});
  ASSERT_TRUE(share);
  EXPECT_EQ(share->share, MulticastShare::kNothing);
  EXPECT_EQ(share->number, all.number);
  EXPECT_TRUE(share->payload.empty());
  const auto named = MulticastCut(none_, all).for_leaf(LeafId{3});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->share, MulticastShare::kPart);
  EXPECT_EQ(named->leaves, IntervalSet::of(3));
  EXPECT_TRUE(named->to.empty()) << "what others get is nothing to it";
  EXPECT_EQ(fields_of(*named), sent_);
}

TEST_F(Cut, CountsPlacesAmongTheNamedByTheirIds) {
  IntervalSet to = IntervalSet::of(9);
  to.insert(2);
  to.insert(5);
  const wire::Multicast all = whole(sent_, to);
  MulticastCut cut(scatter_, all);
  for (const std::int64_t expected : {3, 1, 2}) {  // In any order.
    const std::uint32_t leaf = expected == 3 ? 9 : expected == 1 ? 2 : 5;
    const auto share = cut.for_leaf(LeafId{leaf});
    ASSERT_TRUE(share);
    EXPECT_EQ(fields_of(*share), (Fields{{1, std::vector<std::int64_t>{expected}}})) << leaf;
  }
  EXPECT_EQ(cut.for_leaf(LeafId{3})->share, MulticastShare::kNothing);
  EXPECT_FALSE(cut.failure());
}

TEST_F(Cut, IsForNobodyWhereANarrowingIsToldOfNobody) {
  const wire::Multicast all = whole(sent_);
  EXPECT_EQ(MulticastCut(scatter_, all).for_leaf(LeafId{3})->share, MulticastShare::kNothing);
}

TEST_F(Cut, FailsForItsLeafAloneAndSaysWhy) {
  const NodeNarrowing named(scatter_of({{scatter::kCut, std::vector<std::uint64_t>{2}}}));
  const wire::Multicast all = whole(sent_, IntervalSet::range(1, 3));
  MulticastCut cut(named, all);
  const auto share = cut.for_leaf(LeafId{1});
  ASSERT_TRUE(share);
  EXPECT_EQ(share->share, MulticastShare::kFailed);
  EXPECT_TRUE(share->payload.empty());
  ASSERT_TRUE(cut.failure());
  EXPECT_THAT(cut.failure()->message, HasSubstr("scatter: there is no field 2"));
}

TEST_F(Cut, FailsWhereTheNodeHasRefusedTheNarrowingOrThePayloadIsNone) {
  const NodeNarrowing refused(unexpected(Code::kCorrupt, "no such plugin here"));
  const wire::Multicast all = whole(sent_, IntervalSet::of(1));
  MulticastCut cut(refused, all);
  EXPECT_EQ(cut.for_leaf(LeafId{1})->share, MulticastShare::kFailed);
  EXPECT_EQ(cut.failure()->message, "no such plugin here");
  wire::Multicast rubbish = all;
  rubbish.payload.assign(16, std::byte{0xff});
  MulticastCut of_rubbish(scatter_, rubbish);
  EXPECT_EQ(of_rubbish.for_leaf(LeafId{1})->share, MulticastShare::kFailed);
  EXPECT_TRUE(of_rubbish.failure());
}

class Inflating final : public Narrowing {
 public:
  Result<std::optional<Fields>> narrow(const Place&, const Fields&) const override {
    return std::optional(Fields{{1, std::string(wire::kMaxFrameBytes, 'x')}});
  }
};

TEST_F(Cut, FailsWhereAPartExceedsAFrame) {
  const NodeNarrowing inflating(std::make_shared<Inflating>());
  const wire::Multicast all = whole(sent_, IntervalSet::of(1));
  MulticastCut cut(inflating, all);
  EXPECT_EQ(cut.for_leaf(LeafId{1})->share, MulticastShare::kFailed);
  EXPECT_THAT(cut.failure()->message, HasSubstr("is larger than a frame"));
}

TEST(NarrowingOf, AStreamIsWhatItsSpecificationSays) {
  wire::StreamSpec spec;
  EXPECT_EQ(*narrowing_of(spec), nullptr);
  spec.narrowing = "scatter";
  EXPECT_NE(*narrowing_of(spec), nullptr);
  spec.narrowing_parameters = wire::encode_fields({{1, 0.5}});
  EXPECT_EQ(narrowing_of(spec).error().code, Code::kInvalidArgument);
  spec.narrowing_parameters.assign(8, std::byte{0xff});
  EXPECT_EQ(narrowing_of(spec).error().code, Code::kCorrupt);
  spec.narrowing_parameters.clear();
  spec.narrowing_plugin = "/nowhere/narrow.so";
  EXPECT_EQ(narrowing_of(spec).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace xylem::filters
