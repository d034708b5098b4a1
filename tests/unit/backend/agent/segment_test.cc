#include "backend/agent/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/support/hand_made_segment.h"
#include "wire/chunk.h"

namespace xylem::backend {
namespace {

// Folders that may not include each other must agree on these numbers.
static_assert(wire::kEventEstimated == capture::kRecordEstimated);
static_assert(wire::kEventSend == capture::kRecordSend);
static_assert(wire::kEventReceive == capture::kRecordReceive);

using capture::Record;
using testing::HandMadeSegment;

TEST(Segment, ReadsRecordsInOrderAndAcrossTheEndOfTheRing) {
  HandMadeSegment process(64);
  Segment segment = process.view();
  std::uint64_t next = 0;
  std::vector<Record> batch(50);
  for (std::uint64_t written = 0; written < 300; written += 30) {
    for (std::uint64_t i = 0; i < 30; ++i) process.write(0, {.request = written + i});
    const std::size_t count = segment.read(0, next, batch);
    ASSERT_EQ(count, 30u);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(batch[i].request, next + i);
    next += count;
    segment.advance(0, {next, next, 0, 0});
  }
  EXPECT_EQ(process.lost(0), 0u);
  EXPECT_EQ(segment.counters(), (SegmentCounters{300, 0}));
}

TEST(Segment, TailFollowsTheSlowerOfWindowsAndChunks) {
  HandMadeSegment process(64);
  for (int i = 0; i < 10; ++i) process.write(0, {});
  Segment segment = process.view();
  segment.advance(0, {8, 5, 0, 0});
  EXPECT_EQ(process.ring_at(0).tail.load(), 5u);
  segment.advance(0, {3, 9, 0, 0});  // An old entry again: the tail never goes back.
  EXPECT_EQ(process.ring_at(0).tail.load(), 8u);
}

/// Puts the thread into a region, as the capture library does.
void enter_region(capture::ThreadRing& ring, std::uint32_t sum, std::uint64_t region, Nanos begin,
                  std::uint64_t mpi_ticks) {
  capture::RegionTable& table = ring.regions;
  table.sums[sum].region = region;
  table.count = std::max<std::uint64_t>(table.count.load(), sum + 1);
  ring.regions_version.fetch_add(2);
  capture::OpenRegion& open = table.open[table.depth.load()];
  open.sum = sum;
  open.begin_ns = static_cast<std::uint64_t>(begin);
  open.mpi_ticks = mpi_ticks;
  table.depth.fetch_add(1);
}

TEST(Segment, ReadsRegionsWithTheVisitsThatHaveNotEnded) {
  HandMadeSegment process;
  process.header().threads.store(1);
  capture::ThreadRing& ring = process.ring_at(0);
  EXPECT_TRUE(process.view().regions(0)->all.empty());
  ring.mpi_ticks = 100;
  ring.mpi_until = 90;
  enter_region(ring, 0, 7, 1000, 40);
  enter_region(ring, 0, 7, 2000, 60);
  capture::RegionSum& sum = ring.regions.sums[0];
  sum.visits = 5;
  sum.time_ns = 50;
  sum.max_ns = 20;
  sum.mpi_ticks = 30;
  ring.regions.level.sum = capture::kNoRegionSum;
  ring.regions.level.begin_ns = 5;
  ring.regions.dropped = 4;
  ring.regions.lost_records = 6;
  const auto found = process.view().regions(0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->mpi_until, 90u);
  EXPECT_EQ(found->dropped, 4u);
  EXPECT_EQ(found->lost_records, 6u);
  ASSERT_EQ(found->all.size(), 1u);
  const SegmentRegion& region = found->all[0];
  EXPECT_EQ(region.region, 7u);
  EXPECT_EQ(region.visits, 7u);
  EXPECT_EQ(region.time_ns, 50u);
  EXPECT_EQ(region.max_ns, 20u);
  EXPECT_EQ(region.mpi_ticks, 30u + 60u + 40u);
  EXPECT_EQ(region.open_since, (std::vector<Nanos>{1000, 2000}));
  EXPECT_FALSE(region.is_estimated);
}

TEST(Segment, ReadsNoRegionsWhileTheyChangeUnlessTheProcessHasEnded) {
  HandMadeSegment process;
  process.header().threads.store(1);
  enter_region(process.ring_at(0), 0, 7, 1000, 0);
  process.ring_at(0).regions_version = 5;
  Segment segment = process.view();
  EXPECT_FALSE(segment.regions(0));
  segment.freeze();
  ASSERT_TRUE(segment.regions(0));
  EXPECT_EQ(segment.regions(0)->all.size(), 1u);
}

TEST(Segment, RegionsThatCannotBeAreLeftOut) {
  HandMadeSegment process;
  process.header().threads.store(1);
  capture::ThreadRing& ring = process.ring_at(0);
  enter_region(ring, 0, 7, 1000, 50);  // It has begun after the present.
  EXPECT_EQ(process.view().regions(0)->all.at(0).mpi_ticks, 0u);
  ring.regions.open[0].sum = 1;
  ring.regions.sums[0].time_ns = ~0ULL;
  ring.regions.depth = ~0ULL;
  for (std::uint32_t i = 1; i < capture::kMaxRegionDepth; ++i)
    ring.regions.open[i].begin_ns = ~0ULL;
  const auto found = process.view().regions(0);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->all.size(), 1u);
  EXPECT_EQ(found->all[0].visits, 0u);
  EXPECT_LT(found->all[0].time_ns, std::uint64_t{1} << 56);
}

TEST(Segment, SuccessorFindsHowFarItsPredecessorCame) {
  HandMadeSegment process(64);
  for (int i = 0; i < 10; ++i) process.write(0, {});
  process.view().advance(0, {8, 5, 4, 4});
  EXPECT_EQ(process.view().progress(0), (RingProgress{8, 5, 4, 4}));
}

TEST(Segment, SaysWhoTheProcessIsOnlyOnceItKnows) {
  HandMadeSegment process;
  EXPECT_FALSE(process.view().describe().initialised);
  process.enter_world(3, 8);
  const auto row = process.view().describe();
  EXPECT_TRUE(row.initialised);
  EXPECT_EQ(row.rank, Rank{3});
  EXPECT_EQ(row.world_size, 8u);
  EXPECT_EQ(row.program, "hand-made");
}

TEST(Segment, RefusesWhatIsTooSmallForItsRings) {
  HandMadeSegment process(64);
  process.header().ring_records = 128;
  const auto segment = Segment::map(process.fd());
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code, Code::kCorrupt);
}

