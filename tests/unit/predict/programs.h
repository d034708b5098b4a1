#pragma once

// Words for tests about programs: operations, chains, and parameters as whole nanoseconds.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "base/check.h"
#include "predict/network/loggps.h"
#include "predict/trace/goal_text.h"
#include "predict/trace/rank_builder.h"

namespace xylem::predict::testing {

inline Operation compute(std::uint64_t ns) { return {.amount = ns, .kind = Kind::kCompute}; }
inline Operation send(std::uint64_t bytes, std::uint32_t to, std::uint32_t tag = 0) {
  return {.amount = bytes, .peer = to, .tag = tag, .kind = Kind::kSend};
}
inline Operation receive(std::uint64_t bytes, std::uint32_t from, std::uint32_t tag = 0) {
  return {.amount = bytes, .peer = from, .tag = tag, .kind = Kind::kReceive};
}

inline RankProgram finished(RankBuilder builder) {
  auto built = std::move(builder).finish();
  CHECK(std::holds_alternative<RankProgram>(built));
  return std::get<RankProgram>(std::move(built));
}

/// A rank that does one operation after the other.
inline RankProgram chain(const std::vector<Operation>& operations) {
  RankBuilder builder;
  for (const Operation& it : operations) {
    const std::uint32_t index = builder.add(it);
    if (index > 0) builder.require(index, index - 1);
  }
  return finished(std::move(builder));
}

/// L, o, g, G, O in nanoseconds, S in bytes.
inline LogGps network(std::uint64_t latency, std::uint64_t overhead, std::uint64_t gap,
                      std::uint64_t gap_per_byte, std::uint64_t overhead_per_byte,
                      std::uint64_t eager_bytes) {
  const auto ns = [](std::uint64_t value) { return Femtoseconds{value * 1'000'000}; };
  return {ns(latency), ns(overhead), ns(gap), ns(gap_per_byte), ns(overhead_per_byte), eager_bytes};
}

inline Program goal(const std::string& text) {
  auto program = parse_goal(text, "test.goal");
  EXPECT_TRUE(program) << program.error().message;
  return program ? *std::move(program) : Program{};
}

}  // namespace xylem::predict::testing
