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

std::string store_millionths(const std::string& value, const char* example,
                             std::uint64_t& millionths) {
  const auto read = parse_nanoseconds(value);
  if (!read || raw(*read) == 0 || raw(*read) > kOne * kOne) {
    const std::string remedy = std::string("a decimal number from 0.000001 to 1000000 such as ") +
                               example + ", with at most six digits after the point";
    return not_possible(value, remedy.c_str());
  }
  millionths = raw(*read);
  return "";
}

std::string store_bandwidth(const std::string& value, Femtoseconds& per_byte) {
  std::uint64_t bandwidth = 0;
  if (std::string fault = store_millionths(value, "2.5", bandwidth); !fault.empty()) return fault;
  per_byte = Femtoseconds{(kOne * kOne + bandwidth / 2) / bandwidth};
  return "";
}

}  // namespace xylem::predict
