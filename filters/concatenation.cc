#include "filters/concatenation.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using concatenation::kFieldsEnd;
using concatenation::kLeaves;
using concatenation::kLengths;
using internal::refused;
using internal::StateReader;

constexpr std::string_view kName = "concatenation";
using Numbers = std::vector<std::uint64_t>;

template <typename T>
constexpr bool kIsArray = requires {
  typename T::value_type;
}
&&!std::is_same_v<T, std::string>;

// A run of pieces that come from one side without a break.
struct Run {
  bool from_other;
  std::size_t first, end;  // Indexes of leaves of that side.
};

constexpr wire::FieldNumber lengths_of(wire::FieldNumber number) {
  return static_cast<wire::FieldNumber>(kLengths + number);
}

bool is_value(wire::FieldNumber number) { return number < kFieldsEnd; }

std::size_t array_size(const wire::FieldValue& value) {
  return std::visit(
      []<typename T>(const T& held) -> std::size_t {
        if constexpr (kIsArray<T>) return held.size();
        return 0;
      },
      value);
}

bool ascending(const Numbers& leaves) {
  return std::adjacent_find(leaves.begin(), leaves.end(), std::greater_equal<>()) == leaves.end();
}

// Checks all that merging relies on.
Result<void> check(const wire::Fields& state) {
  StateReader reader(kName, state);
  const auto& leaves = reader.get<Numbers>(kLeaves);
  reader.require(ascending(leaves), "its leaves are not in order");
  for (const auto& [number, value] : state) {
    if (!is_value(number)) continue;
    const auto& lengths = reader.get<Numbers>(lengths_of(number));
    reader.require(lengths.size() == leaves.size(), "it has not one piece for each leaf");
    std::size_t left = array_size(value);
    for (const std::uint64_t length : lengths) {
      reader.require(length <= left, "its pieces are longer than it");
      left -= std::min<std::size_t>(length, left);
    }
    reader.require(left == 0, "its pieces are shorter than it");
  }
  if (!reader) return reader.error();
  return {};
}

// Returns the leaves of both lists in order, as runs. Empty if a leaf is in both lists.
std::vector<Run> runs_of(const Numbers& leaves, const Numbers& others) {
  std::vector<Run> runs;
  std::size_t i = 0, j = 0;
  while (i < leaves.size() || j < others.size()) {
    const bool from_other = i == leaves.size() || (j < others.size() && others[j] < leaves[i]);
    if (i < leaves.size() && j < others.size() && leaves[i] == others[j]) return {};
    std::size_t& at = from_other ? j : i;
    if (runs.empty() || runs.back().from_other != from_other) runs.push_back({from_other, at, at});
    runs.back().end = ++at;
  }
  return runs;
}

std::size_t sum(const Numbers& lengths, std::size_t first, std::size_t end) {
  return std::accumulate(lengths.begin() + static_cast<std::ptrdiff_t>(first),
                         lengths.begin() + static_cast<std::ptrdiff_t>(end), std::size_t{0});
}

// Cuts `into` and `from` into pieces of the given lengths, and joins the pieces in the order of the
// runs.
template <typename T>
T woven(T into, const Numbers& into_lengths, const T& from, const Numbers& from_lengths,
        const std::vector<Run>& runs) {
  if (runs.size() == 2 && runs.back().from_other) {  // The usual case: children come in order.
    into.insert(into.end(), from.begin(), from.end());
    return into;
  }
  T whole;
  whole.reserve(into.size() + from.size());
  auto next_into = into.begin();
  auto next_from = from.begin();
  for (const Run& run : runs) {
    const auto size = static_cast<std::ptrdiff_t>(
        sum(run.from_other ? from_lengths : into_lengths, run.first, run.end));
    if (run.from_other) {
      whole.insert(whole.end(), next_from, next_from + size);
      next_from += size;
    } else {
      whole.insert(whole.end(), std::make_move_iterator(next_into),
                   std::make_move_iterator(next_into + size));
      next_into += size;
    }
  }
  return whole;
}

