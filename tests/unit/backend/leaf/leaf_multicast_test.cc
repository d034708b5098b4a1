// How a leaf handles the shares of multicasts that it receives.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "tests/support/joined_leaf.h"
#include "wire/waves.h"

namespace xylem::backend {
namespace {

using wire::MulticastShare;

constexpr StreamId kPlain{100}, kNarrowed{101};

struct Owner final : LeafOwner {
  void on_joined(LeafId) override {}
  void on_streams(std::vector<LeafStreamState>) override {}
  bool on_multicast(StreamId, std::uint64_t number, wire::Fields) override {
    seen.push_back(number);
    return true;
  }
  void on_room() override {}
  void on_finish() override {}
  void on_closed(const std::string&) override {}
  std::vector<std::uint64_t> seen;
};

// Leaf 4, with a plain stream and one that narrows.
class LeafMulticastTest : public testing::JoinedLeaf<Owner> {
 protected:
  LeafMulticastTest()
      : JoinedLeaf({stream(kPlain, "plain"), stream(kNarrowed, "narrowed", "scatter")}) {
    set_log_sink([this](Level level, std::string_view line) {
      if (level >= Level::kWarn) said_.emplace_back(line);
    });
  }
  ~LeafMulticastTest() override { set_log_sink({}); }

  void take(StreamId stream, std::uint64_t number, MulticastShare share, IntervalSet to = {}) {
    wire::Multicast down{stream, number, {}, {}, std::move(to)};
    down.share = share;
    if (share == MulticastShare::kWhole || share == MulticastShare::kPart) {
      down.payload = wire::encode_fields({});
    }
    network_.deliver(*node_, front_end_, down);
  }
  // The numbers of gaps that were reported since the last call.
  IntervalSet missed() {
    IntervalSet all;
    for (const auto& gap : network_.take_sent_of<wire::MulticastGap>()) {
      EXPECT_EQ(gap.leaf, LeafId{4});
      all.insert(gap.first, gap.end);
    }
    return all;
  }

  std::vector<std::string> said_;
};

TEST_F(LeafMulticastTest, DoesNotSeeWhatIsNotForItAndMissesNothing) {
  take(kNarrowed, 1, MulticastShare::kPart);
  take(kNarrowed, 2, MulticastShare::kNothing);
  take(kNarrowed, 3, MulticastShare::kPart);
  EXPECT_EQ(owner_.seen, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_TRUE(missed().empty());
  EXPECT_TRUE(said_.empty()) << "it is not taken for fields: " << said_.front();
}

TEST_F(LeafMulticastTest, SeesOrSkipsANumberOnce) {
  take(kNarrowed, 1, MulticastShare::kNothing);
  take(kNarrowed, 1, MulticastShare::kPart);
  take(kNarrowed, 2, MulticastShare::kPart);
  take(kNarrowed, 2, MulticastShare::kPart);
  EXPECT_EQ(owner_.seen, (std::vector<std::uint64_t>{2}));
}

TEST_F(LeafMulticastTest, TellsWhatCouldNotBeMadeForIt) {
  take(kNarrowed, 1, MulticastShare::kPart);
  take(kNarrowed, 2, MulticastShare::kFailed);
  EXPECT_EQ(missed(), IntervalSet::of(2));
  take(kNarrowed, 3, MulticastShare::kPart);
  EXPECT_EQ(owner_.seen, (std::vector<std::uint64_t>{1, 3}));
}

TEST_F(LeafMulticastTest, TellsANumberThatItLacksBehindOneThatIsNotForIt) {
  take(kNarrowed, 1, MulticastShare::kNothing);
  take(kNarrowed, 4, MulticastShare::kNothing);
  EXPECT_EQ(missed(), IntervalSet::range(2, 4)) << "nobody knows whether they were for it";
}

// A node of an earlier version does not know shares and forwards everything.
TEST_F(LeafMulticastTest, DoesNotTakeAllForItsPart) {
  take(kNarrowed, 1, MulticastShare::kWhole, IntervalSet::range(1, 9));
  EXPECT_TRUE(owner_.seen.empty());
  EXPECT_EQ(missed(), IntervalSet::of(1));
}

TEST_F(LeafMulticastTest, LooksForItselfAmongTheNamed) {
  take(kPlain, 1, MulticastShare::kWhole, IntervalSet::of(3));
  take(kPlain, 2, MulticastShare::kWhole, IntervalSet::of(4));
  take(kPlain, 3, MulticastShare::kWhole);
  EXPECT_EQ(owner_.seen, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_TRUE(missed().empty());
}

TEST_F(LeafMulticastTest, RefusesANarrowingThatItsHostLacks) {
  wire::Control control;
  control.version = 3;
  control.streams.resize(1);
  control.streams[0].id = StreamId{102};
  control.streams[0].name = "plugged";
  control.streams[0].narrowing = "odd";
  control.streams[0].narrowing_plugin = "/nowhere/odd.so";
  network_.deliver(*node_, front_end_, control);
  const auto told = network_.take_sent_of<wire::StreamRefused>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].reason.find("plugin /nowhere/odd.so"), std::string::npos);
}

}  // namespace
}  // namespace xylem::backend
