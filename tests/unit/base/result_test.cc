#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace xylem {
namespace {

Result<int> parse_digit(char c) {
  if (c < '0' || c > '9') return unexpected(Code::kInvalidArgument, "not a digit");
  return c - '0';
}

TEST(Result, HoldsAValueOrAnError) {
  const auto good = parse_digit('7');
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  const auto bad = parse_digit('x');
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalidArgument);
  EXPECT_EQ(bad.error().message, "not a digit");
}

TEST(Result, MovesOutWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> owner = *std::move(result);
  EXPECT_EQ(*owner, 3);
}

TEST(Result, OfVoidIsSuccessUnlessToldOtherwise) {
  EXPECT_TRUE(Result<void>());
  const Result<void> bad = unexpected(Code::kTimedOut, "late");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kTimedOut);
}

TEST(ResultDeathTest, StopsTheProgramWhenTheMissingSideIsRead) {
  EXPECT_DEATH(static_cast<void>(parse_digit('7').error()), "check failed");
  EXPECT_DEATH(static_cast<void>(*parse_digit('x')), "check failed");
}

}  // namespace
}  // namespace xylem
