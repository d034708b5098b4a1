#include "base/interval_set.h"

#include <algorithm>

namespace xylem {

IntervalSet IntervalSet::of(std::uint64_t number) { return range(number, number + 1); }

IntervalSet IntervalSet::range(std::uint64_t first, std::uint64_t end) {
  IntervalSet set;
  set.insert(first, end);
  return set;
}

std::uint64_t IntervalSet::count() const noexcept {
  std::uint64_t sum = 0;
  for (const Interval& i : intervals_) sum += i.end - i.first;
  return sum;
}

bool IntervalSet::contains(std::uint64_t number) const noexcept {
  const auto after =
      std::upper_bound(intervals_.begin(), intervals_.end(), number,
                       [](std::uint64_t n, const Interval& i) { return n < i.first; });
  return after != intervals_.begin() && number < std::prev(after)->end;
}

bool IntervalSet::contains(const IntervalSet& other) const { return intersection(other) == other; }

bool IntervalSet::intersects(const IntervalSet& other) const noexcept {
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() && b != other.intervals_.end()) {
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
  // Everything that overlaps or touches [first, end) melts into it.
  auto begin = std::lower_bound(intervals_.begin(), intervals_.end(), first,
                                [](const Interval& i, std::uint64_t n) { return i.end < n; });
  auto last = begin;
  while (last != intervals_.end() && last->first <= end) {
    first = std::min(first, last->first);
    end = std::max(end, last->end);
    ++last;
  }
  begin = intervals_.erase(begin, last);
  intervals_.insert(begin, Interval{first, end});
}

void IntervalSet::insert(const IntervalSet& other) {
  for (const Interval& i : other.intervals_) insert(i.first, i.end);
}

void IntervalSet::erase(std::uint64_t first, std::uint64_t end) {
  if (first >= end) return;
  std::vector<Interval> kept;
  for (const Interval& i : intervals_) {
    if (i.first < std::min(i.end, first)) kept.push_back({i.first, std::min(i.end, first)});
    if (std::max(i.first, end) < i.end) kept.push_back({std::max(i.first, end), i.end});
  }
  intervals_ = std::move(kept);
}

IntervalSet IntervalSet::intersection(const IntervalSet& other) const {
  IntervalSet result;
  auto a = intervals_.begin();
  auto b = other.intervals_.begin();
  while (a != intervals_.end() && b != other.intervals_.end()) {
    const std::uint64_t first = std::max(a->first, b->first);
    const std::uint64_t end = std::min(a->end, b->end);
    if (first < end) result.intervals_.push_back({first, end});
    if (a->end < b->end) {
      ++a;
    } else {
      ++b;
    }
  }
  return result;
}

IntervalSet IntervalSet::difference(const IntervalSet& other) const {
  IntervalSet result = *this;
  for (const Interval& i : other.intervals_) result.erase(i.first, i.end);
  return result;
}

std::string IntervalSet::to_string() const {
  std::string text;
  for (const Interval& i : intervals_) {
    if (!text.empty()) text += ',';
    text += std::to_string(i.first);
    if (i.end - i.first > 1) text += '-' + std::to_string(i.end - 1);
  }
  return text;
}

}  // namespace xylem
