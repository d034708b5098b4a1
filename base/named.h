#pragma once

// The inverse of a function that names the values of an enumeration.

#include <optional>
#include <ranges>
#include <string_view>

namespace xylem {

/// Returns the first of `values` whose name is `name`; nullopt if there is none. `name_of` returns
/// a value's name.
template <std::ranges::range Values, typename NameOf>
std::optional<std::ranges::range_value_t<Values>> find_named(const Values& values, NameOf name_of,
                                                             std::string_view name) {
  for (const auto value : values) {
    if (name == name_of(value)) return value;
  }
  return std::nullopt;
}

}  // namespace xylem
