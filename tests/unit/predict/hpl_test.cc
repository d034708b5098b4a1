// HPL as a program: flops, messages and bytes against the closed forms of its header.

#include "predict/synthesis/hpl.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "predict/replay/replay.h"
#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

using testing::network;

Program made(const Hpl& hpl) {
  auto program = hpl_program(hpl);
  EXPECT_TRUE(program) << program.error().message;
  return program ? *std::move(program) : Program{};
}

struct Sums {
  std::uint64_t flops = 0, messages = 0, bytes = 0;
  bool operator==(const Sums&) const = default;
};

/// Flops of a program that takes 1 ns for each.
Sums sums(const Program& program) {
  Sums sum;
  for (const RankProgram& rank : program.ranks) {
    for (const Operation& it : rank.operations()) {
      if (it.kind == Kind::kCompute) sum.flops += it.amount;
      if (it.kind != Kind::kSend) continue;
      ++sum.messages;
      sum.bytes += it.amount;
    }
  }
  return sum;
}

/// From the closed forms. `roll`: spread-roll for all row swaps, otherwise binary exchange.
Sums expected(const Hpl& hpl, bool roll) {
  const std::uint64_t n = hpl.order, p = hpl.rows, q = hpl.columns;
  const std::uint64_t power = std::bit_floor(p);
  const std::uint64_t exchanges = power * (std::bit_width(power) - 1) + 2 * (p - power);
  Sums sum;
  sum.flops = (4 * n * n * n + 9 * n * n - 7 * n) / 6;
  std::uint64_t holder = n / hpl.block % q;
  std::uint64_t links = 0;  // Of a binomial scatter.
  for (std::uint64_t i = 0; i < p; ++i) links += std::popcount(i);
  const std::uint64_t panels = (n + hpl.block - 1) / hpl.block;
  for (std::uint64_t k = panels; k-- > 0;) {
    const std::uint64_t from = k * hpl.block, to = std::min(n, from + hpl.block);
    const std::uint64_t width = to - from, below = n - to, right = n + 1 - to;
    sum.flops += (p - 1) * width * (width - 1) * right;
    // Pivots, the panel, the solution.
    sum.messages += width * exchanges + p * (q - 1) + (p - 1);
    sum.bytes +=
        8 * (width * exchanges * (2 * width + 4) +
             (q - 1) * (below * width + p * (width * width + width + 1)) + (p - 1) * width);
    // Row swaps, by the process columns that have trailing columns.
    for (std::uint64_t column = 0; column < q; ++column) {
      std::uint64_t owned = 0;
      for (std::uint64_t i = to; i <= n; ++i) owned += i / hpl.block % q == column ? 1 : 0;
      if (owned == 0) continue;
      sum.messages += roll ? (p - 1) + p * (p - 1) : exchanges;
      // The tests take blocks of which p parts have the same size.
      sum.bytes += 8 * owned * width * (roll ? links + p * (p - 1) : exchanges * p) / p;
    }
    // y moves to the process column of the block. Process rows without a part of it send nothing.
    if (holder != k % q) {
      sum.messages += std::min<std::uint64_t>(p, k + 1);
      sum.bytes += 8 * to;
    }
    holder = k % q;
  }
  return sum;
}

TEST(HplProgram, HasTheFlopsMessagesAndBytesOfItsClosedForms) {
  for (const RowSwap swap : {RowSwap::kBinaryExchange, RowSwap::kSpreadRoll}) {
    for (const std::uint64_t order : {12u, 96u, 120u, 205u}) {
      for (const auto& [rows, columns] :
           {std::pair{1u, 1u}, {1u, 4u}, {4u, 1u}, {2u, 2u}, {2u, 3u}, {3u, 2u}, {4u, 4u}}) {
        // With a last panel of 1 or 12 columns; 12 is a multiple of every number of process rows.
        if (swap == RowSwap::kSpreadRoll && order % 12 != 0) continue;
        const Hpl hpl{order, 12, rows, columns, 1, swap};
        SCOPED_TRACE(std::to_string(order) + ", " + std::to_string(rows) + " x " +
                     std::to_string(columns));
        EXPECT_EQ(sums(made(hpl)), expected(hpl, swap == RowSwap::kSpreadRoll));
      }
    }
  }
}

