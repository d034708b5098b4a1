#pragma once

// Words of time-independent traces: numbers, types, and requests.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace xylem::predict {

// Values of SMPI's mpi.h.
constexpr std::string_view kSmpiAnySource = "-555";
constexpr std::string_view kSmpiAnyTag = "-444";

/// Bytes of SMPI's types by their number in a trace, from MPI_DOUBLE (0) to MPI_OFFSET (29).
constexpr std::array<std::uint64_t, 30> kTypeBytes = {
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8};

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

/// A number that is not negative, whole or not, times `factor`; rounded.
inline bool read_amount(std::string_view text, double factor, std::uint64_t& amount) {
  if (factor == 1 && read_number(text, amount)) return true;
  double value = 0;
  if (!read_number(text, value) || !(value >= 0)) return false;
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  value = std::round(value * factor);
  if (!(value < kBeyond)) return false;
  amount = static_cast<std::uint64_t>(value);
  return true;
}

/// A send or receive that the rank has not yet waited for.
struct TiRequest {
  std::uint32_t operation = 0;
  std::uint32_t source = 0, destination = 0, tag = 0;
};

}  // namespace xylem::predict
