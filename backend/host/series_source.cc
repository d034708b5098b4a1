#include "backend/host/series_source.h"

#include <iterator>
#include <limits>

namespace xylem::backend {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool is_called(std::string_view name, std::string_view prefix, std::string_view label,
               std::string_view suffix) {
  return name.size() == prefix.size() + label.size() + suffix.size() && name.starts_with(prefix) &&
         name.substr(prefix.size(), label.size()) == label && name.ends_with(suffix);
}

}  // namespace

std::vector<wire::SeriesEntry> under_names_of(const wire::SeriesLayout& to,
                                              const wire::SeriesLayout& from,
                                              const std::vector<wire::SeriesEntry>& entries) {
  std::map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < from.rows.size(); ++i) place.emplace(from.rows[i].name, i);
  std::vector<wire::SeriesEntry> renamed;
  for (const wire::SeriesEntry& entry : entries) {
    wire::SeriesEntry& other = renamed.emplace_back(wire::SeriesEntry{entry.lane, {}});
    for (const wire::MetricRow& row : to.rows) {
      const auto found = place.find(row.name);
      const bool is_known = found != place.end() && found->second < entry.numbers.size();
      other.numbers.push_back(is_known ? entry.numbers[found->second] : kUnknown);
    }
  }
  return renamed;
}

void Readout::begin(wire::SeriesLayout& layout) {
  layout_ = &layout;
  numbers_.clear();
  changed_ = false;
  replaced_.clear();
  replaced_counts_.clear();
}

void Readout::name(std::string_view prefix, std::string_view label, std::string_view suffix,
                   std::string_view unit, double scale, bool per_second) {
  const std::size_t at = numbers_.size();
  auto& rows = layout_->rows;
  if (at < rows.size() && is_called(rows[at].name, prefix, label, suffix)) return;
  if (!changed_) replace_rows();
  rows.push_back(
      {std::string(prefix).append(label).append(suffix), std::string(unit), scale, per_second});
}

// From this row on, the names differ from those of the previous readout. Previous counts are then
// found by name.
void Readout::replace_rows() {
  auto& rows = layout_->rows;
  changed_ = true;
  replaced_from_ = numbers_.size();
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(replaced_from_);
  replaced_.assign(std::make_move_iterator(first), std::make_move_iterator(rows.end()));
  rows.erase(first, rows.end());
  for (std::size_t i = replaced_from_; i < before_.size(); ++i) {
    if (i - replaced_from_ >= replaced_.size()) break;
    replaced_counts_.emplace(replaced_[i - replaced_from_].name, before_[i]);
  }
}

// Returns the previous count of the row that was named last.
double Readout::count_before() const {
  const std::size_t at = numbers_.size();
  if (!changed_ || at < replaced_from_) return at < before_.size() ? before_[at] : kUnknown;
  const auto found = replaced_counts_.find(layout_->rows[at].name);
  return found == replaced_counts_.end() ? kUnknown : found->second;
}

void Readout::counter(std::string_view prefix, std::string_view label, std::string_view suffix,
                      std::string_view unit, double scale, double number) {
  name(prefix, label, suffix, unit, scale, true);
  counted_.resize(numbers_.size(), kUnknown);
  counted_.push_back(number);
  const double growth = number - count_before();
  numbers_.push_back(growth >= 0 ? growth : kUnknown);
}

void Readout::unknown(std::size_t first, std::size_t count) {
  for (std::size_t i = first; i < first + count; ++i) {
    const bool is_replaced = changed_ && i >= replaced_from_;
    const std::size_t at = is_replaced ? i - replaced_from_ : i;
    const auto& rows = is_replaced ? replaced_ : layout_->rows;
    if (at >= rows.size()) return;
    const wire::MetricRow row = rows[at];  // A copy: name() may replace it.
    name(row.name, "", "", row.unit, row.scale, row.per_second);
    numbers_.push_back(kUnknown);
  }
}

void Readout::end() {
  if (layout_->rows.size() > numbers_.size()) layout_->rows.resize(numbers_.size());
  before_.swap(counted_);
  counted_.clear();
}

}  // namespace xylem::backend
