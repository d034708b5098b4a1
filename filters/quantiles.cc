#include "filters/quantiles.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::refused;
using internal::StateReader;

constexpr std::string_view kName = "quantiles";
// Leaves a margin for the errors of log(), pow() and the rounding of integers.
constexpr double kSlack = 1 - 1e-7;

using Indexes = std::vector<std::int64_t>;
using Counts = std::vector<std::uint64_t>;

// Fields of a state.
constexpr wire::FieldNumber kPositiveIndexes = 1;  // array of int64, ascending
constexpr wire::FieldNumber kPositiveCounts = 2;   // array of uint64
constexpr wire::FieldNumber kNegativeIndexes = 3;  // those of absolute values
constexpr wire::FieldNumber kNegativeCounts = 4;
constexpr wire::FieldNumber kZeros = 5;     // uint64
constexpr wire::FieldNumber kOthers = 6;    // uint64: not finite
constexpr wire::FieldNumber kStateMin = 7;  // float64: infinite when there is no value
constexpr wire::FieldNumber kStateMax = 8;  // float64

// A part of the state for computations: each bucket once, ascending.
struct Buckets {
  Indexes indexes;
  Counts counts;

  bool sound() const {
    return indexes.size() == counts.size() &&
           std::adjacent_find(indexes.begin(), indexes.end(), std::greater_equal<>()) ==
               indexes.end();
  }
  void merge(const Buckets& other);
  std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
  }
};

void Buckets::merge(const Buckets& other) {
  if (indexes == other.indexes) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    return;
  }
  Buckets both;
  both.indexes.reserve(indexes.size() + other.indexes.size());
  both.counts.reserve(indexes.size() + other.indexes.size());
  std::size_t i = 0, j = 0;
  while (i < indexes.size() || j < other.indexes.size()) {
    const bool here =
        i < indexes.size() && (j == other.indexes.size() || indexes[i] <= other.indexes[j]);
    const bool there =
        j < other.indexes.size() && (i == indexes.size() || other.indexes[j] <= indexes[i]);
    both.indexes.push_back(here ? indexes[i] : other.indexes[j]);
    both.counts.push_back((here ? counts[i] : 0) + (there ? other.counts[j] : 0));
    i += here ? 1 : 0;
    j += there ? 1 : 0;
  }
  *this = std::move(both);
}

struct Sketch {
  Buckets positive, negative;
  std::uint64_t zeros = 0;
  std::uint64_t others = 0;
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  static Result<Sketch> from(const wire::Fields& state) {
    StateReader reader(kName, state);
    Sketch sketch;
    sketch.positive = {reader.get<Indexes>(kPositiveIndexes), reader.get<Counts>(kPositiveCounts)};
    sketch.negative = {reader.get<Indexes>(kNegativeIndexes), reader.get<Counts>(kNegativeCounts)};
    sketch.zeros = reader.get<std::uint64_t>(kZeros);
    sketch.others = reader.get<std::uint64_t>(kOthers);
    sketch.least = reader.get<double>(kStateMin);
    sketch.greatest = reader.get<double>(kStateMax);
    reader.require(sketch.positive.sound() && sketch.negative.sound(),
                   "its buckets are not in order");
    reader.require(sketch.least == sketch.least && sketch.greatest == sketch.greatest,
                   "its least or greatest value is NaN");
    if (!reader) return reader.error();
    return sketch;
  }

  wire::Fields state() && {
    wire::Fields fields;
    fields.reserve(kStateMax);
    fields.set(kPositiveIndexes, std::move(positive.indexes));
    fields.set(kPositiveCounts, std::move(positive.counts));
    fields.set(kNegativeIndexes, std::move(negative.indexes));
    fields.set(kNegativeCounts, std::move(negative.counts));
    return fields.set(kZeros, zeros)
        .set(kOthers, others)
        .set(kStateMin, least)
        .set(kStateMax, greatest);
  }
};

class Quantiles final : public Aggregation {
 public:
  Quantiles(double accuracy, std::vector<double> wanted)
      : growth_((1 + accuracy * kSlack) / (1 - accuracy * kSlack)),
        log_growth_(std::log(growth_)),
        wanted_(std::move(wanted)) {}

