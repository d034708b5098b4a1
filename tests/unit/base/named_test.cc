#include "base/named.h"

#include <gtest/gtest.h>

#include <array>

namespace xylem {
namespace {

enum class Colour { kRed, kBlue };
constexpr std::array kColours = {Colour::kRed, Colour::kBlue};

const char* colour_name(Colour colour) { return colour == Colour::kRed ? "red" : "blue"; }

TEST(FindNamed, FindsTheValueOfEachName) {
  for (const Colour colour : kColours) {
    EXPECT_EQ(find_named(kColours, colour_name, colour_name(colour)), colour);
  }
}

TEST(FindNamed, FindsNothingForAnotherText) {
  for (const char* text : {"", "Red", "re", "reddish"}) {
    EXPECT_EQ(find_named(kColours, colour_name, text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace xylem
