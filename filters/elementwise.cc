#include "filters/elementwise.h"

#include <utility>

#include "filters/builtin_internal.h"

namespace xylem::filters {

namespace {

using internal::kIsNumber;
using internal::refused;

struct Sum {
  static constexpr std::string_view kName = "sum";
  template <typename T>
  static T combine(T a, T b) {
    return internal::add(a, b);
  }
};

struct Min {
  static constexpr std::string_view kName = "min";
  template <typename T>
  static T combine(T a, T b) {
    return internal::least(a, b);
  }
};

struct Max {
  static constexpr std::string_view kName = "max";
  template <typename T>
  static T combine(T a, T b) {
    return internal::greatest(a, b);
  }
};

template <typename T>
bool canonicalise(T& value) {
  if constexpr (kIsNumber<T>) {
    value = internal::canonical(value);
    return true;
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (kIsNumber<typename T::value_type>) {
      for (auto& element : value) element = internal::canonical(element);
      return true;
    }
  }
  return false;
}

// Null when it worked, else what does not fit.
template <typename Operation, typename T>
const char* combine(T& into, const T& from) {
  if constexpr (kIsNumber<T>) {
    into = Operation::combine(into, from);
    return nullptr;
  } else if constexpr (requires { typename T::value_type; }) {
    if constexpr (kIsNumber<typename T::value_type>) {
      if (into.size() != from.size()) return "arrays of different lengths";
      for (std::size_t i = 0; i < into.size(); ++i) {
        into[i] = Operation::combine(into[i], from[i]);
      }
      return nullptr;
    }
  }
  return "no numbers";
}

template <typename Operation>
class Elementwise final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId, const wire::Fields& sent) const override {
    wire::Fields state = sent;
    for (const auto& [number, value] : sent) {
      wire::FieldValue& held = *state.find(number);
      if (!std::visit([](auto& any) { return canonicalise(any); }, held)) {
        return internal::not_taken(Operation::kName, number, &value, internal::kNumbers);
      }
    }
    return state;
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    for (const auto& field : other) {
      const wire::FieldNumber number = field.first;
      const wire::FieldValue& from = field.second;
      wire::FieldValue* into = state.find(number);
      if (into == nullptr) {
        state.set(number, from);
        continue;
      }
      if (into->index() != from.index()) return mixed(number, *into, from);
      const char* fault = std::visit(
          [&]<typename T>(T& typed) { return combine<Operation>(typed, *std::get_if<T>(&from)); },
          *into);
      if (fault != nullptr) {
        return refused(Operation::kName, "leaves sent field " + std::to_string(number) + " as " +
                                             fault + "; they must agree");
      }
    }
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override { return state; }

 private:
  static Unexpected mixed(wire::FieldNumber number, const wire::FieldValue& a,
                          const wire::FieldValue& b) {
    return refused(Operation::kName, "leaves sent field " + std::to_string(number) + " as " +
                                         std::string(wire::type_name(a)) + " and as " +
                                         std::string(wire::type_name(b)) +
                                         "; they must agree on its type");
  }
};

class Count final : public Aggregation {
 public:
  Result<wire::Fields> lift(LeafId, const wire::Fields&) const override {
    return wire::Fields{{count::kLeaves, std::uint64_t{1}}};
  }

  Result<void> merge(wire::Fields& state, const wire::Fields& other) const override {
    internal::StateReader into("count", state), from("count", other);
    const std::uint64_t sum =
        into.get<std::uint64_t>(count::kLeaves) + from.get<std::uint64_t>(count::kLeaves);
    if (!into) return into.error();
    if (!from) return from.error();
    state.set(count::kLeaves, sum);
    return {};
  }

  Result<wire::Fields> finish(wire::Fields state) const override {
    internal::StateReader reader("count", state);
    reader.get<std::uint64_t>(count::kLeaves);
    if (!reader) return reader.error();
    return state;
  }
};

template <typename T>
Result<std::shared_ptr<const Aggregation>> make_plain(std::string_view name,
                                                      const wire::Fields& parameters) {
  if (auto known = internal::only_parameters(name, parameters, {}); !known) {
    return unexpected(std::move(known.error()));
  }
  return std::shared_ptr<const Aggregation>(std::make_shared<T>());
}

}  // namespace

Result<std::shared_ptr<const Aggregation>> make_sum(const wire::Fields& parameters) {
  return make_plain<Elementwise<Sum>>(Sum::kName, parameters);
}

Result<std::shared_ptr<const Aggregation>> make_min(const wire::Fields& parameters) {
  return make_plain<Elementwise<Min>>(Min::kName, parameters);
}

Result<std::shared_ptr<const Aggregation>> make_max(const wire::Fields& parameters) {
  return make_plain<Elementwise<Max>>(Max::kName, parameters);
}

Result<std::shared_ptr<const Aggregation>> make_count(const wire::Fields& parameters) {
  return make_plain<Count>("count", parameters);
}

}  // namespace xylem::filters
