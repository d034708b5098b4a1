#include "filters/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::StateReader;

constexpr std::string_view kName = "histogram";
using Counts = std::vector<std::uint64_t>;

std::vector<double> powers_of_two() {
  constexpr int kGreatestPower = 63;
  std::vector<double> bounds{0};
  for (int power = 0; power <= kGreatestPower; ++power) bounds.push_back(std::ldexp(1.0, power));
  return bounds;
}

// value < bound without rounding: 2^53 + 1 as a float64 would be 2^53.
bool below(double value, double bound) { return value < bound; }
template <typename Integer>
bool below(Integer value, double bound) {
  // The smallest float64 above the type's maximum.
  const double end = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
  if (bound >= end) return true;
  if (bound <= static_cast<double>(std::numeric_limits<Integer>::min())) return false;
  // An integer is below a bound if it is below the smallest integer that is not below the bound.
  return value < static_cast<Integer>(std::ceil(bound));
}

class Histogram final : public Aggregation {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)) {}

  Result<wire::Fields> lift(LeafId, const wire::Fields& sent) const override {
    Counts counts(bounds_.size() + 1);
    std::uint64_t not_numbers = 0;
    const wire::FieldValue* value = sent.find(histogram::kValue);
    const bool taken = value != nullptr && internal::take_numbers(*value, [&](auto held) {
                         for (const auto number : held) {
                           if (internal::is_nan(number)) {
                             ++not_numbers;
                           } else {
                             ++counts[bucket_of(number)];
                           }
                         }
                       });
    if (!taken) return internal::not_taken(kName, histogram::kValue, value, internal::kNumbers);
    return wire::Fields{{histogram::kCounts, std::move(counts)},
                        {histogram::kNotNumbers, not_numbers}};
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    if (auto good = check(state); !good) return good;
    if (auto good = check(other); !good) return good;
    auto& counts = std::get<Counts>(*state.find(histogram::kCounts));
    const auto& more = *other.find_as<Counts>(histogram::kCounts);
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more[i];
    std::get<std::uint64_t>(*state.find(histogram::kNotNumbers)) +=
        *other.find_as<std::uint64_t>(histogram::kNotNumbers);
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    if (auto good = check(state); !good) return unexpected(std::move(good.error()));
    return state.set(histogram::kBounds, bounds_);
  }

 private:
  template <typename Number>
  std::size_t bucket_of(Number value) const {
    const auto past = std::upper_bound(bounds_.begin(), bounds_.end(), value,
                                       [](Number v, double bound) { return below(v, bound); });
    return static_cast<std::size_t>(past - bounds_.begin());
  }

  Result<void> check(const wire::Fields& state) const {
    StateReader reader(kName, state);
    reader.get<std::uint64_t>(histogram::kNotNumbers);
    reader.require(reader.get<Counts>(histogram::kCounts).size() == bounds_.size() + 1,
                   "it has another number of buckets");
    if (!reader) return reader.error();
    return {};
  }

  const std::vector<double> bounds_;
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_histogram(const wire::Fields& parameters) {
  auto known = internal::only_parameters(kName, parameters, {histogram::kGivenBounds});
  if (!known) return unexpected(std::move(known.error()));
  std::vector<double> bounds = powers_of_two();
  if (parameters.find(histogram::kGivenBounds) != nullptr) {
    auto given = parameters.get<std::vector<double>>(histogram::kGivenBounds);
    if (!given)
      return internal::refused(kName, "parameter 1, the bounds: " + given.error().message);
    bounds = std::move(*given);
  }
  const auto not_finite = [](double bound) { return !std::isfinite(bound); };
  if (bounds.size() > histogram::kMaxBounds ||
      std::any_of(bounds.begin(), bounds.end(), not_finite) ||
      std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) != bounds.end()) {
    return internal::refused(kName,
                             "parameter 1, the bounds, must be finite, ascending, and at most " +
                                 std::to_string(histogram::kMaxBounds));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Histogram>(std::move(bounds)));
}

}  // namespace xylem::filters
