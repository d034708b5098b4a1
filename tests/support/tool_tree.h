#pragma once

// A tool's tree over loopback: a front end and several leaves in one process.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/leaf.h"
#include "frontend/tree.h"

namespace xylem::testing {

constexpr Nanos kPatience = 60 * kSecond;

inline std::string value_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& variable : environment) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return "";
}

class ToolTreeTest : public ::testing::Test {
 protected:
  /// Starts a tree and lets `leaves` leaves join it.
  void start(std::size_t leaves) {
    frontend::TreeOptions options;
    options.shape = "flat";
    start(std::move(options), leaves);
  }

  void start(frontend::TreeOptions options, std::size_t leaves) {
    options.listen = "127.0.0.1";
    options.expected = leaves;
    auto tree = frontend::Tree::start(std::move(options));
    ASSERT_TRUE(tree) << tree.error().message;
    tree_ = *std::move(tree);
    for (std::size_t i = 0; i < leaves; ++i) join(options_of("leaf" + std::to_string(i)));
    const auto all = tree_->wait_for_leaves(leaves, kPatience);
    ASSERT_TRUE(all) << all.error().message;
  }

  backend::LeafOptions options_of(const std::string& name) {
    backend::LeafOptions options;
    options.address = value_of(tree_->environment(), "XYLEM_ADDRESS");
    options.run = value_of(tree_->environment(), "XYLEM_RUN");
    options.key = value_of(tree_->environment(), "XYLEM_KEY");
    options.name = name;
    return options;
  }

  void join(backend::LeafOptions options) {
    auto leaf = backend::Leaf::join(std::move(options));
    ASSERT_TRUE(leaf) << leaf.error().message;
    leaves_.push_back(*std::move(leaf));
  }

  frontend::Stream open(frontend::StreamOptions options) {
    auto stream = tree_->open(options);
    EXPECT_TRUE(stream) << stream.error().message;
    return *std::move(stream);
  }

  backend::LeafStream stream_of(std::size_t leaf, const std::string& name) {
    auto stream = leaves_[leaf]->stream(name, kPatience);
    EXPECT_TRUE(stream) << stream.error().message;
    return *std::move(stream);
  }

  /// Returns the next event of this kind; other events are skipped.
  frontend::TreeEvent await_event(frontend::TreeEvent::Kind kind) {
    for (;;) {
      const auto event = tree_->next_event(kPatience);
      EXPECT_TRUE(event) << event.error().message;
      if (!event || event->kind == kind) return event ? *event : frontend::TreeEvent{};
    }
  }

  std::unique_ptr<frontend::Tree> tree_;
  std::vector<std::unique_ptr<backend::Leaf>> leaves_;
};

}  // namespace xylem::testing
