// What becomes of warnings between a log and a link.

#include "overlay/notice_board.h"

#include <gtest/gtest.h>

#include "overlay/node.h"

namespace xylem::overlay {
namespace {

constexpr Nanos kStart = 100 * kSecond;

NoticeBoard make_board() { return NoticeBoard({wire::Role::kCommProcess, "node3", 77}); }

TEST(NoticeBoard, SignsWhatIsPostedAndTellsItsAge) {
  NoticeBoard board = make_board();
  board.post(Level::kError, "disk full path=/x", kStart);
  ASSERT_TRUE(board.due(kStart));
  const auto taken = board.take(kStart + 3 * kSecond);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].role, wire::Role::kCommProcess);
  EXPECT_EQ(taken[0].host, "node3");
  EXPECT_EQ(taken[0].pid, 77u);
  EXPECT_TRUE(taken[0].error);
  EXPECT_EQ(taken[0].text, "disk full path=/x");
  EXPECT_EQ(taken[0].age_ns, 3 * kSecond);
  EXPECT_EQ(taken[0].dropped, 0u);
  EXPECT_FALSE(board.due(kStart + 3 * kSecond));
}

TEST(NoticeBoard, LeavesOutWhatIsNoWarning) {
  NoticeBoard board = make_board();
  board.post(Level::kInfo, "attached", kStart);
  EXPECT_FALSE(board.due(kStart));
  board.post(Level::kWarn, "degraded", kStart);
  EXPECT_FALSE(board.take(kStart)[0].error);
}

TEST(NoticeBoard, CutsWhatIsTooLong) {
  NoticeBoard board = make_board();
  board.post(Level::kWarn, std::string(5000, 'x'), kStart);
  EXPECT_EQ(board.take(kStart)[0].text.size(), wire::kMaxNoticeBytes);
}

TEST(NoticeBoard, DropsWhatGoesBeyondABurstAndTheNextNoticeSaysHowMany) {
  NoticeBoard board = make_board();
  for (std::size_t i = 0; i < NoticeBoard::kBurst + 5; ++i) {
    board.post(Level::kWarn, std::to_string(i), kStart);
  }
  EXPECT_EQ(board.take(kStart).size(), NoticeBoard::kBurst);
  board.post(Level::kWarn, "later", kStart + NoticeBoard::kRefill);
  const auto taken = board.take(kStart + NoticeBoard::kRefill);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].text, "later");
  EXPECT_EQ(taken[0].dropped, 5u);
}

TEST(NoticeBoard, SaysWhatItDroppedThoughNothingFollows) {
  NoticeBoard board = make_board();
  for (std::size_t i = 0; i < NoticeBoard::kBurst + 2; ++i) board.post(Level::kWarn, "x", kStart);
  board.take(kStart);
  EXPECT_FALSE(board.due(kStart + NoticeBoard::kRefill / 2));
  EXPECT_TRUE(board.due(kStart + NoticeBoard::kRefill));
  const auto taken = board.take(kStart + NoticeBoard::kRefill);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].dropped, 2u);
  EXPECT_FALSE(board.due(kStart + 100 * NoticeBoard::kRefill));
}

TEST(NoticeBoard, KeepsTheNewestWhileNobodyTakesThem) {
  NoticeBoard board = make_board();
  for (std::size_t i = 0; i < NoticeBoard::kKept + 3; ++i) {
    wire::Notice notice;
    notice.text = std::to_string(i);
    notice.dropped = i == 0 ? 10 : 0;  // What somebody else dropped is not forgotten.
    board.pass_on(std::move(notice), kStart);
  }
  const auto taken = board.take(kStart);
  ASSERT_EQ(taken.size(), NoticeBoard::kKept + 1);
  EXPECT_EQ(taken.front().text, "3");
  EXPECT_EQ(taken.back().dropped, 13u);
}

TEST(NoticeBoard, AddsItsOwnTimeToWhatItPassesOn) {
  NoticeBoard board = make_board();
  wire::Notice notice;
  notice.host = "node9";
  notice.age_ns = 5;
  board.pass_on(notice, kStart);
  const auto taken = board.take(kStart + 2);
  EXPECT_EQ(taken[0].age_ns, 7);
  EXPECT_EQ(taken[0].host, "node9");
}

TEST(NoticeBoard, NumbersWhatItSaysOfItselfAndNothingElse) {
  NoticeBoard board = make_board();
  board.post(Level::kWarn, "one", kStart);
  board.post(Level::kWarn, "two", kStart);
  wire::Notice notice;
  notice.number = 5;
  board.pass_on(notice, kStart);
  const auto taken = board.take(kStart);
  EXPECT_LT(0u, taken[0].number);
  EXPECT_LT(taken[0].number, taken[1].number);
  EXPECT_EQ(taken[2].number, 5u);
  NoticeBoard successor = make_board();
  successor.post(Level::kWarn, "three", kStart + kMillisecond);
  EXPECT_LT(taken[1].number, successor.take(kStart + kMillisecond)[0].number);
}

TEST(NoticeBoard, SendsAgainWhatADyingParentMayHaveLost) {
  NoticeBoard board = make_board();
  board.post(Level::kWarn, "one", kStart);
  const auto first = board.take(kStart);
  board.post(Level::kWarn, "two", kStart + 1);
  board.confirm(kStart + kSilenceLimit - 1);
  EXPECT_EQ(board.take(kStart + 1).size(), 1u) << "to the same parent each goes once";
  board.send_again();
  ASSERT_TRUE(board.due(kStart + 9));
  const auto again = board.take(kStart + 9);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].text, "one");
  EXPECT_EQ(again[0].number, first[0].number);
  EXPECT_EQ(again[0].age_ns, 9);
  EXPECT_EQ(again[1].text, "two");
}

TEST(NoticeBoard, LetsGoWhatTheParentMustHavePassedOn) {
  NoticeBoard board = make_board();
  board.post(Level::kWarn, "one", kStart);
  board.take(kStart);
  board.post(Level::kWarn, "two", kStart + 1);
  board.take(kStart + 1);
  board.confirm(kStart + kSilenceLimit);
  board.send_again();
  const auto again = board.take(kStart + 9 * kSecond);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].text, "two");
}

TEST(NoticeBoard, HoldsABoundedNumber) {
  NoticeBoard board = make_board();
  for (std::size_t i = 0; i < NoticeBoard::kHeld + 3; ++i) {
    wire::Notice notice;
    notice.text = std::to_string(i);
    board.pass_on(std::move(notice), kStart);
    board.take(kStart);
  }
  board.send_again();
  const auto again = board.take(kStart);
  ASSERT_EQ(again.size(), NoticeBoard::kHeld);
  EXPECT_EQ(again[0].text, "3");
}

TEST(NoticeBoard, TakesNothingWhileItsNoticesAreSent) {
  NoticeBoard board = make_board();
  int woken = 0;
  board.set_wake([&woken] { ++woken; });
  board.set_sending(true);
  board.post(Level::kWarn, "link lost", kStart);
  EXPECT_FALSE(board.due(kStart));
  EXPECT_EQ(woken, 0);
  board.set_sending(false);
  board.post(Level::kWarn, "link lost", kStart);
  EXPECT_TRUE(board.due(kStart));
  EXPECT_EQ(woken, 1);
}

}  // namespace
}  // namespace xylem::overlay
