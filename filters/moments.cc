#include "filters/moments.h"

#include <span>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::refused;
using internal::StateReader;

constexpr std::string_view kName = "moments";
// In a state, in the place of the variance: sum of squares about the mean.
constexpr wire::FieldNumber kSquares = moments::kVariance;
constexpr wire::FieldNumber kPerElement[] = {moments::kMean, kSquares, moments::kMin,
                                             moments::kMax};

// Sum of squares of one value: 0, or NaN for a NaN and for an infinity, so that the result does not
// depend on whether other values are merged.
double own_squares(double value) { return internal::canonical(value - value); }

// Returns one number for a scalar, all numbers for an array, and nothing for other types.
std::span<const double> elements(const wire::Fields& state, wire::FieldNumber number) {
  if (const auto* scalar = state.find_as<double>(number)) return {scalar, 1};
  if (const auto* array = state.find_as<std::vector<double>>(number)) return *array;
  return {};
}

std::span<double> elements(wire::Fields& state, wire::FieldNumber number) {
  const auto held = elements(std::as_const(state), number);
  return {const_cast<double*>(held.data()), held.size()};
}

// Returns the error in a state; nullptr if the state is valid.
const char* fault(const wire::Fields& state) {
  const auto* count = state.find_as<std::uint64_t>(moments::kCount);
  if (count == nullptr || *count == 0) return "it has no count";
  const wire::FieldValue* first = state.find(moments::kMean);
  for (const wire::FieldNumber number : kPerElement) {
    const wire::FieldValue* value = state.find(number);
    if (value == nullptr || value->index() != first->index()) return "a moment is missing";
    const auto* array = std::get_if<std::vector<double>>(value);
    if (array == nullptr && !std::holds_alternative<double>(*value))
      return "a moment is not a number";
    if (array != nullptr && array->size() != std::get<std::vector<double>>(*first).size()) {
      return "its moments have different lengths";
    }
  }
  return nullptr;
}

Unexpected no_state(const wire::Fields& state) {
  StateReader reader(kName, state);
  reader.require(false, fault(state));
  return reader.error();
}

// One element of a state.
struct Part {
  double count, mean, squares;
};

Part joined(const Part& a, const Part& b) {
  const double count = a.count + b.count;
  const double delta = b.mean - a.mean;
  return {
      count, internal::canonical(a.mean + delta * (b.count / count)),
      internal::canonical(a.squares + b.squares + delta * delta * (a.count * (b.count / count)))};
}

class Moments final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId, const wire::Fields& sent) const override {
    const wire::FieldValue* value = sent.find(moments::kValue);
    std::vector<double> numbers;
    const bool taken = value != nullptr && internal::take_numbers(*value, [&](auto held) {
                         for (const auto number : held) {
                           numbers.push_back(internal::canonical(static_cast<double>(number)));
                         }
                       });
    if (!taken) return internal::not_taken(kName, moments::kValue, value, internal::kNumbers);
    const bool scalar = numbers.size() == 1 && wire::type_name(*value).find("array") != 0;
    wire::Fields state{{moments::kCount, std::uint64_t{1}}};
    if (scalar) {
      state.set(moments::kMean, numbers[0]).set(kSquares, own_squares(numbers[0]));
      state.set(moments::kMin, numbers[0]).set(moments::kMax, numbers[0]);
    } else {
      std::vector<double> squares;
      squares.reserve(numbers.size());
      for (const double number : numbers) squares.push_back(own_squares(number));
      state.set(moments::kMean, numbers).set(kSquares, std::move(squares));
      state.set(moments::kMin, numbers);
      state.set(moments::kMax, std::move(numbers));
    }
    return state;
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    if (fault(state) != nullptr) return no_state(state);
    if (fault(other) != nullptr) return no_state(other);
    const auto mean = elements(state, moments::kMean), squares = elements(state, kSquares);
    const auto least = elements(state, moments::kMin), greatest = elements(state, moments::kMax);
    const auto from_mean = elements(other, moments::kMean),
               from_squares = elements(other, kSquares);
    const auto from_least = elements(other, moments::kMin);
    const auto from_greatest = elements(other, moments::kMax);
    if (state.find(moments::kMean)->index() != other.find(moments::kMean)->index() ||
        mean.size() != from_mean.size()) {
      return refused(kName,
                     "leaves sent field 1 as a number and as an array, or as arrays of "
                     "different lengths; they must agree");
    }
    const auto count = *state.find_as<std::uint64_t>(moments::kCount);
    const auto from_count = *other.find_as<std::uint64_t>(moments::kCount);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const Part sum = joined({static_cast<double>(count), mean[i], squares[i]},
                              {static_cast<double>(from_count), from_mean[i], from_squares[i]});
      mean[i] = sum.mean;
      squares[i] = sum.squares;
      least[i] = internal::least(least[i], from_least[i]);
      greatest[i] = internal::greatest(greatest[i], from_greatest[i]);
    }
    state.set(moments::kCount, count + from_count);
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    if (fault(state) != nullptr) return no_state(state);
    const auto count = static_cast<double>(*state.find_as<std::uint64_t>(moments::kCount));
    for (double& squares : elements(state, kSquares)) squares /= count;
    return state;
  }
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_moments(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {}); !known) {
    return unexpected(std::move(known.error()));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Moments>());
}

}  // namespace xylem::filters
