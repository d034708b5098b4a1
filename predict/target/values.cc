#include "base/ids.h"
#include "base/quoted.h"
#include "predict/target/values_internal.h"

namespace xylem::predict {
namespace {

/// A bandwidth of 1 byte a nanosecond, as parse_nanoseconds() reads it.
constexpr std::uint64_t kOne = 1'000'000;

}  // namespace

std::string not_possible(const std::string& value, const char* remedy) {
  return quoted(value) + " is not possible; write " + remedy;
}

std::string store_time(const std::string& value, Femtoseconds& time) {
  const auto read = parse_nanoseconds(value);
  if (!read) return read.error().message;
  time = *read;
  return "";
}

std::string store_count(const std::string& value, std::uint32_t& count) {
  return read_number(value, count) && count > 0
             ? ""
             : not_possible(value, "a whole number above 0 such as 4");
}

std::string store_bandwidth(const std::string& value, Femtoseconds& per_byte) {
  const auto read = parse_nanoseconds(value);
  if (!read || raw(*read) == 0 || raw(*read) > kOne * kOne) {
    return not_possible(value,
                        "a decimal number from 0.000001 to 1000000 such as 2.5, with at most six "
                        "digits after the point");
  }
  per_byte = Femtoseconds{(kOne * kOne + raw(*read) / 2) / raw(*read)};
  return "";
}

}  // namespace xylem::predict
