#include "viz/text_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace xylem::viz {
namespace {

constexpr std::size_t kWidest = 200;

}  // namespace

TextColumns::TextColumns(std::vector<Head> heads, std::size_t indent)
    : heads_(std::move(heads)), indent_(indent) {
  for (const Head& head : heads_) widths_.push_back(std::string_view(head.name).size());
}

void TextColumns::add(std::vector<std::string> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    widths_[i] = std::clamp(row[i].size(), widths_[i], kWidest);
  }
  rows_.push_back(std::move(row));
}

std::string TextColumns::text() const {
  std::vector<std::string> names;
  for (const Head& head : heads_) names.emplace_back(head.name);
  std::string all = line(names);
  for (const auto& row : rows_) all += line(row);
  return all;
}

std::string TextColumns::line(const std::vector<std::string>& cells) const {
  std::string text(indent_, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) text += "  ";
    text += heads_[i].is_right ? fmt::format("{:>{}}", cells[i], widths_[i])
                               : fmt::format("{:<{}}", cells[i], widths_[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace xylem::viz
