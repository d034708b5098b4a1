#include "filters/classes.h"

#include <algorithm>
#include <compare>
#include <utility>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::refused;
using internal::StateReader;
using Numbers = std::vector<std::uint64_t>;

constexpr std::string_view kName = "classes";
constexpr std::string_view kTaken = "int64, uint64, float64 or string";

bool less(double a, double b) { return std::strong_order(a, b) < 0; }
template <typename T>
bool less(const T& a, const T& b) {
  return a < b;
}

double canonical(double value) { return internal::canonical(value); }
template <typename T>
const T& canonical(const T& value) {
  return value;
}

template <typename T>
constexpr bool kIsTaken = internal::kIsNumber<T> || std::is_same_v<T, std::string>;

template <typename T>
struct Class {
  T value;
  IntervalSet leaves;
};

template <typename T>
wire::Fields to_state(std::vector<Class<T>> all) {
  std::vector<T> values;
  Numbers intervals, firsts, ends;
  values.reserve(all.size());
  intervals.reserve(all.size());
  for (Class<T>& one : all) {
    values.push_back(std::move(one.value));
    intervals.push_back(one.leaves.intervals().size());
    for (const auto& interval : one.leaves.intervals()) {
      firsts.push_back(interval.first);
      ends.push_back(interval.end);
    }
  }
  return wire::Fields{{classes::kValues, std::move(values)},
                      {classes::kIntervals, std::move(intervals)},
                      {classes::kFirsts, std::move(firsts)},
                      {classes::kEnds, std::move(ends)}};
}

// The leaves of each of `count` classes.
Result<std::vector<IntervalSet>> read_leaves(const wire::Fields& state, std::size_t count) {
  StateReader reader(kName, state);
  const auto& intervals = reader.get<Numbers>(classes::kIntervals);
  const auto& firsts = reader.get<Numbers>(classes::kFirsts);
  const auto& ends = reader.get<Numbers>(classes::kEnds);
  reader.require(intervals.size() == count, "it has not one set of leaves for each value");
  reader.require(firsts.size() == ends.size(), "its intervals lack an end");
  std::vector<IntervalSet> leaves(reader ? count : 0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < leaves.size() && reader; ++i) {
    reader.require(intervals[i] <= firsts.size() - next, "its intervals are fewer than it says");
    // In the order in which they were written, so that each insert is at the end.
    std::uint64_t before = 0;
    for (std::uint64_t n = reader ? intervals[i] : 0; n > 0 && reader; --n, ++next) {
      reader.require((before == 0 || before < firsts[next]) && firsts[next] < ends[next],
                     "its intervals are not in order");
      leaves[i].insert(firsts[next], ends[next]);
      before = ends[next];
    }
  }
  reader.require(next == firsts.size(), "its intervals are more than it says");
  if (!reader) return reader.error();
  return leaves;
}

template <typename T>
Result<std::vector<Class<T>>> from_state(const wire::Fields& state) {
  StateReader reader(kName, state);
  const auto& values = reader.get<std::vector<T>>(classes::kValues);
  for (std::size_t i = 1; i < values.size(); ++i) {
    reader.require(less(values[i - 1], values[i]), "its values are not in order");
  }
  if (!reader) return reader.error();
  auto leaves = read_leaves(state, values.size());
  if (!leaves) return unexpected(std::move(leaves.error()));
  std::vector<Class<T>> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {values[i], std::move((*leaves)[i])};
  return all;
}

template <typename T>
Result<void> merge_typed(wire::Fields& state, const wire::Fields& other) {
  auto into = from_state<T>(state);
  if (!into) return unexpected(std::move(into.error()));
  auto from = from_state<T>(other);
  if (!from) return unexpected(std::move(from.error()));
  IntervalSet here, there;
  for (const Class<T>& one : *into) here.insert(one.leaves);
  for (const Class<T>& one : *from) there.insert(one.leaves);
  if (here.intersects(there)) return refused(kName, "a leaf is in both of two states to be merged");
  std::vector<Class<T>> both;
  both.reserve(into->size() + from->size());
  auto next = from->begin();
  for (Class<T>& one : *into) {
    for (; next != from->end() && less(next->value, one.value); ++next) {
      both.push_back(std::move(*next));
    }
    if (next != from->end() && !less(one.value, next->value)) one.leaves.insert(next++->leaves);
    both.push_back(std::move(one));
  }
  std::move(next, from->end(), std::back_inserter(both));
  state = to_state(std::move(both));
  return {};
}

class Classes final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const override {
    const wire::FieldValue* value = sent.find(classes::kValue);
    wire::Fields state;
    if (value != nullptr) {
      std::visit(
          [&]<typename T>(const T& held) {
            if constexpr (kIsTaken<T>) {
              state =
                  to_state(std::vector<Class<T>>{{canonical(held), IntervalSet::of(raw(leaf))}});
            }
          },
          *value);
    }
    if (state.empty()) return internal::not_taken(kName, classes::kValue, value, kTaken);
    return state;
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    const wire::FieldValue* into = state.find(classes::kValues);
    const wire::FieldValue* from = other.find(classes::kValues);
    if (into == nullptr || from == nullptr) return merge_typed<std::string>(state, other);
    if (into->index() != from->index()) {
      return refused(kName, "leaves sent field 1 as " + std::string(wire::type_name(*into)) +
                                " and as " + std::string(wire::type_name(*from)) +
                                "; they must agree on its type");
    }
    // Uses only the type; the value itself is replaced.
    return std::visit(
        [&]<typename T>(const T&) -> Result<void> {
          if constexpr (requires { typename T::value_type; }) {
            if constexpr (kIsTaken<typename T::value_type>) {
              return merge_typed<typename T::value_type>(state, other);
            }
          }
          return merge_typed<std::string>(state, other);
        },
        *into);
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    // Checks the state by merging an empty state of the same type into it.
    const wire::FieldValue* values = state.find(classes::kValues);
    wire::Fields none{{classes::kIntervals, Numbers{}},
                      {classes::kFirsts, Numbers{}},
                      {classes::kEnds, Numbers{}}};
    if (values != nullptr) {
      std::visit([&]<typename T>(const T&) { none.set(classes::kValues, T{}); }, *values);
    }
    if (auto good = merge(state, none); !good) return unexpected(std::move(good.error()));
    return state;
  }
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_classes(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {}); !known) {
    return unexpected(std::move(known.error()));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Classes>());
}

Result<std::vector<IntervalSet>> leaves_of_classes(const wire::Fields& result) {
  const auto* intervals = result.find_as<Numbers>(classes::kIntervals);
  return read_leaves(result, intervals == nullptr ? 0 : intervals->size());
}

}  // namespace xylem::filters
