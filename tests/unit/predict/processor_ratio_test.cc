// H36. Computing is divided by the ratio of the processors, exactly.

#include "predict/trace/processor_ratio.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::chain;
using testing::compute;
using testing::receive;
using testing::send;

std::vector<std::uint64_t> amounts(const Program& program) {
  std::vector<std::uint64_t> all;
  for (const Operation& it : program.ranks[0].operations()) all.push_back(it.amount);
  return all;
}

TEST(ProcessorRatio, DividesComputingAndNothingElse) {
  const Program program{{chain({compute(1000), send(8, 0), receive(8, 0), compute(30)})}};
  EXPECT_EQ(amounts(scale_computing(program, 2'000'000)),
            (std::vector<std::uint64_t>{500, 8, 8, 15}));
  EXPECT_EQ(amounts(scale_computing(program, 500'000)),
            (std::vector<std::uint64_t>{2000, 8, 8, 60}));
  EXPECT_EQ(scale_computing(program, kSameProcessor), program);
}

TEST(ProcessorRatio, CarriesWhatRoundingTakes) {
  const Program program{{chain(std::vector<Operation>(3000, compute(1)))}};
  std::uint64_t sum = 0, count = 0;
  for (const std::uint64_t it : amounts(scale_computing(program, 3'000'000))) {
    sum += it;
    ++count;
    EXPECT_LE(it, 1u);
    EXPECT_LE(3 * sum, count + 1) << "never more than half a nanosecond away";
    EXPECT_LE(count, 3 * sum + 1);
  }
  EXPECT_EQ(sum, 1000u);
}

TEST(ProcessorRatio, IsExactForLongTimes) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const Program program{{chain({compute(kMax), compute(kMax)})}};
  EXPECT_EQ(amounts(scale_computing(program, 3'000'000)),
            (std::vector<std::uint64_t>{kMax / 3, kMax / 3}));
  EXPECT_EQ(amounts(scale_computing(program, 500'000)), (std::vector<std::uint64_t>{kMax, kMax}));
}

}  // namespace
}  // namespace xylem::predict
