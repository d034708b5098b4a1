// GOAL of anybody: what can be read is written as a text that reads back as the same program, and
// can be replayed.

#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "predict/replay/replay.h"
#include "predict/trace/goal_text.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto program = predict::parse_goal(text, "fuzz");
  if (!program) {
    CHECK(program.error().code == Code::kInvalidArgument);
    CHECK(program.error().message.starts_with("fuzz:"));
    return 0;
  }
  const auto again = predict::parse_goal(predict::print_goal(*program), "printed");
  CHECK(again && *again == *program);
  const predict::LogGps network{predict::Femtoseconds{2'500'000}, predict::Femtoseconds{1'500'001},
                                predict::Femtoseconds{1'000'000}, predict::Femtoseconds{6000},
                                predict::Femtoseconds{10},        8};
  const auto prediction = predict::replay(*program, network);
  const auto repeated = predict::replay(*again, network);
  CHECK(prediction.has_value() == repeated.has_value());
  if (prediction) {
    CHECK(*prediction == *repeated);
    CHECK(prediction->end_ns.size() == program->ranks.size());
  } else {
    CHECK(prediction.error().code == Code::kInvalidArgument);
    CHECK(prediction.error().message == repeated.error().message);
  }
  return 0;
}
