// GOAL of anybody: what can be read is written as a text that reads back as the same program, and
// can be replayed, also on a network of channels. Few random texts are GOAL, so the bytes also
// choose the statements of a text that nearly always is.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "predict/replay/machine.h"
#include "predict/trace/goal_text.h"

using namespace xylem;

namespace {

/// Two to five ranks; each four bytes are an operation or a dependency of one of them.
std::string chosen(std::span<const std::uint8_t> bytes) {
  const unsigned ranks = 2 + (bytes.empty() ? 0 : bytes[0] % 4);
  std::string text = "num_ranks " + std::to_string(ranks) + "\n";
  const auto label = [](unsigned number) { return "l" + std::to_string(number); };
  for (unsigned rank = 0; rank < ranks; ++rank) {
    text += "rank " + std::to_string(rank) + " {\n";
    unsigned operations = 0;
    for (std::size_t i = 1; i + 4 <= bytes.size(); i += 4) {
      const std::uint8_t what = bytes[i], a = bytes[i + 1], b = bytes[i + 2], c = bytes[i + 3];
      if (what % ranks != rank) continue;
      const std::string details = " tag " + std::to_string(b % 3) +
                                  (c % 4 == 0 ? " cpu " + std::to_string(c % 3) : "") + "\n";
      const std::string size = std::to_string(c % 17) + "b ";
      const std::string peer = std::to_string(a % ranks);
      switch (what / ranks % 5) {
        case 0:
          text += label(++operations) + ": calc " + std::to_string(a * b) + "\n";
          break;
        case 1:
          text += label(++operations) + ": send " + size + "to " + peer + details;
          break;
        case 2:
          text +=
              label(++operations) + ": recv " + size + "from " + (a > 240 ? "-1" : peer) + details;
          break;
        default:
          if (operations < 2) break;
          text += label(1 + a % operations) + (c % 3 == 0 ? " irequires " : " requires ") +
                  label(1 + b % operations) + "\n";
      }
    }
    text += "}\n";
  }
  return text;
}

/// Two ranks on a node, as far as there are ranks.
void check_channels(const predict::Program& program, const predict::LogGps& ends) {
  const std::size_t ranks = program.ranks.size();
  if (ranks == 0 || ranks > 64) return;
  const auto mesh = predict::make_grid({32}, false);
  CHECK(mesh);
  predict::Machine machine{
      ends,
      {predict::Femtoseconds{7'000'000}, predict::Femtoseconds{900'000}, 100'000},
      {predict::Femtoseconds{3'000'000}, predict::Femtoseconds{1000}},
      mesh->get(),
      {}};
  for (std::uint32_t i = 0; i < ranks; ++i) machine.node_of_rank.push_back(predict::Node{i / 2});
  const auto plain = predict::replay(program, ends);
  const auto found = predict::replay_on(program, machine, predict::Model::kChannels);
  CHECK(!found || found->prediction.end_ns.size() == ranks);
  if (plain && found) CHECK(found->prediction.messages == plain->messages);
}

void check(std::string_view text) {
  const auto program = predict::parse_goal(text, "fuzz");
  if (!program) {
    CHECK(program.error().code == Code::kInvalidArgument);
    CHECK(program.error().message.starts_with("fuzz:"));
    return;
  }
  const auto again = predict::parse_goal(predict::print_goal(*program), "printed");
  CHECK(again && *again == *program);
  const predict::LogGps network{predict::Femtoseconds{2'500'000}, predict::Femtoseconds{1'500'001},
                                predict::Femtoseconds{1'000'000}, predict::Femtoseconds{6000},
                                predict::Femtoseconds{10},        8};
  check_channels(*program, network);
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
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  check(std::string_view(reinterpret_cast<const char*>(bytes), size));
  check(chosen(std::span(bytes, size)));
  return 0;
}
