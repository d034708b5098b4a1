#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "capture/core/request_table_internal.h"

namespace xylem::capture {
namespace {

class RequestTableTest : public ::testing::Test {
 protected:
  TrackedRequest* put(Word key, std::uint64_t bytes) {
    TrackedRequest* request = table_->insert(key, false);
    if (request == nullptr) return nullptr;
    request->bytes = bytes;
    request->kind = RequestKind::kReceive;
    table_->publish(request, key);
    return request;
  }

  TrackedRequest* claim(Word key) { return table_->claim(key, false).tracked; }
  bool put_plain(Word key, std::uint64_t number) {
    return table_->insert_plain(key, number, false);
  }
  std::uint64_t take(Word key) {
    const ClaimedRequest claimed = table_->claim(key, false);
    EXPECT_EQ(claimed.tracked, nullptr);
    return claimed.number;
  }

  std::unique_ptr<RequestTable> table_ = std::make_unique<RequestTable>();
};

TEST_F(RequestTableTest, FindsWhatWasPutAndNothingElse) {
  put(0x98000001, 7);
  ASSERT_NE(table_->find(0x98000001), nullptr);
  EXPECT_EQ(table_->find(0x98000001)->bytes, 7u);
  EXPECT_EQ(table_->find(0x98000002), nullptr);
}

TEST_F(RequestTableTest, HasNothingUnderTheKeysThatMarkFreeAndClaimed) {
  constexpr Word kKeys = 2 * kRequestSets;  // So that each set has some of either.
  for (Word key = 2; key < kKeys; ++key) put(key, 1);
  for (Word key = 2; key < kKeys; key += 2) table_->release(claim(key));
  for (Word key = 3; key < kKeys; key += 2) claim(key);
  for (Word key : {Word{0}, Word{1}}) {
    EXPECT_EQ(table_->find(key), nullptr);
    EXPECT_EQ(claim(key), nullptr);
  }
}

TEST_F(RequestTableTest, AClaimedRequestIsOutOfSightUntilItIsPublishedAgain) {
  put(10, 1);
  TrackedRequest* claimed = claim(10);
  ASSERT_NE(claimed, nullptr);
  EXPECT_EQ(table_->find(10), nullptr);
  table_->publish(claimed, 10);
  EXPECT_EQ(table_->find(10), claimed);
}

TEST_F(RequestTableTest, AHandleMayBeUsedAnewWhileItsOldRequestIsClaimed) {
  put(10, 1);
  TrackedRequest* old = claim(10);
  TrackedRequest* fresh = put(10, 2);
  ASSERT_NE(fresh, nullptr);
  EXPECT_NE(fresh, old);
  table_->release(old);
  ASSERT_NE(table_->find(10), nullptr);
  EXPECT_EQ(table_->find(10)->bytes, 2u);
}

TEST_F(RequestTableTest, ReplacesARequestWhoseCompletionWasNotSeen) {
  TrackedRequest* first = put(10, 1);
  EXPECT_EQ(put(10, 2), first);
  EXPECT_EQ(table_->find(10)->bytes, 2u);
}

TEST_F(RequestTableTest, TakesNoMoreThanItsRoomAndLosesNoneThatItTook) {
  std::set<Word> taken;
  for (Word key = 2; key < 2 + 4 * kRequestSets * kRequestWays; ++key) {
    if (put(key, key) != nullptr) taken.insert(key);
  }
  EXPECT_LE(taken.size(), kRequestSets * kRequestWays);
  EXPECT_GT(taken.size(), kRequestSets * kRequestWays * 9 / 10);
  for (Word key : taken) {
    ASSERT_NE(table_->find(key), nullptr) << key;
    EXPECT_EQ(table_->find(key)->bytes, key);
  }
}

TEST_F(RequestTableTest, HoldsHandlesOfBothLibrariesUpToHalfItsRoom) {
  // MPICH counts up; Open MPI's requests lie at equal distances in memory.
  for (const Word stride : {Word{1}, Word{0x180}, Word{0x1000}}) {
    table_ = std::make_unique<RequestTable>();
    unsigned refused = 0;
    const unsigned number = kRequestSets * kRequestWays / 2;
    for (Word i = 1; i <= number; ++i) refused += put(0x7f0000000000 + i * stride, i) == nullptr;
    EXPECT_LT(refused, number / 50) << "stride " << stride;
  }
}

TEST_F(RequestTableTest, AgreesWithAMapWhateverIsDone) {
  constexpr unsigned kSeed = 20240611;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  std::map<Word, std::uint64_t> model;
  for (int step = 0; step < 200'000; ++step) {
    const Word key = 2 + random() % 1000;
    switch (random() % 3) {
      case 0:
        if (put(key, static_cast<std::uint64_t>(step)) != nullptr)
          model[key] = static_cast<std::uint64_t>(step);
        break;
      case 1:
        if (TrackedRequest* claimed = claim(key)) table_->release(claimed);
        model.erase(key);
        break;
      default:
        TrackedRequest* found = table_->find(key);
        ASSERT_EQ(found != nullptr, model.contains(key)) << "step " << step;
        if (found != nullptr) {
          ASSERT_EQ(found->bytes, model[key]);
        }
    }
  }
}

TEST_F(RequestTableTest, PlainRequestsWithTheSameHandleAreTakenInTheOrderOfTheirStarts) {
  constexpr std::uint64_t kMany = 5000;  // More than a queue has room for at first.
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t number = 1; number <= kMany; ++number) EXPECT_TRUE(put_plain(10, number));
    for (std::uint64_t number = 1; number <= kMany; ++number) {
      ASSERT_EQ(take(10), number);
      EXPECT_TRUE(number % 3 != 0 || put_plain(10, kMany + number / 3));
    }
    for (std::uint64_t number = kMany + 1; number <= kMany + kMany / 3; ++number)
      ASSERT_EQ(take(10), number);
    EXPECT_EQ(take(10), 0u);
  }
}

