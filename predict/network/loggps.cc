#include "predict/network/loggps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/check.h"
#include "base/ids.h"
#include "base/quoted.h"

namespace xylem::predict {
namespace {

constexpr std::size_t kDecimals = 6;
constexpr std::uint64_t kFemtosecondsPerNs = 1'000'000;

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

Result<Femtoseconds> parse_nanoseconds(std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return unexpected(Code::kInvalidArgument, quoted(text) + " " + why);
  };
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = point == std::string_view::npos ? "0" : text.substr(point + 1);
  if (!is_number(whole) || !is_number(decimals)) {
    return wrong("is not a time in nanoseconds; write a decimal number such as 2500 or 0.18");
  }
  if (decimals.size() > kDecimals) {
    return wrong("has more than six digits after the point; round it");
  }
  std::string digits(whole);
  digits += decimals;
  digits.append(kDecimals - decimals.size(), '0');
  std::uint64_t femtoseconds = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), femtoseconds);
  if (error != std::errc{} || femtoseconds > raw(kMaxParameter)) {
    return wrong("is above the maximum of 1000000000000 ns");
  }
  return Femtoseconds{femtoseconds};
}

LogGpsCosts::LogGpsCosts(const LogGps& parameters, std::span<const Femtoseconds> others)
    : eager_bytes_(parameters.eager_bytes) {
  std::uint64_t tick = kFemtosecondsPerNs;
  const auto divide = [&](std::span<const Femtoseconds> times) {
    for (const Femtoseconds it : times) {
      CHECK(raw(it) <= raw(kMaxParameter));
      while (raw(it) % tick != 0) tick /= 10;
    }
  };
  divide(std::array{parameters.latency, parameters.overhead, parameters.gap,
                    parameters.gap_per_byte, parameters.overhead_per_byte});
  divide(others);
  ticks_per_ns_ = kFemtosecondsPerNs / tick;
  overhead_ = ticks(parameters.overhead);
  flight_ = overhead_ + ticks(parameters.latency);
  gap_ = ticks(parameters.gap);
  gap_per_byte_ = ticks(parameters.gap_per_byte);
  overhead_per_byte_ = ticks(parameters.overhead_per_byte);
  receive_per_byte_ = std::max(gap_per_byte_, overhead_per_byte_);
}

Ticks LogGpsCosts::ticks(Femtoseconds time) const {
  const std::uint64_t tick = kFemtosecondsPerNs / ticks_per_ns_;
  CHECK(raw(time) % tick == 0);
  return raw(time) / tick;
}

Ticks LogGpsCosts::from_ns(std::uint64_t ns) const {
  Ticks ticks = 0;
  return __builtin_mul_overflow(ns, ticks_per_ns_, &ticks) ? kMaxTicks : std::min(ticks, kMaxTicks);
}

}  // namespace xylem::predict
