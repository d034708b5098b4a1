#include "capture/core/text_internal.h"

namespace xylem::capture {

bool read_number(const char** from, std::uint32_t* number) noexcept {
  std::uint64_t value = 0;
  const char* at = *from;
  for (; *at >= '0' && *at <= '9'; ++at) {
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    if (value > 0xffffffffu) return false;
  }
  if (at == *from) return false;
  *from = at;
  *number = static_cast<std::uint32_t>(value);
  return true;
}

bool equals(const char* text, std::size_t length, const char* other) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    if (other[i] == 0 || text[i] != other[i]) return false;
  }
  return other[length] == 0;
}

}  // namespace xylem::capture
