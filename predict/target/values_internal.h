#pragma once

// Values of a target's keys. Each function stores a value, and returns "" if that was possible,
// else what is wrong with it, and what to do.

#include <charconv>
#include <string>
#include <string_view>

#include "predict/network/loggps.h"

namespace xylem::predict {

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failed == std::errc{} && end == text.data() + text.size();
}

std::string not_possible(const std::string& value, const char* remedy);
std::string store_time(const std::string& value, Femtoseconds& time);
/// A whole number above 0.
std::string store_count(const std::string& value, std::uint32_t& count);
/// A decimal number from 0.000001 to 1000000, such as `example`, in millionths.
std::string store_millionths(const std::string& value, const char* example,
                             std::uint64_t& millionths);
/// Bytes per nanosecond. Stores the inverse.
std::string store_bandwidth(const std::string& value, Femtoseconds& per_byte);

}  // namespace xylem::predict