TEST(HplProgram, HasTheFlopsThatLinpackCounts) {
  const Hpl hpl{1000, 32, 1, 4, 1, RowSwap::kMix};
  const double counted = 2.0 / 3 * 1e9 + 3.0 / 2 * 1e6;
  EXPECT_NEAR(static_cast<double>(sums(made(hpl)).flops), counted, 7.0 / 6 * 1000 + 1);
  // With more process rows, the triangles are solved by each of them.
  const Hpl tall{1000, 32, 4, 1, 1, RowSwap::kMix};
  EXPECT_NEAR(static_cast<double>(sums(made(tall)).flops),
              counted + 3 * 31.0 * 1000 * (1000 - 32) / 2, 2e5);
}

TEST(HplProgram, OfOneProcessOnlyComputes) {
  const Hpl hpl{100, 7, 1, 1, 2.5, RowSwap::kMix};
  const Program program = made(hpl);
  EXPECT_EQ(sums(program).messages, 0u);
  const auto prediction = replay(program, network(1, 1, 1, 1, 1, 1));
  ASSERT_TRUE(prediction);
  const double flops = (4e6 + 9e4 - 700) / 6;
  EXPECT_NEAR(static_cast<double>(prediction->makespan_ns), 2.5 * flops, 200);
}

TEST(HplProgram, EndsWithoutDeadlock) {
  for (const std::uint64_t eager_bytes : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    for (std::uint32_t rows = 1; rows <= 5; ++rows) {
      for (std::uint32_t columns = 1; columns <= 5; ++columns) {
        for (const std::uint64_t order : {1u, 8u, 50u}) {
          const Hpl hpl{order, 8, rows, columns, 1, RowSwap::kMix};
          const auto prediction = replay(made(hpl), network(5, 3, 2, 1, 1, eager_bytes));
          ASSERT_TRUE(prediction) << prediction.error().message;
          EXPECT_EQ(prediction->unreceived, 0u);
        }
      }
    }
  }
}

TEST(HplProgram, MixesRowSwapsByTheNumberOfColumns) {
  const Hpl few{64, 8, 4, 1, 1, RowSwap::kMix}, many{200, 8, 4, 1, 1, RowSwap::kMix};
  const auto bytes = [](Hpl hpl, RowSwap swap) {
    hpl.swap = swap;
    return sums(made(hpl)).bytes;
  };
  EXPECT_EQ(bytes(few, RowSwap::kMix), bytes(few, RowSwap::kBinaryExchange));
  EXPECT_LT(bytes(many, RowSwap::kSpreadRoll), bytes(many, RowSwap::kMix));
  EXPECT_LT(bytes(many, RowSwap::kMix), bytes(many, RowSwap::kBinaryExchange));
}

TEST(HplProgram, IsRefusedIfItIsNotPossible) {
  const auto message = [](const Hpl& hpl) {
    const auto program = hpl_program(hpl);
    return program ? std::string() : program.error().message;
  };
  EXPECT_EQ(message({0, 8, 1, 1}),
            "a matrix of order 0 in blocks of 8 is not possible; take an order of 1 to 2147483648, "
            "and blocks of 1 or more");
  EXPECT_TRUE(message({8, 0, 1, 1}).starts_with("a matrix of order 8 in blocks of 0 "));
  EXPECT_EQ(message({8, 8, 0, 1}),
            "a grid of 0 x 1 processes is not possible; take 1 to 16777216 processes");
  EXPECT_EQ(message({1u << 31, 128, 4, 4}),
            "the program would have more than 1000000000 operations; take a smaller matrix, larger "
            "blocks or fewer processes");
  EXPECT_EQ(message({10, 1'000'000, 2, 2}), "");
}

TEST(NearSquare, HasFewRows) {
  EXPECT_EQ(near_square(1), std::pair(1u, 1u));
  EXPECT_EQ(near_square(12), std::pair(3u, 4u));
  EXPECT_EQ(near_square(1024), std::pair(32u, 32u));
  EXPECT_EQ(near_square(7), std::pair(1u, 7u));
}

}  // namespace
}  // namespace xylem::predict