// Joins arrays that have one element for each leaf: the lengths and the leaves themselves.
Numbers woven(Numbers into, const Numbers& from, const std::vector<Run>& runs) {
  const Numbers ones(std::max(into.size(), from.size()), 1);
  return woven(std::move(into), ones, from, ones, runs);
}

class Concatenation final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const override {
    wire::Fields state;
    state.reserve(2 * sent.size() + 1);
    for (const auto& [number, value] : sent) {
      if (!is_value(number)) {
        return refused(kName, "there is a field " + std::to_string(number) +
                                  "; it takes numbers below " + std::to_string(kFieldsEnd));
      }
      state.set(number, std::visit(
                            []<typename T>(const T& held) -> wire::FieldValue {
                              if constexpr (kIsArray<T>)
                                return held;
                              else
                                return std::vector<T>{held};
                            },
                            value));
    }
    for (const auto& [number, value] : sent) {
      state.set(lengths_of(number), Numbers{array_size(*state.find(number))});
    }
    return state.set(kLeaves, Numbers{raw(leaf)});
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    if (auto good = check(state); !good) return good;
    if (auto good = check(other); !good) return good;
    const Numbers leaves = *state.find_as<Numbers>(kLeaves);
    const Numbers& others = *other.find_as<Numbers>(kLeaves);
    const std::vector<Run> runs = runs_of(leaves, others);
    if (runs.empty() && !(leaves.empty() && others.empty())) {
      return refused(kName, "a leaf is in both of two states to be merged");
    }
    for (const auto& [number, from] : other) {
      if (is_value(number) && state.find(number) == nullptr) add_empty(state, number, from, leaves);
    }
    // append() replaces values in place and adds none.
    for (const auto& [number, into] : state) {
      if (!is_value(number)) continue;
      if (auto good = append(state, number, other, others.size(), runs); !good) return good;
    }
    state.set(kLeaves, woven(leaves, others, runs));
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    if (auto good = check(state); !good) return unexpected(std::move(good.error()));
    return state;
  }

 private:
  // Adds a field without elements, because only other leaves have sent it.
  static void add_empty(wire::Fields& state, wire::FieldNumber number, const wire::FieldValue& like,
                        const Numbers& leaves) {
    state.set(number,
              std::visit([]<typename T>(const T&) -> wire::FieldValue { return T{}; }, like));
    state.set(lengths_of(number), Numbers(leaves.size(), 0));
  }

  static Result<void> append(wire::Fields& state, wire::FieldNumber number,
                             const wire::Fields& other, std::size_t others,
                             const std::vector<Run>& runs) {
    wire::FieldValue& into = *state.find(number);
    auto& lengths = std::get<Numbers>(*state.find(lengths_of(number)));
    const wire::FieldValue* from = other.find(number);
    const Numbers none(from == nullptr ? others : 0, 0);
    const Numbers& from_lengths =
        from == nullptr ? none : *other.find_as<Numbers>(lengths_of(number));
    if (from != nullptr && from->index() != into.index()) {
      return refused(kName, "leaves sent field " + std::to_string(number) + " as pieces of " +
                                std::string(wire::type_name(into)) + " and of " +
                                std::string(wire::type_name(*from)) + "; they must agree");
    }
    std::visit(
        [&]<typename T>(T& typed) {
          if constexpr (kIsArray<T>) {
            const T empty{};
            const T* piece = from == nullptr ? &empty : std::get_if<T>(from);
            typed = woven(std::move(typed), lengths, *piece, from_lengths, runs);
          }
        },
        into);
    lengths = woven(std::move(lengths), from_lengths, runs);
    return {};
  }
};

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_concatenation(const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(kName, parameters, {}); !known) {
    return unexpected(std::move(known.error()));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<Concatenation>());
}

}  // namespace xylem::filters
