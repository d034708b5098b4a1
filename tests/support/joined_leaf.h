#pragma once

// A LeafNode with the smallest journal. It is leaf 4, directly below a front end that the test
// plays.

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "backend/leaf/leaf_node.h"
#include "tests/support/fake_network.h"
#include "tests/support/fake_source.h"
#include "tests/support/hand_made_segment.h"

namespace xylem::testing {

/// `Owner` is a LeafOwner with a default constructor.
template <typename Owner>
class JoinedLeaf : public ::testing::Test {
 protected:
  explicit JoinedLeaf(std::vector<wire::StreamSpec> streams) {
    backend::JournalOptions options;
    options.give_back_bytes = backend::Journal::kKeepAll;
    auto opened = backend::Journal::open(memory_.bytes(), options);
    EXPECT_TRUE(opened);
    journal_.emplace(*std::move(opened));
    node_.emplace(backend::LeafNodeOptions{}, *journal_, starter_, owner_);
    node_->on_start(network_, network_.now);
    front_end_ = network_.link_up(*node_);
    wire::Assignment place;
    place.node = NodeId{7};
    place.leaf = LeafId{4};
    place.level = 1;
    place.parents = {{kFrontEndNode, {}}};
    network_.deliver(*node_, front_end_, place);
    wire::Control control;
    control.version = 2;
    control.streams = std::move(streams);
    network_.deliver(*node_, front_end_, control);
    network_.take_sent();
  }

  static wire::StreamSpec stream(StreamId id, const char* name, const char* narrowing = "") {
    wire::StreamSpec spec;
    spec.id = id;
    spec.name = name;
    spec.narrowing = narrowing;
    return spec;
  }

  Memory memory_{backend::Journal::kSmallest};
  std::optional<backend::Journal> journal_;
  FakeStarter starter_;
  FakeNetwork network_;
  Owner owner_;
  std::optional<backend::LeafNode> node_;
  overlay::LinkId front_end_{};
};

}  // namespace xylem::testing