TEST(Segment, RefusesRingSizesThatAreNoPowerOfTwoOrTooLarge) {
  for (const std::uint32_t records : {0u, 3u, 63u, 0x80000000u, capture::kMaxRingRecords * 2}) {
    HandMadeSegment process(64);
    process.header().ring_records = records;
    EXPECT_FALSE(Segment::map(process.fd())) << records;
  }
}

TEST(Segment, RefusesFilesThatCouldBeCutOffUnderItsFeet) {
  char name[] = "/tmp/xylem-segment-XXXXXX";
  UniqueFd file(::mkstemp(name));
  ::unlink(name);
  ASSERT_EQ(
      ::ftruncate(file.get(), static_cast<off_t>(capture::segment_bytes(capture::kMaxThreads, 64))),
      0);
  const auto segment = Segment::map(file);
  ASSERT_FALSE(segment);
  EXPECT_EQ(segment.error().code, Code::kPermissionDenied);
}

TEST(Segment, CannotBeShrunkOnceMapped) {
  HandMadeSegment process(64);
  const Segment segment = process.view();
  EXPECT_NE(::ftruncate(process.fd().get(), 4096), 0);
}

TEST(Segment, RefusesEmptyAndShortFiles) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, sizeof(capture::SegmentHeader)}) {
    EXPECT_FALSE(Segment::map(*make_memory("short", size))) << size;
  }
}

TEST(Segment, ReadsNothingFromARingWhoseHeadCannotBe) {
  HandMadeSegment process(64);
  process.write(0, {});
  Segment segment = process.view();
  EXPECT_EQ(segment.available(0, 0), 1u);
  process.ring_at(0).head.store(65);
  EXPECT_EQ(segment.available(0, 0), 0u);
  process.ring_at(0).head.store(~0ull);
  EXPECT_EQ(segment.available(0, 0), 0u);
}

