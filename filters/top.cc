#include "filters/top.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::refused;
using internal::StateReader;
using Numbers = std::vector<std::uint64_t>;

constexpr std::string_view kName = "top";

template <typename T>
struct Entry {
  T value;
  std::uint64_t leaf, position;

  // True if this entry comes first. -0 and 0 are equal, so the leaf decides.
  bool operator<(const Entry& other) const {
    if (value != other.value) return value > other.value;
    return std::pair(leaf, position) < std::pair(other.leaf, other.position);
  }
};

template <typename T>
wire::Fields to_state(const std::vector<Entry<T>>& entries) {
  std::vector<T> values;
  Numbers leaves, positions;
  values.reserve(entries.size());
  leaves.reserve(entries.size());
  positions.reserve(entries.size());
  for (const Entry<T>& entry : entries) {
    values.push_back(entry.value);
    leaves.push_back(entry.leaf);
    positions.push_back(entry.position);
  }
  return wire::Fields{{top::kValues, std::move(values)},
                      {top::kLeaves, std::move(leaves)},
                      {top::kPositions, std::move(positions)}};
}

template <typename T>
Result<std::vector<Entry<T>>> from_state(const wire::Fields& state) {
  StateReader reader(kName, state);
  const auto& values = reader.get<std::vector<T>>(top::kValues);
  const auto& leaves = reader.get<Numbers>(top::kLeaves);
  const auto& positions = reader.get<Numbers>(top::kPositions);
  reader.require(values.size() == leaves.size() && values.size() == positions.size(),
                 "its arrays have different lengths");
  if (!reader) return reader.error();
  std::vector<Entry<T>> entries(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) entries[i] = {values[i], leaves[i], positions[i]};
  for (const Entry<T>& entry : entries) reader.require(entry.value == entry.value, "it has a NaN");
  reader.require(std::is_sorted(entries.begin(), entries.end()), "it is not in order");
  if (!reader) return reader.error();
  return entries;
}

class Top final : public Aggregation {
 public:
  explicit Top(std::size_t how_many) : how_many_(how_many) {}

  Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const override {
    const wire::FieldValue* value = sent.find(top::kValue);
    wire::Fields state;
    bool all_numbers = true;
    const bool taken =
        value != nullptr && internal::take_numbers(*value, [&]<typename T>(std::span<T> held) {
          using Number = std::remove_const_t<T>;
          std::vector<Entry<Number>> entries;
          entries.reserve(held.size());
          for (const Number number : held) {
            all_numbers = all_numbers && !internal::is_nan(number);
            entries.push_back({number, raw(leaf), entries.size()});
          }
          if (!all_numbers) return;
          const auto kept = static_cast<std::ptrdiff_t>(std::min(how_many_, entries.size()));
          std::partial_sort(entries.begin(), entries.begin() + kept, entries.end());
          entries.resize(static_cast<std::size_t>(kept));
          state = to_state(entries);
        });
    if (!taken) return internal::not_taken(kName, top::kValue, value, internal::kNumbers);
    if (!all_numbers)
      return refused(kName, "field 1 holds a NaN, which is not ordered; leave it out");
    return state;
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    const wire::FieldValue* into = state.find(top::kValues);
    const wire::FieldValue* from = other.find(top::kValues);
    if (into != nullptr && from != nullptr && into->index() != from->index()) {
      return refused(kName, "leaves sent field 1 as " + std::string(wire::type_name(*into)) +
                                " and as " + std::string(wire::type_name(*from)) +
                                "; they must agree on its type");
    }
    if (state.find_as<std::vector<std::int64_t>>(top::kValues) != nullptr) {
      return merge_typed<std::int64_t>(state, other);
    }
    if (state.find_as<Numbers>(top::kValues) != nullptr) {
      return merge_typed<std::uint64_t>(state, other);
    }
    return merge_typed<double>(state, other);
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    // Checks the state by merging it with itself.
    wire::Fields copy = state;
    if (auto good = merge(copy, state); !good) return unexpected(std::move(good.error()));
    return state;
  }

 private:
  template <typename T>
  Result<void> merge_typed(wire::Fields& state, const wire::Fields& other) const {
    auto into = from_state<T>(state);
    if (!into) return unexpected(std::move(into.error()));
    const auto from = from_state<T>(other);
    if (!from) return unexpected(from.error());
    std::vector<Entry<T>> both(into->size() + from->size());
    std::merge(into->begin(), into->end(), from->begin(), from->end(), both.begin());
    both.resize(std::min(both.size(), how_many_));
    state = to_state(both);
    return {};
  }

  const std::size_t how_many_;
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_top(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {top::kHowMany}); !known) {
    return unexpected(std::move(known.error()));
  }
  std::uint64_t how_many = top::kDefault;
  if (parameters.find(top::kHowMany) != nullptr) {
    const auto* plain = parameters.find_as<std::uint64_t>(top::kHowMany);
    const auto* with_sign = parameters.find_as<std::int64_t>(top::kHowMany);
    how_many = plain != nullptr ? *plain : 0;
    if (with_sign != nullptr && *with_sign > 0) how_many = static_cast<std::uint64_t>(*with_sign);
  }
  if (how_many == 0 || how_many > top::kMaxHowMany) {
    return refused(kName, "parameter 1, how many, must be an integer from 1 to " +
                              std::to_string(top::kMaxHowMany));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Top>(how_many));
}

}  // namespace xylem::filters
