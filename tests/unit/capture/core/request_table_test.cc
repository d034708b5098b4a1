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
    table_->publish(request, key);
    return request;
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
  for (Word key = 2; key < kKeys; key += 2) table_->release(table_->claim(key));
  for (Word key = 3; key < kKeys; key += 2) table_->claim(key);
  for (Word key : {Word{0}, Word{1}}) {
    EXPECT_EQ(table_->find(key), nullptr);
    EXPECT_EQ(table_->claim(key), nullptr);
  }
}

TEST_F(RequestTableTest, AClaimedRequestIsOutOfSightUntilItIsPublishedAgain) {
  put(10, 1);
  TrackedRequest* claimed = table_->claim(10);
  ASSERT_NE(claimed, nullptr);
  EXPECT_EQ(table_->find(10), nullptr);
  table_->publish(claimed, 10);
  EXPECT_EQ(table_->find(10), claimed);
}

TEST_F(RequestTableTest, AHandleMayBeUsedAnewWhileItsOldRequestIsClaimed) {
  put(10, 1);
  TrackedRequest* old = table_->claim(10);
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
        if (TrackedRequest* claimed = table_->claim(key)) table_->release(claimed);
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
        TrackedRequest* claimed = table_->claim(key);
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
