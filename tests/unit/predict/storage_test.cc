// Accesses one after the other on a machine that does nothing else.

#include "predict/disk/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "predict/network/topology.h"
#include "tests/unit/predict/storage_words.h"

namespace xylem::predict {
namespace {

using testing::cached_storage;
using testing::kPage;
using testing::machine_with;
using testing::message_ns;
using testing::page_after_page;
using testing::plain_storage;
using testing::read_of;
using testing::reports_of;
using testing::write_of;

Ticks sum_of_parts(const AccessReport& it) {
  return it.connection + it.request + it.storage_node + it.reply + it.copy;
}

template <typename Member>
std::uint64_t total(const std::vector<AccessReport>& reports, Member member) {
  return std::transform_reduce(reports.begin(), reports.end(), std::uint64_t{0}, std::plus<>(),
                               [&](const AccessReport& it) { return it.*member; });
}

TEST(Storage, FollowsEquation6) {
  StorageOptions storage = plain_storage();
  for (const std::uint64_t bytes : {1u, 1000u, 1u << 20}) {
    const auto reports = reports_of(storage, {read_of(0, bytes)});
    AccessReport expected;
    expected.requests = 1;
    expected.buffer_misses = (bytes + kPage - 1) / kPage;
    expected.connection = message_ns(kControlBytes);
    expected.request = message_ns(kControlBytes);
    expected.disk = 5000 + 2 * bytes;
    expected.storage_node = 300 + expected.disk;
    expected.reply = message_ns(bytes);
    expected.total = sum_of_parts(expected);
    EXPECT_EQ(reports[0], expected);
  }
}

TEST(Storage, TakesAllButTheStorageNodeFromTheNetwork) {
  const auto topology = make_crossbar(3);
  ASSERT_TRUE(topology);
  for (const Model model : {Model::kLogGps, Model::kAnalytic, Model::kChannels}) {
    Machine machine = machine_with(plain_storage());
    machine.fabric = {testing::nanoseconds(70), testing::nanoseconds(3), 10'000};
    machine.topology = topology->get();
    machine.node_of_rank = {Node{0}, Node{2}};  // Rank 1 only stands for the storage node.
    machine.storage_nodes = {Node{2}};
    const std::uint64_t bytes = 5000;
    const std::vector<TimedAccess> access = {read_of(0, bytes)};
    const auto times = access_files(machine, model, access);
    ASSERT_TRUE(times);
    const auto there = message_delay(machine, model, 0, 1, kControlBytes);
    const auto back = message_delay(machine, model, 1, 0, bytes);
    ASSERT_TRUE(there && back);
    const AccessReport& report = times->reports[0];
    const Ticks ns = times->ticks_per_ns / there->ticks_per_ns;
    EXPECT_EQ(report.connection, there->total * ns);
    EXPECT_EQ(report.request, there->total * ns);
    EXPECT_EQ(report.reply, back->total * ns);
    EXPECT_EQ(report.total, sum_of_parts(report));
  }
}

TEST(Storage, KeepsConnectionsUnlessEachRequestHasItsOwn) {
  StorageOptions storage = plain_storage();
  EXPECT_EQ(reports_of(storage, {read_of(0, 10), read_of(10, 10)})[1].connection, 0u);
  storage.connection = ConnectionPolicy::kPerRequest;
  EXPECT_EQ(reports_of(storage, {read_of(0, 10), read_of(10, 10)})[1].connection,
            message_ns(kControlBytes));
}

TEST(Storage, ASecondPassIsAllHitsIfTheFileFits) {
  auto accesses = page_after_page(32);
  const auto again = page_after_page(32);
  accesses.insert(accesses.end(), again.begin(), again.end());
  StorageOptions storage = cached_storage(32);
  storage.copy_per_byte = testing::nanoseconds(1);
  const auto reports = reports_of(storage, accesses);
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(reports[i].hit_pages, i < 32 ? 0u : 1u) << i;
    EXPECT_EQ(reports[i].missed_pages, i < 32 ? 1u : 0u) << i;
    if (i >= 32) {
      EXPECT_EQ(reports[i].total, kPage) << "only the copy takes time";
    }
  }
}

TEST(Storage, ASecondPassIsAllMissesIfOnePageDoesNotFit) {
  auto accesses = page_after_page(33);
  const auto again = page_after_page(33);
  accesses.insert(accesses.end(), again.begin(), again.end());
  const auto reports = reports_of(cached_storage(32), accesses);
  EXPECT_EQ(total(reports, &AccessReport::hit_pages), 0u);
  EXPECT_EQ(total(reports, &AccessReport::missed_pages), 66u);
}

TEST(Storage, ALongReadThatDoesNotFitIsAllMissesAgain) {
  // The first pages of the second read push out those behind, just before the read comes to them.
  const auto reports =
      reports_of(cached_storage(8), {read_of(0, 10 * kPage), read_of(0, 10 * kPage)});
  EXPECT_EQ(reports[1].missed_pages, 10u);
  EXPECT_EQ(reports[1].hit_pages, 0u);
}

TEST(Storage, AgreesWithASlowListOnRandomReads) {
  std::mt19937 random(77);
  std::vector<TimedAccess> accesses;
  std::vector<std::uint64_t> used;  // The last one is the page that was used last.
  std::vector<bool> is_hit;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t page = random() % 60;
    accesses.push_back(read_of(page * kPage, kPage));
    const auto found = std::ranges::find(used, page);
    is_hit.push_back(found != used.end());
    if (found != used.end()) used.erase(found);
    used.push_back(page);
    if (used.size() > 25) used.erase(used.begin());
  }
  const auto reports = reports_of(cached_storage(25), accesses);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    ASSERT_EQ(reports[i].hit_pages == 1, is_hit[i]) << i;
    ASSERT_EQ(reports[i].missed_pages + reports[i].hit_pages, 1u) << i;
    ASSERT_EQ(reports[i].total, sum_of_parts(reports[i])) << i;
  }
}

