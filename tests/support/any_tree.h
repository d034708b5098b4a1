#pragma once

// Merges the contributions of leaves in a tree of random shape and order, for property tests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "filters/aggregation.h"
#include "wire/waves.h"

namespace xylem::testing {

inline constexpr int kTrials = 300;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns the text that a failed trial needs, so that it can be repeated.
inline std::string trial_name(std::uint64_t seed, int trial) {
  return "seed " + std::to_string(seed) + ", trial " + std::to_string(trial);
}

struct Sent {
  LeafId leaf{};
  wire::Fields fields;
};

/// Returns different leaves in random order, some with consecutive ids. Each leaf sends the result
/// of a call of `make`.
template <typename Make>
std::vector<Sent> any_leaves(std::mt19937_64& random, const Make& make) {
  std::vector<Sent> sent(1 + random() % 40);
  std::uint32_t leaf = 0;
  for (Sent& one : sent) {
    leaf += random() % 4 == 0 ? 7 : 1;
    one = {LeafId{leaf}, make()};
  }
  std::shuffle(sent.begin(), sent.end(), random);
  return sent;
}

/// Returns a built-in filter. Fails the test if there is no such filter.
inline std::shared_ptr<const filters::Aggregation> built_in(const std::string& name,
                                                            const wire::Fields& parameters = {}) {
  auto made = filters::make_aggregation(name, parameters);
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

/// Lifts each contribution, merges random pairs of states until one is left, and finishes it. About
/// half of the states are encoded and decoded in between. Fails the test when a step fails.
inline wire::Fields in_any_tree(const filters::Aggregation& aggregation,
                                const std::vector<Sent>& sent, std::mt19937_64& random) {
  std::vector<wire::Fields> states;
  for (const Sent& one : sent) {
    auto lifted = aggregation.lift(one.leaf, one.fields);
    EXPECT_TRUE(lifted) << lifted.error().message;
    states.push_back(std::move(*lifted));
  }
  while (states.size() > 1) {
    std::swap(states[random() % states.size()], states.back());
    wire::Fields last = std::move(states.back());
    states.pop_back();
    if (random() % 2 == 0) last = *wire::decode_fields(wire::encode_fields(last));
    wire::Fields& into = states[random() % states.size()];
    const auto merged = aggregation.merge(into, last);
    EXPECT_TRUE(merged) << merged.error().message;
  }
  auto result = aggregation.finish(std::move(states.front()));
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

/// Compares bit by bit. Unlike with ==, a NaN is equal to itself, and 0 is not equal to -0.
inline ::testing::AssertionResult same_bits(const wire::Fields& a, const wire::Fields& b) {
  if (wire::encode_fields(a) == wire::encode_fields(b)) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  for (const auto* fields : {&a, &b}) {
    failure << (fields == &a ? "not the same:" : " and:");
    for (const auto& [number, value] : *fields) {
      failure << " " << number << "=" << wire::type_name(value) << " ";
      std::visit(
          [&]<typename T>(const T& held) {
            if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
              failure << held.size() << " bytes";
            } else {
              failure << ::testing::PrintToString(held);
            }
          },
          value);
    }
  }
  return failure;
}

}  // namespace xylem::testing
