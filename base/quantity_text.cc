#include "base/quantity_text.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <limits>

namespace xylem {

std::string count_text(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return count_text(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

namespace {

/// Three digits that count.
std::string three_digits(double value, const char* unit) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, unit);
}

}  // namespace

std::string duration_text(Nanos ns) {
  constexpr Nanos kLongest = std::numeric_limits<Nanos>::max();
  if (ns < 0) return '-' + duration_text(ns < -kLongest ? kLongest : -ns);
  const auto value = static_cast<double>(ns);
  if (ns < kMicrosecond) return fmt::format("{} ns", ns);
  if (value < 999.5 * kMicrosecond) return three_digits(value / kMicrosecond, "us");
  if (value < 999.5 * kMillisecond) return three_digits(value / kMillisecond, "ms");
  const Nanos seconds = ns / kSecond + ns % kSecond / (kSecond / 2);  // Rounded, for any ns.
  if (seconds < 120) return three_digits(value / kSecond, "s");
  if (seconds < 7200) return fmt::format("{} m {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} m", seconds / 3600, seconds % 3600 / 60);
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string date_text(Nanos realtime_ns) {
  const std::time_t seconds = realtime_ns / kSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return three_digits(value, kUnits[unit]);
}

}  // namespace xylem