TEST(Storage, ReadsAheadInTheRequestsOfTheClosedForm) {
  StorageOptions storage = cached_storage(1024);
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 32 * kPage;
  // Windows of 4, 8 and 16 pages, then of 32: 28 + 32 k pages are k + 3 requests.
  for (std::uint64_t k = 0; k < 6; ++k) {
    const auto reports = reports_of(storage, page_after_page(28 + 32 * k));
    EXPECT_EQ(total(reports, &AccessReport::requests), k + 3);
    EXPECT_EQ(total(reports, &AccessReport::missed_pages), 1u) << "all others are read ahead";
  }
  // Without read-ahead, each page is a request.
  storage.read_ahead = ReadAheadPolicy::kNone;
  EXPECT_EQ(total(reports_of(storage, page_after_page(60)), &AccessReport::requests), 60u);
}

TEST(Storage, ReadsNothingAheadOfRandomReads) {
  StorageOptions storage = cached_storage(1024);
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 32 * kPage;
  std::vector<TimedAccess> accesses;
  for (std::uint64_t i = 0; i < 100; ++i) {
    accesses.push_back(read_of((1 + i * 37 % 100 * 3) * kPage, kPage));
  }
  const auto reports = reports_of(storage, accesses);
  EXPECT_EQ(total(reports, &AccessReport::missed_pages), 100u);
  EXPECT_EQ(total(reports, &AccessReport::requests), 100u);
}

TEST(Storage, WhatIsReadAheadIsAwaitedIfItIsNotThereYet) {
  StorageOptions storage = cached_storage(64);
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 8 * kPage;
  const auto reports = reports_of(
      storage, {read_of(0, kPage), read_of(kPage, kPage), read_of(2 * kPage, 6 * kPage)});
  // 1 page of 8 makes a window of 2, the marker is page 1. It makes a window of 4 from page 2.
  EXPECT_EQ(reports[0].missed_pages, 1u);
  EXPECT_EQ(reports[1].hit_pages, 1u);
  EXPECT_EQ(reports[1].total, 0u);
  // Page 2 is awaited. It comes with pages 3 to 5, and is the marker for pages 6 and 7.
  EXPECT_EQ(reports[2].awaited_pages, 2u);
  EXPECT_EQ(reports[2].hit_pages, 4u);
  EXPECT_EQ(reports[2].total, sum_of_parts(reports[2]));
}

TEST(Storage, SpreadsALongReadOverTheStorageNodes) {
  StorageOptions storage = plain_storage();
  storage.stripe_bytes = 1000;
  const Ticks one = reports_of(storage, {read_of(0, 8000)})[0].total;
  storage.nodes = 8;
  const auto spread = reports_of(storage, {read_of(0, 8000)});
  EXPECT_EQ(spread[0].requests, 8u);
  EXPECT_EQ(spread[0].total, 2 * message_ns(kControlBytes) + 300 + 5000 + 2000 + message_ns(1000));
  EXPECT_GT(one, spread[0].total + 7 * (300 + 5000 + 2000) - 1);
}

TEST(Storage, WriteThroughWaitsForTheDisk) {
  const auto reports = reports_of(cached_storage(16), {write_of(100, 50), read_of(100, 50)});
  EXPECT_EQ(reports[0].total, message_ns(kControlBytes) + message_ns(50) + 300 + 8000 + 100 +
                                  message_ns(kControlBytes));
  EXPECT_EQ(reports[1].hit_pages, 1u);
}

TEST(Storage, WriteBackWaitsOnlyForPagesThatMustGo) {
  StorageOptions storage = cached_storage(16);
  storage.write = WritePolicy::kBack;
  storage.copy_per_byte = testing::nanoseconds(1);
  const auto reports = reports_of(
      storage, {write_of(0, 16 * kPage), write_of(0, 16 * kPage), write_of(20 * kPage, 4 * kPage)});
  EXPECT_EQ(reports[0].total, 16 * kPage);
  EXPECT_EQ(reports[1].total, 16 * kPage);
  EXPECT_EQ(reports[1].requests, 0u);
  // Four neighbouring pages go, in one request.
  EXPECT_EQ(reports[2].requests, 1u);
  EXPECT_EQ(reports[2].total, message_ns(kControlBytes) + message_ns(4 * kPage) + 300 + 8000 +
                                  2 * 4 * kPage + message_ns(kControlBytes) + 4 * kPage);
}

