#include "predict/target/target.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/nearest_word.h"
#include "base/quoted.h"
#include "predict/target/collective_keys_internal.h"

namespace xylem::predict {
namespace {

constexpr double kMaxFlopsPerNs = 1e9;

struct TimeKey {
  const char* name;
  Femtoseconds LogGps::*value;
};

constexpr std::array<TimeKey, 5> kTimes = {
    {{"network.latency_ns", &LogGps::latency},
     {"network.overhead_ns", &LogGps::overhead},
     {"network.gap_ns", &LogGps::gap},
     {"network.gap_per_byte_ns", &LogGps::gap_per_byte},
     {"network.overhead_per_byte_ns", &LogGps::overhead_per_byte}}};
constexpr const char* kEagerBytes = "network.eager_bytes";
constexpr const char* kFlopsPerNs = "node.flops_per_ns";

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failed == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  keys.reserve(kTimes.size() + 2);
  for (const TimeKey& it : kTimes) keys.emplace_back(it.name);
  keys.emplace_back(kEagerBytes);
  keys.emplace_back(kFlopsPerNs);
  return keys;
}

/// "" if the value was stored, else what is wrong with the entry.
std::string store(const ConfigEntry& entry, Target& target) {
  const auto time =
      std::ranges::find_if(kTimes, [&](const TimeKey& it) { return entry.key == it.name; });
  if (time != kTimes.end()) {
    const auto value = parse_nanoseconds(entry.value);
    if (!value) return entry.key + ": " + value.error().message;
    target.network.*time->value = *value;
    return "";
  }
  if (entry.key == kEagerBytes) {
    return read_number(entry.value, target.network.eager_bytes)
               ? ""
               : entry.key + ": " + quoted(entry.value) +
                     " is not a number of bytes; write a whole number such as 65535";
  }
  if (entry.key == kFlopsPerNs) {
    double& flops = target.flops_per_ns;
    return read_number(entry.value, flops) && flops > 0 && flops <= kMaxFlopsPerNs
               ? ""
               : entry.key + ": " + quoted(entry.value) +
                     " is not possible; write a number above 0 such as 4";
  }
  if (entry.key.starts_with(kCollectiveKeys)) {
    return store_collective_key(entry, target.collectives);
  }
  std::string known;
  for (const std::string& it : all_keys()) known += (known.empty() ? "" : ", ") + it;
  return quoted(entry.key) + " is not a key of a target" + did_you_mean(entry.key, all_keys()) +
         "; the keys are " + known + ", and those of [collectives]";
}

}  // namespace

Result<Target> read_target(const std::vector<ConfigEntry>& entries, std::string_view name) {
  const auto wrong = [&](int line, const std::string& what) {
    return unexpected(Code::kInvalidArgument,
                      std::string(name) + ":" + std::to_string(line) + ": " + what);
  };
  Target target;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ConfigEntry& entry = entries[i];
    if (i > 0 && entries[i - 1].key == entry.key) {
      return wrong(entry.line, entry.key + " is a list; write one value");
    }
    // A section without keys is an entry without a value.
    if (entry.value.empty() &&
        (entry.key == "network" || entry.key == "node" || entry.key == "collectives")) {
      continue;
    }
    if (const std::string fault = store(entry, target); !fault.empty()) {
      return wrong(entry.line, fault);
    }
  }
  for (const std::string& key : all_keys()) {
    const bool is_there =
        std::ranges::any_of(entries, [&](const ConfigEntry& it) { return it.key == key; });
    if (is_there || key == kFlopsPerNs) continue;
    const auto section = std::ranges::find_if(
        entries, [](const ConfigEntry& it) { return it.key.starts_with("network"); });
    return wrong(section == entries.end() ? 1 : section->line,
                 key + " is missing; add it to the section [network]");
  }
  return target;
}

}  // namespace xylem::predict
