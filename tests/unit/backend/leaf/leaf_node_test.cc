// When a leaf's node ends, and what it reports then.

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/support/joined_leaf.h"

namespace xylem::backend {
namespace {

constexpr StreamId kOnlyStream{100};

struct LeavingOwner final : LeafOwner {
  void on_joined(LeafId) override {}
  void on_streams(std::vector<LeafStreamState>) override {}
  bool on_multicast(StreamId, std::uint64_t, wire::Fields) override { return true; }
  void on_room() override {}
  void on_finish() override {}
  void on_closed(const std::string& why) override { closed = why; }
  std::size_t packets_to_put() const override { return to_put; }
  std::size_t to_put = 0;
  std::optional<std::string> closed;
};

// Leaf 4, which has joined, with the smallest journal.
class LeafNodeTest : public testing::JoinedLeaf<LeavingOwner> {
 protected:
  LeafNodeTest() : JoinedLeaf({stream(kOnlyStream, "plain")}) {}
};

TEST_F(LeafNodeTest, EndsAtOnceWhenNothingIsLeft) {
  node_->leave(network_.now + kSecond, network_.now);
  EXPECT_EQ(owner_.closed, "");
}

TEST_F(LeafNodeTest, DoesNotCallDeliveredWhatItsOwnerHasStillToPut) {
  owner_.to_put = 3;
  node_->leave(network_.now + kSecond, network_.now);
  network_.advance(*node_, kSecond / 2);
  EXPECT_FALSE(owner_.closed);
  const std::vector<wire::Fields> waves(1);
  ASSERT_TRUE(node_->put(kOnlyStream, 0, waves, network_.now));
  network_.advance(*node_, kSecond);
  EXPECT_EQ(owner_.closed, "4 packets were not acknowledged in time");
}

TEST_F(LeafNodeTest, EndsWhenItsOwnerHasNothingMoreToPut) {
  owner_.to_put = 1;
  node_->leave(network_.now + kSecond, network_.now);
  owner_.to_put = 0;
  network_.deliver(*node_, front_end_, wire::Acknowledgement{});
  EXPECT_EQ(owner_.closed, "");
}

TEST_F(LeafNodeTest, TriesAgainWhenItsParentCannotBeReached) {
  network_.link_down(*node_, front_end_);
  for (int attempt = 0; attempt < 3; ++attempt) {
    network_.advance(*node_, 10 * kSecond);
    ASSERT_EQ(network_.connects.size(), 1u) << "attempt " << attempt;
    network_.refuse_connect(*node_);
  }
  EXPECT_FALSE(owner_.closed);
}

}  // namespace
}  // namespace xylem::backend