// Blocks come in any order: the writer takes the first one that is free.
TEST(Segment, ReadsRecordsInOrderFromBlocksInAnyOrder) {
  constexpr std::uint32_t kRecords = 256;
  HandMadeSegment process(kRecords);
  for (std::uint8_t block = 0; block < capture::kRingBlocks; ++block)
    process.ring_at(0).block_of[block].store((block * 5 + 3) % capture::kRingBlocks);
  Segment segment = process.view();
  std::uint64_t position = 0;
  std::vector<Record> batch(37);
  for (std::uint64_t round = 0; round < 5; ++round) {
    for (std::uint64_t i = 0; i < 200; ++i)
      ASSERT_TRUE(process.write(0, {.begin = 200 * round + i, .end = 200 * round + i}));
    while (const std::size_t count = segment.read(0, position, batch)) {
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(batch[i].begin, position + i);
      position += count;
    }
    segment.advance(0, {.window_position = position, .chunk_position = position});
  }
  EXPECT_EQ(position, 1000u);
}

TEST(Segment, CountsInnerCallsAsCalls) {
  HandMadeSegment process(64);
  process.write(0, {.function = 3});
  process.ring_at(0).inner_calls[3].store(4);
  const Segment segment = process.view();
  EXPECT_EQ(segment.calls(FunctionId{3}), 5u);
  EXPECT_EQ(segment.counters().calls, 5u);
}

TEST(Segment, RefusesMoreRingsThanThereMayBeAndNone) {
  for (const std::uint32_t rings : {0u, capture::kMaxThreads + 1, ~0u}) {
    HandMadeSegment process(64);
    process.header().max_rings = rings;
    EXPECT_FALSE(Segment::map(process.fd())) << rings;
  }
}

TEST(Segment, ReadsNothingThatIsWrittenAfterItWasFrozen) {
  HandMadeSegment process(64);
  process.write(0, {});
  Segment segment = process.view();
  segment.freeze();
  process.write(0, {});
  process.write(1, {});
  EXPECT_EQ(segment.available(0, 0), 1u);
  EXPECT_EQ(segment.available(1, 0), 0u);
}

// A process writes random values anywhere, before and after it is mapped. There is no crash and no
// read out of bounds (the address sanitizer checks this), and counts stay within the ring.
TEST(Segment, HostileBytesGiveWrongNumbersAndNothingElse) {
  const unsigned seed = 7;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::vector<Record> batch(100);
  for (int trial = 0; trial < 300; ++trial) {
    HandMadeSegment process(64);
    capture::SegmentHeader& header = process.header();
    const auto scribble = [&] {
      auto* bytes = reinterpret_cast<unsigned char*>(&header);
      for (int i = 0; i < 2000; ++i)
        bytes[random() % sizeof header] = static_cast<unsigned char>(random());
      header.threads.store(static_cast<std::uint32_t>(random()));
      for (std::uint32_t ring = 0; ring < 3; ++ring) {
        process.ring_at(ring).head.store(random() >> (random() % 64));
        process.ring_at(ring).window_position = random() >> (random() % 64);
        process.ring_at(ring).chunk_position = random() >> (random() % 64);
        process.ring_at(ring).limit.store(static_cast<std::uint32_t>(random() >> (random() % 64)));
        for (auto& block : process.ring_at(ring).block_of)
          block.store(static_cast<std::uint8_t>(random()));
      }
    };
    scribble();
    header.magic = capture::kSegmentMagic;
    header.layout_version = capture::kLayoutVersion;
    header.ring_records = 64;
    header.max_rings = capture::kMaxThreads;
    auto segment = Segment::map(process.fd());
    ASSERT_TRUE(segment) << segment.error().message;
    for (int round = 0; round < 3; ++round) {
      scribble();
      EXPECT_LE(segment->rings(), capture::kMaxThreads);
      EXPECT_LE(segment->functions().size(), capture::kMaxFunctions);
      std::ignore = segment->describe();
      std::ignore = segment->counters();
      for (std::uint32_t ring = 0; ring < segment->rings(); ++ring) {
        const std::uint64_t position =
            random() % 2 ? segment->progress(ring).window_position : random();
        EXPECT_LE(segment->available(ring, position), 64u);
        EXPECT_LE(segment->read(ring, position, batch), 64u);
        segment->look_ahead(ring);
        segment->advance(ring, {random(), random(), random(), random()});
      }
    }
  }
}

}  // namespace
}  // namespace xylem::backend
