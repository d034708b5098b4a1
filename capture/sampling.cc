#include "capture/sampling_internal.h"
#include "capture/text_internal.h"
#include "xylem_capture_functions.h"

namespace xylem::capture {
namespace {

constexpr std::uint16_t kSpun[] = {kMPI_Iprobe,  kMPI_Improbe, kMPI_Test,
                                   kMPI_Testall, kMPI_Testany, kMPI_Testsome};

void set_all(std::atomic<std::uint32_t>* every, std::uint32_t number) {
  for (std::uint32_t f = 0; f < kMaxFunctions; ++f)
    every[f].store(number, std::memory_order_relaxed);
}

bool begins(const char* text, std::size_t length, const char* name) {
  for (std::size_t i = 0; i < length; ++i) {
    if (text[i] != name[i]) return false;
  }
  return true;
}

bool set_named(const char* name, std::size_t length, std::uint32_t number,
               std::atomic<std::uint32_t>* every) {
  const bool prefix = length > 0 && name[length - 1] == '*';
  bool found = false;
  for (std::uint32_t f = 0; f < kFunctionCount; ++f) {
    const bool fits = prefix ? begins(name, length - 1, function_names[f])
                             : equals(name, length, function_names[f]);
    if (!fits) continue;
    every[f].store(number, std::memory_order_relaxed);
    found = true;
  }
  return found;
}

// One part, up to a comma or the end. False when it says nothing.
bool set_part(const char* part, std::atomic<std::uint32_t>* every) {
  const char* text = part;
  while (*text != 0 && *text != ',' && *text != '=') ++text;
  const auto length = static_cast<std::size_t>(text - part);
  if (*text == '=') {
    std::uint32_t number = 0;
    ++text;
    const bool is_number = read_number(&text, &number) && (*text == 0 || *text == ',');
    return is_number && number != 0 && set_named(part, length, number, every);
  }
  if (!equals(part, length, "none")) return false;
  set_all(every, 1);
  return true;
}

}  // namespace

const char* set_sampling(const char* text, std::atomic<std::uint32_t>* every) noexcept {
  set_all(every, 1);
  for (const std::uint16_t function : kSpun)
    every[function].store(kDefaultSampling, std::memory_order_relaxed);
  const char* wrong = nullptr;
  while (text != nullptr && *text != 0) {
    if (!set_part(text, every) && wrong == nullptr) wrong = text;
    while (*text != 0 && *text != ',') ++text;
    if (*text == ',') ++text;
  }
  return wrong;
}

}  // namespace xylem::capture
