#include "storage/read/run_totals.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/unit/storage/stored_run.h"

namespace xylem::storage {
namespace {

using RunTotalsTest = StoredRun;

// Leaf n is world n, with one rank. The first world has made no call.
TEST_F(RunTotalsTest, AreOfTheFirstWorldsAlsoIfOneHasNoCalls) {
  for (std::uint8_t world = 1; world <= kMaxTotals + 2; ++world) {
    put(registration_packet(world, {process_row(1, 0, world, 1)}));
    const std::uint64_t calls = world == 1 ? 0 : world;
    put(window_packet(0, world, calls, account_row(world, 1, calls)));
  }
  ASSERT_TRUE(store_->commit());
  auto view = RunView::open(path_);
  ASSERT_TRUE(view) << view.error().message;
  const auto totals = world_totals(view->file());
  ASSERT_TRUE(totals) << totals.error().message;
  EXPECT_EQ(totals->worlds_in_all, kMaxTotals + 2);
  ASSERT_EQ(totals->worlds.size(), kMaxTotals);
  EXPECT_EQ(totals->worlds.front().captured, 0u);
  for (const WorldTotals::World& world : totals->worlds) {
    EXPECT_EQ(world.ranks, 1u) << raw(world.id);
    EXPECT_EQ(world.mpi_ns, 1000 * world.captured) << raw(world.id);
  }
}

}  // namespace
}  // namespace xylem::storage
