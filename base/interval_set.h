#pragma once

// A set of numbers, stored as disjoint half-open intervals. The sources of a packet are an
// IntervalSet: thousands of leaves need only a few intervals.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace xylem {

/// A set of unsigned numbers below 2^64 - 1. Sets of the same numbers compare equal. A set of one
/// interval allocates no memory. Not thread-safe.
class IntervalSet {
 public:
  /// The numbers from `first` to `end` - 1. A set contains no empty intervals.
  struct Interval {
    std::uint64_t first;
    std::uint64_t end;
    bool operator==(const Interval&) const = default;
  };

  IntervalSet() = default;
  ~IntervalSet() = default;
  IntervalSet(const IntervalSet&) = default;
  IntervalSet& operator=(const IntervalSet&) = default;
  /// A moved-from set is empty.
  IntervalSet(IntervalSet&& other) noexcept
      : one_(std::exchange(other.one_, {0, 0})), many_(std::exchange(other.many_, {})) {}
  IntervalSet& operator=(IntervalSet&& other) noexcept {
    one_ = std::exchange(other.one_, {0, 0});
    many_ = std::exchange(other.many_, {});
    return *this;
  }
  /// The set of one number.
  static IntervalSet of(std::uint64_t number);
  /// The numbers [first, end); the empty set when first >= end.
  static IntervalSet range(std::uint64_t first, std::uint64_t end);

  bool empty() const noexcept { return intervals().empty(); }
  /// Number of elements of the set.
  std::uint64_t count() const noexcept;
  bool contains(std::uint64_t number) const noexcept;
  /// Number of elements that are less than `number`. If `number` is in the set, the result is its
  /// index, counted from 0.
  std::uint64_t count_below(std::uint64_t number) const noexcept;
  /// True when every number of `other` is in this set.
  bool contains(const IntervalSet& other) const noexcept;
  bool intersects(const IntervalSet& other) const noexcept;

  /// Adds or removes the numbers [first, end). Does nothing if first >= end.
  void insert(std::uint64_t number) { insert(number, number + 1); }
  void insert(std::uint64_t first, std::uint64_t end);
  void insert(const IntervalSet& other);
  void erase(std::uint64_t first, std::uint64_t end);

  IntervalSet intersection(const IntervalSet& other) const;
  IntervalSet difference(const IntervalSet& other) const;

  /// The intervals in ascending order, with a gap between neighbours. The span is valid until the
  /// set changes.
  std::span<const Interval> intervals() const& noexcept {
    if (!many_.empty()) return many_;
    return {&one_, one_.first < one_.end ? std::size_t{1} : std::size_t{0}};
  }
  void intervals() && = delete;  // The span would dangle in a range-for loop.
  /// For example "1-3,7"; "" when empty.
  std::string to_string() const;

  bool operator==(const IntervalSet&) const = default;

 private:
  static IntervalSet of_ascending(std::vector<Interval> intervals);

  Interval one_{0, 0};          // The interval, if there is only one (the usual case); else 0, 0.
  std::vector<Interval> many_;  // All intervals, if there are two or more; else empty.
};

}  // namespace xylem