TEST(Storage, RanksHaveWindowsOfTheirOwn) {
  StorageOptions storage = cached_storage(1024);
  storage.read_ahead = ReadAheadPolicy::kSequential;
  storage.read_ahead_bytes = 32 * kPage;
  Machine machine = machine_with(storage);
  machine.node_of_rank = {Node{0}, Node{0}};
  std::vector<TimedAccess> accesses;
  for (std::uint64_t i = 0; i < 60; ++i) {  // Two sequential readers in turn, far from each other.
    accesses.push_back(read_of(i * kPage, kPage, 0, 0));
    accesses.push_back(read_of((1000 + i) * kPage, kPage, 0, 1));
  }
  const auto times = access_files(machine, Model::kLogGps, accesses);
  ASSERT_TRUE(times);
  // The second one begins in the middle: its first page is a random read.
  EXPECT_EQ(total(times->reports, &AccessReport::missed_pages), 3u);
}

TEST(Storage, TheTimeOfEachAccessIsTheSumOfItsParts) {
  std::mt19937 random(4711);
  for (int trial = 0; trial < 40; ++trial) {
    SCOPED_TRACE(trial);
    StorageOptions storage = cached_storage(1 + random() % 40);
    storage.nodes = static_cast<std::uint32_t>(1 + random() % 4);
    storage.stripe_bytes = (1 + random() % 5) * kPage;
    storage.read_ahead = random() % 3 == 0 ? ReadAheadPolicy::kNone : ReadAheadPolicy::kSequential;
    storage.read_ahead_bytes = random() % (storage.page_cache_bytes / kPage / 2 + 1) * kPage;
    storage.write = random() % 2 == 0 ? WritePolicy::kBack : WritePolicy::kThrough;
    storage.copy_per_byte = testing::nanoseconds(random() % 2);
    storage.buffer_bytes = random() % 20 * kPage;
    storage.buffer_read_ahead_bytes = random() % (storage.buffer_bytes / kPage / 2 + 1) * kPage;
    if (random() % 3 == 0) storage.connection = ConnectionPolicy::kPerRequest;
    std::vector<TimedAccess> accesses;
    for (int i = 0; i < 300; ++i) {
      const auto file = static_cast<std::uint32_t>(random() % 2);
      const std::uint64_t offset = random() % 3 == 0 || i == 0
                                       ? random() % 400'000
                                       : accesses.back().access.offset + accesses.back().bytes;
      accesses.push_back({0, {offset, file, random() % 4 == 0}, random() % 30'000});
    }
    const auto reports = reports_of(storage, accesses);
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const AccessReport& it = reports[i];
      const TimedAccess& of = accesses[i];
      ASSERT_EQ(it.total, sum_of_parts(it)) << i;
      ASSERT_LE(it.disk, it.storage_node) << i;
      if (of.access.is_write || of.bytes == 0) continue;
      const std::uint64_t pages =
          (of.access.offset + of.bytes - 1) / kPage - of.access.offset / kPage + 1;
      ASSERT_GE(it.hit_pages + it.awaited_pages + it.missed_pages, pages) << i;
    }
  }
}

TEST(Storage, AnAccessOfNothingTakesNoTime) {
  const auto reports = reports_of(cached_storage(4), {read_of(0, 0), write_of(0, 0)});
  EXPECT_EQ(reports[0], AccessReport{});
  EXPECT_EQ(reports[1], AccessReport{});
}

TEST(Storage, RefusesWhatCannotBeSimulated) {
  const auto message = [](const Machine& machine, const TimedAccess& access) {
    const auto times = access_files(machine, Model::kLogGps, std::vector{access});
    return times ? "" : times.error().message;
  };
  EXPECT_EQ(message(machine_with({}), read_of(0, 1)),
            "the target has no storage; add the section [storage] to it");
  EXPECT_EQ(message(machine_with(plain_storage()), read_of(~std::uint64_t{0}, 1)),
            "rank 0, operation 1: the access ends at byte 18446744073709551615, beyond the maximum "
            "of 2^62; correct its offset");
  EXPECT_EQ(message(machine_with(plain_storage()), read_of(0, std::uint64_t{1} << 40)),
            "rank 0, operation 1: the access has 1099511627776 bytes, 1048576 stripes or more; "
            "raise storage.stripe_bytes, or access less at once");
  StorageOptions large = plain_storage();
  large.stripe_bytes = std::uint64_t{1} << 40;
  EXPECT_EQ(message(machine_with(large), read_of(0, std::uint64_t{1} << 50)),
            "rank 0, operation 1: up to here, files are accessed in more than 1000000000 pages, "
            "the maximum; raise storage.page_bytes");
}

}  // namespace
}  // namespace xylem::predict
