// A small dose of fuzzing for every build, with any compiler: replays the golden bytes, then
// injures them. The same seed gives the same inputs.
//
//   fuzz_frame_dose --runs=20000 --seed=1 tests/golden/wire/*.hex

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

#include "tests/support/golden_bytes.h"
#include "tests/support/hostile_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Bytes = std::vector<std::byte>;

struct Dose {
  std::uint64_t runs = 20000;
  std::uint64_t seed = 20240607;
  std::vector<Bytes> golden;
};

bool read_arguments(int argc, char** argv, Dose& dose) {
  constexpr std::string_view kRuns = "--runs=";
  constexpr std::string_view kSeed = "--seed=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kRuns)) {
      dose.runs = std::strtoull(argv[i] + kRuns.size(), nullptr, 10);
    } else if (argument.starts_with(kSeed)) {
      dose.seed = std::strtoull(argv[i] + kSeed.size(), nullptr, 10);
    } else {
      dose.golden.push_back(xylem::testing::read_hex(argv[i]));
      if (dose.golden.back().empty()) {
        std::cerr << argv[i] << ": no such file, or no hex\n";
        return false;
      }
    }
  }
  if (dose.golden.empty()) std::cerr << "usage: " << argv[0] << " [--runs=N] [--seed=N] HEX...\n";
  return !dose.golden.empty();
}

void take(const Bytes& bytes) {
  // Of its own size, so that a sanitizer sees a read past the end.
  const Bytes exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
  Dose dose;
  if (!read_arguments(argc, argv, dose)) return 2;
  std::cout << dose.golden.size() << " golden inputs, " << dose.runs << " injured ones, seed "
            << dose.seed << std::endl;
  take({});
  for (const Bytes& bytes : dose.golden) take(bytes);
  std::mt19937_64 random(dose.seed);
  for (std::uint64_t run = 0; run < dose.runs; ++run) {
    take(xylem::testing::injured(dose.golden[random() % dose.golden.size()], random));
  }
  return 0;
}
