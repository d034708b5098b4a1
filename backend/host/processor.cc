#include "backend/host/processor.h"

#include <cmath>
#include <string_view>

#include "backend/find/proc_file.h"

namespace xylem::backend {
namespace {

constexpr std::size_t kMaxBytes = 64u << 10;

/// The text behind `name`, blanks and a colon, in the first line that has all three.
std::string_view field_of(std::string_view text, std::string_view name) {
  constexpr std::string_view kBlanks = " \t";
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const auto colon = line.find_first_not_of(kBlanks);
    if (colon == std::string_view::npos || line[colon] != ':') continue;
    const auto begin = line.find_first_not_of(kBlanks, colon + 1);
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
  }
  return {};
}

std::uint64_t hertz(double value, double unit) {
  const double hz = value * unit;
  return hz > 0 && hz < 1e15 ? static_cast<std::uint64_t>(std::llround(hz)) : 0;
}

}  // namespace

Processor read_processor(const std::string& root) {
  const std::string info = read_start(root + "/proc/cpuinfo", kMaxBytes);
  const std::string maximum =
      read_start(root + "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", kMaxBytes);
  Processor processor;
  processor.model = field_of(info, "model name");
  processor.frequency_hz = hertz(to_double(maximum), 1e3);
  if (processor.frequency_hz == 0) {
    processor.frequency_hz = hertz(to_double(field_of(info, "cpu MHz")), 1e6);
  }
  return processor;
}

std::string allowed_processors(std::uint32_t pid, const std::string& root) {
  const std::string status =
      read_start(root + "/proc/" + std::to_string(pid) + "/status", kMaxBytes);
  return std::string(field_of(status, "Cpus_allowed_list"));
}

}  // namespace xylem::backend
