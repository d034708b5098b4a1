#include "predict/disk/storage_node.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "predict/disk/stripes.h"
#include "tests/unit/predict/storage_words.h"

namespace xylem::predict {
namespace {

using testing::kPage;

StorageNode node_with(const StorageOptions& options) {
  return StorageNode(options, StorageCosts(options, LogGpsCosts(LogGps{})));
}

/// A read of a file of 1 MiB.
StoredRange read(std::uint64_t offset, std::uint64_t bytes, std::uint32_t file = 0) {
  return {file, offset, bytes, 1 << 20, false};
}

TEST(StorageNode, AMissIsLinearInItsSize) {
  for (const std::uint64_t bytes : {1u, 2u, 100u, 4096u, 4097u, 1u << 20}) {
    StorageNode node = node_with(testing::plain_storage());
    const Service service = node.serve(read(0, bytes), 1000);
    EXPECT_EQ(service.end, 1000 + 300 + 5000 + 2 * bytes);
    EXPECT_EQ(service.disk, 5000 + 2 * bytes);
  }
  StorageNode node = node_with(testing::plain_storage());
  EXPECT_EQ(node.serve({0, 0, 100, 1 << 20, true}, 0).end, 300u + 8000 + 200);
}

TEST(StorageNode, AHitInItsBufferNeedsNoDisk) {
  StorageOptions options = testing::plain_storage();
  options.buffer_bytes = 4 * kPage;
  StorageNode node = node_with(options);
  const Service miss = node.serve(read(0, 2 * kPage), 0);
  EXPECT_EQ(miss, (Service{5300 + 4 * kPage, 5000 + 4 * kPage, 0, 2, 2 * kPage}));
  EXPECT_EQ(node.serve(read(0, 2 * kPage), miss.end), (Service{miss.end + 300, 0, 2, 0, 0}));
  // One page of three is missing. It is read whole.
  const Service mixed = node.serve(read(0, 2 * kPage + 1), 1'000'000);
  EXPECT_EQ(mixed, (Service{1'005'300 + 2 * kPage, 5000 + 2 * kPage, 2, 1, kPage}));
  // Two more pages: the first one has to go.
  node.serve(read(5 * kPage, 2 * kPage), 2'000'000);
  EXPECT_EQ(node.serve(read(0, kPage), 3'000'000).missed_pages, 1u);
}

TEST(StorageNode, HasWhatWasWritten) {
  StorageOptions options = testing::plain_storage();
  options.buffer_bytes = 4 * kPage;
  StorageNode node = node_with(options);
  node.serve({0, kPage, kPage, 1 << 20, true}, 0);
  EXPECT_EQ(node.serve(read(kPage, kPage), 1'000'000).hit_pages, 1u);
}

TEST(StorageNode, ServesOneRequestAfterTheOther) {
  StorageNode node = node_with(testing::plain_storage());
  Ticks end = 0;
  for (int i = 0; i < 5; ++i) {
    const Service service = node.serve(read(0, 10), 7);
    EXPECT_EQ(service.end, std::max<Ticks>(end, 7) + 300 + 5000 + 20);
    end = service.end;
  }
}

TEST(StorageNode, ReadsAheadAfterItHasAnswered) {
  StorageOptions options = testing::plain_storage();
  options.buffer_bytes = 64 * kPage;
  options.buffer_read_ahead_bytes = 3 * kPage;
  StorageNode node = node_with(options);
  const Service first = node.serve(read(0, kPage), 0);
  EXPECT_EQ(first.end, 5300 + 2 * kPage);
  // It is busy with three pages more, which are hits then.
  const Service second = node.serve(read(kPage, 3 * kPage), first.end);
  EXPECT_EQ(second, (Service{first.end + 6 * kPage + 300, 0, 3, 0, 0}));
  const Service third = node.serve(read(4 * kPage, kPage), second.end);
  EXPECT_EQ(third.missed_pages, 1u);
  EXPECT_EQ(node.serve(read(5 * kPage, 3 * kPage), third.end).hit_pages, 3u);
  // A read of another place is not sequential.
  node.serve(read(100 * kPage, kPage), 10'000'000);
  EXPECT_EQ(node.serve(read(101 * kPage, kPage), 20'000'000).hit_pages, 0u);
}

TEST(StorageNode, ReadsNothingBeyondTheEndOfItsPart) {
  StorageOptions options = testing::plain_storage();
  options.buffer_bytes = 64 * kPage;
  options.buffer_read_ahead_bytes = 8 * kPage;
  StorageNode node = node_with(options);
  const StoredRange range{0, 0, kPage, kPage + 10, false};
  const Service first = node.serve(range, 0);
  EXPECT_EQ(node.serve({0, kPage, 10, kPage + 10, false}, first.end).end, first.end + 2 * 10 + 300);
}

TEST(Stripes, SpreadAFileByteByByte) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t stripe = 1 + random() % 7;
    const auto servers = static_cast<std::uint32_t>(1 + random() % 5);
    const auto file = static_cast<std::uint32_t>(random() % 9);
    const std::uint64_t bytes = random() % 200;
    const Stripes stripes(stripe, servers);
    std::map<std::uint32_t, std::uint64_t> next;  // A slow model: deal out bytes like cards.
    for (std::uint64_t i = 0; i < bytes; ++i) {
      const auto server = static_cast<std::uint32_t>((file + i / stripe) % servers);
      ASSERT_EQ(stripes.find(file, i), (StoredAt{server, next[server], stripe - i % stripe}));
      ++next[server];
    }
    for (std::uint32_t server = 0; server < servers; ++server) {
      ASSERT_EQ(stripes.bytes_on(server, file, bytes), next[server]);
    }
  }
}

}  // namespace
}  // namespace xylem::predict
