#include "launch/restarts.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xylem::launch {
namespace {

TEST(Restarts, AreAtOnceTheFirstTime) { EXPECT_EQ(Restarts().next(5 * kSecond), 5 * kSecond); }

TEST(Restarts, PauseTwiceAsLongEachTimeUpToALimit) {
  Restarts restarts;
  Nanos now = 100 * kSecond;
  std::vector<Nanos> pauses;
  for (int i = 0; i < 8; ++i) {
    const Nanos at = restarts.next(now);
    pauses.push_back((at - now) / kMillisecond);
    now = at;
  }
  EXPECT_EQ(pauses, (std::vector<Nanos>{0, 250, 500, 1000, 2000, 4000, 8000, 16000}));
}

TEST(Restarts, AreAsAtFirstAfterAQuietTime) {
  Restarts restarts;
  Nanos now = kSecond;
  for (int i = 0; i < 4; ++i) now = restarts.next(now);
  now += Restarts::kWindow;
  EXPECT_EQ(restarts.next(now), now);
}

TEST(Restarts, AreNeverMoreThanTheMostWithinAnyWindow) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  Restarts restarts;
  Nanos now = 0;
  std::vector<Nanos> starts;
  for (int i = 0; i < 2000; ++i) {
    const Nanos at = restarts.next(now);
    ASSERT_GE(at, now);
    starts.push_back(at);
    if (starts.size() > Restarts::kMaxStarts) {
      ASSERT_GE(at - starts[starts.size() - 1 - Restarts::kMaxStarts], Restarts::kWindow) << i;
    }
    now = at + static_cast<Nanos>(random() % (i % 50 == 0 ? 90 : 1)) * kSecond;
  }
}

}  // namespace
}  // namespace xylem::launch
