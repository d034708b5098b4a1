#pragma once

// Fields of every type and shape, for tests of properties.

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "wire/fields.h"

namespace xylem::testing {

/// Random bits, also NaNs, infinities and denormals.
inline double any_double(std::mt19937_64& random) { return std::bit_cast<double>(random()); }

/// Random bytes, also zeros; sometimes empty.
inline std::string any_string(std::mt19937_64& random) {
  std::string text(random() % 20, '\0');
  for (char& c : text) c = static_cast<char>(random() % 256);
  return text;
}

template <typename T, typename Make>
std::vector<T> any_array(std::mt19937_64& random, const Make& make) {
  std::vector<T> values(random() % 9);
  for (T& value : values) value = make();
  return values;
}

inline wire::FieldValue any_value(std::mt19937_64& random) {
  const auto any_int64 = [&] { return static_cast<std::int64_t>(random()); };
  const auto any_uint64 = [&] { return std::uint64_t{random()}; };
  switch (random() % std::variant_size_v<wire::FieldValue>) {
    case 0:
      return any_int64();
    case 1:
      return any_uint64();
    case 2:
      return any_double(random);
    case 3:
      return any_string(random);
    case 4:
      return any_array<std::byte>(random, [&] { return static_cast<std::byte>(random()); });
    case 5:
      return any_array<std::int64_t>(random, any_int64);
    case 6:
      return any_array<std::uint64_t>(random, any_uint64);
    case 7:
      return any_array<double>(random, [&] { return any_double(random); });
    default:
      return any_array<std::string>(random, [&] { return any_string(random); });
  }
}

/// Returns 0 to 7 fields.
inline wire::Fields any_fields(std::mt19937_64& random) {
  wire::Fields fields;
  for (std::size_t n = random() % 8; n > 0; --n) {
    // Small numbers and the largest number, so that equal numbers occur often.
    const auto number = static_cast<wire::FieldNumber>(random() % 10);
    fields.set(number == 9 ? std::numeric_limits<wire::FieldNumber>::max() : number,
               any_value(random));
  }
  return fields;
}

}  // namespace xylem::testing
