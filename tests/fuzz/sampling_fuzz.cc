// What a rank takes from its environment about sampling: it is the job's process, so no text may
// stop it.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "capture/core/ring.h"
#include "capture/core/sampling.h"
#include "xylem_capture_functions.h"

using namespace xylem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  static std::array<std::atomic<std::uint32_t>, capture::kMaxFunctions> every;
  const char* refused = capture::set_sampling(text.c_str(), every.data());
  CHECK(refused == nullptr || (refused >= text.c_str() && refused <= text.c_str() + text.size()));
  for (std::size_t f = 0; f < capture::kFunctionCount; ++f) CHECK(every[f] > 0);
  return 0;
}
