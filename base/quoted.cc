#include "base/quoted.h"

namespace xylem {

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return shown + (text.size() > kShown ? "...'" : "'");
}

}  // namespace xylem