  Result<wire::Fields> lift(LeafId, const wire::Fields& sent) const override {
    Sketch sketch;
    std::map<std::int64_t, std::uint64_t> positive, negative;
    const auto add = [&](double value) {
      if (!std::isfinite(value)) {
        ++sketch.others;
        return;
      }
      sketch.least = internal::least(sketch.least, value);
      sketch.greatest = internal::greatest(sketch.greatest, value);
      if (std::abs(value) < std::numeric_limits<double>::min()) {
        ++sketch.zeros;
      } else {
        ++(value < 0 ? negative : positive)[bucket_of(std::abs(value))];
      }
    };
    const wire::FieldValue* value = sent.find(quantiles::kValue);
    const bool taken = value != nullptr && internal::take_numbers(*value, [&](auto held) {
                         for (const auto number : held) add(static_cast<double>(number));
                       });
    if (!taken) return internal::not_taken(kName, quantiles::kValue, value, internal::kNumbers);
    const auto take = [](const auto& counted, Buckets& buckets) {
      for (const auto& [index, count] : counted) {
        buckets.indexes.push_back(index);
        buckets.counts.push_back(count);
      }
    };
    take(positive, sketch.positive);
    take(negative, sketch.negative);
    return std::move(sketch).state();
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    auto into = Sketch::from(state);
    if (!into) return unexpected(std::move(into.error()));
    const auto from = Sketch::from(other);
    if (!from) return unexpected(from.error());
    into->positive.merge(from->positive);
    into->negative.merge(from->negative);
    into->zeros += from->zeros;
    into->others += from->others;
    into->least = internal::least(into->least, from->least);
    into->greatest = internal::greatest(into->greatest, from->greatest);
    state = std::move(*into).state();
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    const auto sketch = Sketch::from(state);
    if (!sketch) return unexpected(sketch.error());
    const std::uint64_t count = sketch->negative.total() + sketch->zeros + sketch->positive.total();
    const double none = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> values;
    values.reserve(wanted_.size());
    for (const double q : wanted_)
      values.push_back(count == 0 ? none : quantile(*sketch, q, count));
    return wire::Fields{{quantiles::kQuantiles, std::move(values)},
                        {quantiles::kCount, count},
                        {quantiles::kMin, count == 0 ? none : sketch->least},
                        {quantiles::kMax, count == 0 ? none : sketch->greatest},
                        {quantiles::kNotFinite, sketch->others}};
  }

 private:
  std::int64_t bucket_of(double positive) const {
    return static_cast<std::int64_t>(std::ceil(std::log(positive) / log_growth_));
  }
  // The result is never above the range of float64, although half of the last bucket may be above
  // it.
  double value_of(std::int64_t bucket) const {
    return std::exp(static_cast<double>(bucket) * log_growth_ - std::log((growth_ + 1) / 2));
  }

  double quantile(const Sketch& sketch, double q, std::uint64_t count) const {
    auto before = static_cast<std::uint64_t>(
        std::min(std::floor(q * static_cast<double>(count - 1)), static_cast<double>(count - 1)));
    before = std::min(before, count - 1);
    const auto within = [&](double value) {
      return std::min(std::max(value, sketch.least), sketch.greatest);
    };
    for (std::size_t i = sketch.negative.counts.size(); i-- > 0;) {
      if (before < sketch.negative.counts[i]) return within(-value_of(sketch.negative.indexes[i]));
      before -= sketch.negative.counts[i];
    }
    if (before < sketch.zeros) return within(0);
    before -= sketch.zeros;
    for (std::size_t i = 0; i < sketch.positive.counts.size(); ++i) {
      if (before < sketch.positive.counts[i]) return within(value_of(sketch.positive.indexes[i]));
      before -= sketch.positive.counts[i];
    }
    return sketch.greatest;
  }

  const double growth_;
  const double log_growth_;
  const std::vector<double> wanted_;
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_quantiles(const wire::Fields& parameters) {
  auto known =
      internal::only_parameters(kName, parameters, {quantiles::kAccuracy, quantiles::kWanted});
  if (!known) return unexpected(std::move(known.error()));
  double accuracy = quantiles::kDefaultAccuracy;
  if (parameters.find(quantiles::kAccuracy) != nullptr) {
    const auto given = parameters.get<double>(quantiles::kAccuracy);
    if (!given) return refused(kName, "parameter 1, the accuracy: " + given.error().message);
    accuracy = *given;
  }
  if (!(accuracy >= quantiles::kMinAccuracy && accuracy <= quantiles::kMaxAccuracy)) {
    return refused(kName, "parameter 1, the accuracy, must be from 0.0001 to 0.5");
  }
  std::vector<double> wanted{0.5, 0.9, 0.99};
  if (parameters.find(quantiles::kWanted) != nullptr) {
    auto given = parameters.get<std::vector<double>>(quantiles::kWanted);
    if (!given) return refused(kName, "parameter 2, the quantiles: " + given.error().message);
    wanted = std::move(*given);
  }
  if (std::any_of(wanted.begin(), wanted.end(), [](double q) { return !(q >= 0 && q <= 1); })) {
    return refused(kName, "parameter 2, the quantiles, must be from 0 to 1");
  }
  return std::shared_ptr<const Aggregation>(
      std::make_shared<Quantiles>(accuracy, std::move(wanted)));
}

}  // namespace xylem::filters
