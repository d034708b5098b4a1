// What a link may carry, as values.

#include "overlay/credits.h"

#include <gtest/gtest.h>

#include <random>

namespace xylem::overlay {
namespace {

TEST(Credits, CountOnlyWhatTakesRoom) {
  EXPECT_TRUE(is_data(wire::Packet{}));
  EXPECT_TRUE(is_data(wire::Multicast{}));
  EXPECT_FALSE(is_data(wire::Acknowledgement{}));
  EXPECT_FALSE(is_data(wire::Control{}));
  EXPECT_FALSE(is_data(wire::Ping{}));
  EXPECT_FALSE(is_data(wire::Credit{}));
}

TEST(Credits, LetTheFirstBytesGoUnasked) {
  SendCredit sender(true);
  EXPECT_TRUE(sender.has_room());
  sender.add_sent(kFirstCredit - 1);
  EXPECT_TRUE(sender.has_room());
  sender.add_sent(1);
  EXPECT_FALSE(sender.has_room());
}

TEST(Credits, NeverShrink) {
  SendCredit sender(true);
  sender.add_sent(kFirstCredit);
  sender.set_granted(kFirstCredit + 1);
  EXPECT_TRUE(sender.has_room());
  sender.set_granted(0);
  EXPECT_TRUE(sender.has_room());
}

TEST(Credits, OfAPeerThatDoesNotKnowThemAreWithoutEnd) {
  SendCredit sender(false);
  sender.add_sent(10 * kCreditWindow);
  EXPECT_TRUE(sender.has_room());
  ReceiveCredit receiver(false);
  EXPECT_TRUE(receiver.add_received(10 * kCreditWindow));
  EXPECT_TRUE(receiver.add_received(1));
  EXPECT_FALSE(receiver.is_due());
}

TEST(Credits, AreNotToldForEveryFrame) {
  ReceiveCredit receiver(true);
  ASSERT_TRUE(receiver.is_due());
  ASSERT_EQ(receiver.grant(), kCreditWindow);
  EXPECT_FALSE(receiver.is_due());
  EXPECT_TRUE(receiver.add_received(100));
  EXPECT_FALSE(receiver.is_due());
  EXPECT_TRUE(receiver.add_received(kCreditWindow / 4));
  EXPECT_TRUE(receiver.is_due());
  EXPECT_EQ(receiver.grant(), kCreditWindow + kCreditWindow / 4 + 100);
}

TEST(Credits, NoticeWhoSendsWithoutAny) {
  ReceiveCredit receiver(true);
  EXPECT_TRUE(receiver.add_received(kFirstCredit));
  EXPECT_FALSE(receiver.add_received(1));
}

// A link between the two, with what was sent and granted on its way for a while.
TEST(Credits, KeepWhatIsUnderWayWithinTheWindowAndAFrameAndNeverStandStill) {
  constexpr unsigned kSeed = 20240607;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  for (int trial = 0; trial < 100; ++trial) {
    SendCredit sender(true);
    ReceiveCredit receiver(true);
    const std::size_t largest = 1 + random() % (2 * kCreditWindow);
    std::size_t under_way = 0;
    std::size_t arrived = 0;
    for (int step = 0; step < 1000; ++step) {
      while (sender.has_room() && random() % 4 != 0) {
        const std::size_t frame = 1 + random() % largest;
        sender.add_sent(frame);
        under_way += frame;
        ASSERT_TRUE(receiver.add_received(frame));
        ASSERT_LT(under_way, kCreditWindow + largest);
      }
      if (random() % 3 != 0) continue;  // The receiver is slow.
      arrived += under_way;
      under_way = 0;
      if (receiver.is_due()) sender.set_granted(receiver.grant());
      ASSERT_TRUE(sender.has_room()) << "nothing is under way, and nothing may go";
    }
    EXPECT_GT(arrived, kFirstCredit);
  }
}

}  // namespace
}  // namespace xylem::overlay
