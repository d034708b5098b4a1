#include "base/interval_set.h"

#include <algorithm>

namespace xylem {

IntervalSet IntervalSet::of(std::uint64_t number) { return range(number, number + 1); }

IntervalSet IntervalSet::range(std::uint64_t first, std::uint64_t end) {
  IntervalSet set;
  set.insert(first, end);
  return set;
}

IntervalSet IntervalSet::of_ascending(std::vector<Interval> intervals) {
  IntervalSet set;
  if (intervals.size() == 1) {
    set.one_ = intervals.front();
  } else {
    set.many_ = std::move(intervals);
  }
  return set;
}

std::uint64_t IntervalSet::count() const noexcept {
  std::uint64_t sum = 0;
  for (const Interval& i : intervals()) sum += i.end - i.first;
  return sum;
}

std::uint64_t IntervalSet::count_below(std::uint64_t number) const noexcept {
  std::uint64_t sum = 0;
  for (const Interval& i : intervals()) {
    if (number <= i.first) break;
    sum += std::min(number, i.end) - i.first;
  }
  return sum;
}

bool IntervalSet::contains(std::uint64_t number) const noexcept {
  const auto all = intervals();
  const auto after =
      std::upper_bound(all.begin(), all.end(), number,
                       [](std::uint64_t n, const Interval& i) { return n < i.first; });
  return after != all.begin() && number < std::prev(after)->end;
}

bool IntervalSet::contains(const IntervalSet& other) const noexcept {
  const auto all = intervals();
  auto ours = all.begin();
  for (const Interval& theirs : other.intervals()) {
    while (ours != all.end() && ours->end < theirs.end) ++ours;
    if (ours == all.end() || theirs.first < ours->first) return false;
  }
  return true;
}

bool IntervalSet::intersects(const IntervalSet& other) const noexcept {
  const auto ours = intervals();
  const auto theirs = other.intervals();
  auto a = ours.begin();
  auto b = theirs.begin();
  while (a != ours.end() && b != theirs.end()) {
    if (a->end <= b->first) {
      ++a;
    } else if (b->end <= a->first) {
      ++b;
    } else {
      return true;
    }
  }
  return false;
}

void IntervalSet::insert(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  if (many_.empty()) {
    if (one_.first == one_.end) {
      one_ = {first, end};
      return;
    }
    if (first <= one_.end && one_.first <= end) {
      one_ = {std::min(first, one_.first), std::max(end, one_.end)};
      return;
    }
    many_.push_back(std::exchange(one_, {0, 0}));
  }
  // Intervals that overlap or touch [first, end) are merged with it.
  auto begin = std::lower_bound(many_.begin(), many_.end(), first,
                                [](const Interval& i, std::uint64_t n) { return i.end < n; });
  auto last = begin;
  while (last != many_.end() && last->first <= end) {
    first = std::min(first, last->first);
    end = std::max(end, last->end);
    ++last;
  }
  if (begin == last) {
    many_.insert(begin, Interval{first, end});
    return;
  }
  *begin = {first, end};
  many_.erase(std::next(begin), last);
  if (many_.size() > 1) return;
  one_ = many_.front();
  many_.clear();
}

void IntervalSet::insert(const IntervalSet& other) {
  for (const Interval& i : other.intervals()) insert(i.first, i.end);
}

void IntervalSet::erase(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  std::vector<Interval> kept;
  for (const Interval& i : intervals()) {
    if (i.first < std::min(i.end, first)) kept.push_back({i.first, std::min(i.end, first)});
    if (std::max(i.first, end) < i.end) kept.push_back({std::max(i.first, end), i.end});
  }
  *this = of_ascending(std::move(kept));
}

IntervalSet IntervalSet::intersection(const IntervalSet& other) const {
  std::vector<Interval> common;
  const auto ours = intervals();
  const auto theirs = other.intervals();
  auto a = ours.begin();
  auto b = theirs.begin();
  while (a != ours.end() && b != theirs.end()) {
    const std::uint64_t first = std::max(a->first, b->first);
    const std::uint64_t end = std::min(a->end, b->end);
    if (first < end) common.push_back({first, end});
    if (a->end < b->end) {
      ++a;
    } else {
      ++b;
    }
  }
  return of_ascending(std::move(common));
}

IntervalSet IntervalSet::difference(const IntervalSet& other) const {
  IntervalSet result = *this;
  for (const Interval& i : other.intervals()) result.erase(i.first, i.end);
  return result;
}

std::string IntervalSet::to_string() const {
  std::string text;
  for (const Interval& i : intervals()) {
    if (!text.empty()) text += ',';
    text += std::to_string(i.first);
    if (i.end - i.first > 1) text += '-' + std::to_string(i.end - 1);
  }
  return text;
}

}  // namespace xylem
