#include "base/quoted.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace xylem {

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string shown = "'";
  for (const char c : text.substr(0, kShown)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return shown + (text.size() > kShown ? "...'" : "'");
}

std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    // A shell reads a first word such as A=b as an assignment, unless it is quoted.
    const bool may_assign = line.empty() && word.find('=') != std::string::npos;
    const bool plain = !word.empty() && !may_assign && std::ranges::all_of(word, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("@%+=:,./_-", c) != nullptr;
    });
    if (!line.empty()) line += ' ';
    line += plain ? word : shell_quoted(word);
  }
  return line;
}

}  // namespace xylem