TEST_F(RequestTableTest, APlainRequestTakesThePlaceOfAnotherOneWhoseCompletionWasNotSeen) {
  put(10, 1);
  put_plain(10, 7);
  put_plain(10, 8);
  EXPECT_EQ(take(10), 7u);
  put(10, 2);
  const ClaimedRequest claimed = table_->claim(10, false);
  ASSERT_NE(claimed.tracked, nullptr);
  EXPECT_EQ(claimed.tracked->bytes, 2u);
  table_->release(claimed.tracked);
  put_plain(10, 9);
  EXPECT_EQ(take(10), 9u);
  EXPECT_EQ(take(10), 0u);
}

TEST_F(RequestTableTest, OnlySomeHandlesCanBeSharedAndTheNewestRequestIsKeptForTheOthers) {
  for (Word key = 2; key < 102; ++key) {
    put_plain(key, 1);
    EXPECT_TRUE(put_plain(key, 2));
  }
  unsigned dropped = 0;
  for (Word key = 2; key < 102; ++key) {
    const std::uint64_t first = take(key);
    dropped += first == 2;
    EXPECT_EQ(first == 1 ? take(key) : first, 2u);
    EXPECT_EQ(take(key), 0u);
  }
  EXPECT_EQ(dropped, 100u - 64u);
}

TEST_F(RequestTableTest, NumbersAreUnknownAfterAGap) {
  put_plain(10, 7);
  put(11, 1)->number = 8;
  EXPECT_EQ(table_->number_of(10, false), 7u);
  EXPECT_EQ(table_->number_of(11, true), 8u);
  table_->give_up();
  EXPECT_EQ(table_->number_of(10, false), 0u);
  EXPECT_EQ(take(10), 0u);
  const ClaimedRequest claimed = table_->claim(11, false);
  EXPECT_NE(claimed.tracked, nullptr);
  EXPECT_EQ(claimed.number, 0u);
}

TEST_F(RequestTableTest, ThreadsShareAHandle) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 20'000;
  std::vector<std::thread> threads;
  std::vector<std::vector<std::uint64_t>> taken(kThreads);
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        wrong += !table_->insert_plain(10, 1 + i * kThreads + static_cast<std::uint64_t>(t), true);
        const ClaimedRequest claimed = table_->claim(10, true);
        wrong += claimed.tracked != nullptr || claimed.number == 0;
        taken[static_cast<std::size_t>(t)].push_back(claimed.number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  std::set<std::uint64_t> all;
  for (const auto& of_thread : taken) all.insert(of_thread.begin(), of_thread.end());
  EXPECT_EQ(all.size(), kThreads * kRounds);
  EXPECT_EQ(take(10), 0u);
}

TEST_F(RequestTableTest, ThreadsInsertAndCompleteSideBySide) {
  constexpr int kThreads = 4, kRounds = 50'000;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        const Word key = 2 + static_cast<Word>(i % 16 * kThreads + t);  // In sets that others use.
        TrackedRequest* request = table_->insert(key, true);
        if (request == nullptr) {
          ++wrong;
          continue;
        }
        request->bytes = static_cast<std::uint64_t>(t) << 32 | static_cast<std::uint32_t>(i);
        table_->publish(request, key);
        TrackedRequest* claimed = table_->claim(key, true).tracked;
        const std::uint64_t expected =
            static_cast<std::uint64_t>(t) << 32 | static_cast<std::uint32_t>(i);
        wrong += claimed == nullptr || claimed->bytes != expected;
        if (claimed != nullptr) table_->release(claimed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace xylem::capture
