#include "backend/series_source.h"

#include <limits>
#include <string>

namespace xylem::backend {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool is_called(std::string_view name, std::string_view prefix, std::string_view label,
               std::string_view suffix) {
  return name.size() == prefix.size() + label.size() + suffix.size() && name.starts_with(prefix) &&
         name.substr(prefix.size(), label.size()) == label && name.ends_with(suffix);
}

}  // namespace

void Readout::name(std::string_view prefix, std::string_view label, std::string_view suffix,
                   std::string_view unit, double scale, bool per_second) {
  const std::size_t at = numbers_.size();
  auto& rows = layout_->rows;
  if (at < rows.size() && is_called(rows[at].name, prefix, label, suffix)) return;
  changed_ = true;
  rows.resize(at);
  rows.push_back(
      {std::string(prefix).append(label).append(suffix), std::string(unit), scale, per_second});
}

void Readout::counter(std::string_view prefix, std::string_view label, std::string_view suffix,
                      std::string_view unit, double scale, double number) {
  name(prefix, label, suffix, unit, scale, true);
  const std::size_t at = numbers_.size();
  counted_.resize(at, kUnknown);
  counted_.push_back(number);
  const double growth = at < before_.size() ? number - before_[at] : kUnknown;
  numbers_.push_back(growth >= 0 ? growth : kUnknown);
}

bool Readout::end() {
  if (layout_->rows.size() > numbers_.size()) {
    layout_->rows.resize(numbers_.size());
    changed_ = true;
  }
  // Whose the earlier counts are is not certain any more.
  for (std::size_t i = 0; changed_ && i < counted_.size(); ++i) {
    if (!std::isnan(counted_[i])) numbers_[i] = kUnknown;
  }
  before_.swap(counted_);
  counted_.clear();
  return changed_;
}

}  // namespace xylem::backend
