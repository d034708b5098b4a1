#include "storage/alert/alert_options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace xylem::storage {
namespace {

constexpr std::string_view kPrefix = "alerts.";
constexpr Nanos kHour = 3600 * kSecond;
constexpr double kMaxRanksPerCore = 1e6;

/// Reads a number. Returns nullopt if any other text follows.
template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Nanos> to_duration(const std::string& value, Nanos min, Nanos max) {
  const auto duration = parse_duration(value);
  if (!duration) return unexpected(duration.error());
  if (*duration < min || *duration > max) {
    return unexpected(
        Code::kInvalidArgument,
        fmt::format("'{}' is not within {} ms and {} s", value, min / kMillisecond, max / kSecond));
  }
  return Nanos{*duration};
}

Result<double> to_share(const std::string& value) {
  const auto share = parsed<double>(value);
  if (share && *share > 0 && *share <= 1) return *share;
  return unexpected(
      Code::kInvalidArgument,
      "'" + value + "' is not a share of time: a number above 0, up to 1, or \"off\"");
}

Result<double> to_ranks_per_core(const std::string& value) {
  const auto ranks = parsed<double>(value);
  if (ranks && *ranks > 0 && *ranks <= kMaxRanksPerCore) return *ranks;
  return unexpected(Code::kInvalidArgument,
                    "'" + value + "' is not a number of ranks per core: above 0, or \"off\"");
}

Result<std::uint64_t> to_calls(const std::string& value) {
  const auto calls = parsed<std::uint64_t>(value);
  if (calls && *calls > 0) return *calls;
  return unexpected(Code::kInvalidArgument,
                    "'" + value + "' is not a number of calls: 1 or more, or \"off\"");
}

/// Sets `limit` to the value that `read` returns; resets it if the value is "off".
template <typename Limit, typename Read>
Result<void> set(std::optional<Limit>& limit, const std::string& value, Read read) {
  limit.reset();
  if (value == "off") return {};
  auto found = read(value);
  if (!found) return unexpected(std::move(found.error()));
  limit = *found;
  return {};
}

Result<void> take(std::string_view key, const std::string& value, AlertLimits& limits) {
  if (key == "stalled") {
    return set(limits.stalled_ns, value, [](const std::string& text) {
      return to_duration(text, 100 * kMillisecond, 24 * kHour);
    });
  }
  if (key == "imbalance") return set(limits.imbalance, value, to_share);
  if (key == "late") return set(limits.late, value, to_share);
  if (key == "loss") return set(limits.lost_calls, value, to_calls);
  if (key == "oversubscribed") return set(limits.oversubscribed, value, to_ranks_per_core);
  if (key != "span") {
    return unexpected(Code::kInvalidArgument,
                      "there are stalled, imbalance, late, loss, oversubscribed and span, not '" +
                          std::string(key) + "'");
  }
  const auto span = to_duration(value, kSecond, kHour);
  if (!span) return unexpected(span.error());
  limits.span_ns = *span;
  return {};
}

}  // namespace

bool is_alert_key(std::string_view key) { return key.starts_with(kPrefix) || key == "alerts"; }

Result<AlertLimits> read_alert_limits(const std::vector<ConfigEntry>& entries,
                                      const std::string& path) {
  AlertLimits limits;
  for (const ConfigEntry& entry : entries) {
    if (entry.key == "alerts" && !entry.value.empty()) {
      return unexpected(Code::kInvalidArgument,
                        fmt::format("{}:{}: alerts is a section: write [alerts] and its thresholds "
                                    "below, such as stalled = \"30s\"",
                                    path, entry.line));
    }
    if (!entry.key.starts_with(kPrefix)) continue;
    const auto taken =
        take(std::string_view(entry.key).substr(kPrefix.size()), entry.value, limits);
    if (!taken) {
      return unexpected(Code::kInvalidArgument,
                        fmt::format("{}:{}: alerts: {}", path, entry.line, taken.error().message));
    }
  }
  return limits;
}

std::string print_alert_limits(const AlertLimits& limits) {
  if (limits == AlertLimits{}) return {};
  const std::string off = "\"off\"";
  const auto share = [&](const std::optional<double>& of) {
    return of ? fmt::format("{}", *of) : off;
  };
  return fmt::format(
      "\n[alerts]\nstalled = {}\nimbalance = {}\nlate = {}\nloss = {}\n"
      "oversubscribed = {}\nspan = {}\n",
      limits.stalled_ns ? print_text(print_duration(*limits.stalled_ns)) : off,
      share(limits.imbalance), share(limits.late),
      limits.lost_calls ? fmt::format("{}", *limits.lost_calls) : off, share(limits.oversubscribed),
      print_text(print_duration(limits.span_ns)));
}

}  // namespace xylem::storage
