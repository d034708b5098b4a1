#include <algorithm>
#include <array>
#include <charconv>

#include "placement/number_text_internal.h"

namespace xylem::placement {

namespace {

std::string with_places(double number, int places) {
  std::array<char, 400> text{};  // The largest double has 309 digits before the point.
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number,
                                 std::chars_format::fixed, places);
  return {text.data(), end.ptr};
}

}  // namespace

std::string fixed(double number) { return with_places(number, 4); }

std::string two_places(double number) { return with_places(number, 2); }

std::string shortest(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end.ptr};
}

std::string Table::print(const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    while (widths.size() < row.size()) widths.push_back(widths.empty() ? 0 : least_);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + blanks : blanks + row[i];
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace xylem::placement
