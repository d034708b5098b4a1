#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/nearest_word.h"
#include "cli/place_options.h"
#include "cli/run_options.h"
#include "frontend/service_options.h"
#include "frontend/stream_options.h"
#include "launch/launch.h"
#include "placement/fuzzy_rules.h"
#include "storage/alert/alert_options.h"

namespace xylem {
namespace {

std::string environment_name(std::string_view name) {
  std::string upper = "XYLEM_";
  for (const char c : name) {
    upper += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

bool is_among(const std::vector<Setting>& settings, std::string_view name) {
  return std::ranges::find(settings, name, &Setting::name) != settings.end();
}

// Only rules of fuzzy placement may be lists. TOML allows each key once, so a repeated key comes
// from a list.
Result<void> refuse_lists(const std::vector<ConfigEntry>& entries, const std::string& path) {
  std::set<std::string_view> seen;
  for (const ConfigEntry& entry : entries) {
    if (placement::is_fuzzy_key(entry.key) || seen.insert(entry.key).second) continue;
    return unexpected(Code::kInvalidArgument, path + ":" + std::to_string(entry.line) + ": '" +
                                                  entry.key + "' takes one value, not a list");
  }
  return {};
}

}  // namespace

bool is_section_key(std::string_view key) {
  return placement::is_fuzzy_key(key) || frontend::is_service_key(key) ||
         frontend::is_stream_key(key) || storage::is_alert_key(key);
}

std::string config_file(const std::string& flag, const std::vector<std::string>& environment) {
  return flag.empty() ? launch::variable(environment, "XYLEM_CONFIG") : flag;
}

Result<std::vector<ConfigEntry>> config_entries(const std::string& path) {
  if (path.empty()) return std::vector<ConfigEntry>();
  return load_config(path);
}

Result<std::vector<SettingValue>> layer_settings(const std::vector<Setting>& settings,
                                                 const std::vector<SettingValue>& flags,
                                                 const std::string& config_flag,
                                                 const std::vector<std::string>& environment) {
  std::vector<SettingValue> values;
  values.reserve(settings.size());
  for (const Setting& setting : settings) {
    values.push_back({setting.name, setting.default_value, "default"});
  }
  const auto put = [&values](const std::string& name, std::string value, std::string source) {
    const auto it = std::ranges::find(values, name, &SettingValue::name);
    if (it == values.end()) return false;
    it->value = std::move(value);
    it->source = std::move(source);
    return true;
  };
  const std::string path = config_file(config_flag, environment);
  const auto entries = config_entries(path);
  if (!entries) return unexpected(entries.error());
  if (auto good = refuse_lists(*entries, path); !good) return unexpected(std::move(good.error()));
  for (const ConfigEntry& entry : *entries) {
    const std::string where = path + ":" + std::to_string(entry.line) + ": ";
    if (put(entry.key, entry.value, where + entry.key)) continue;
    if (is_among(run_settings(), entry.key) || is_among(place_settings(), entry.key)) continue;
    if (is_section_key(entry.key)) continue;
    std::vector<std::string> names;
    for (const Setting& setting : run_settings()) names.push_back(setting.name);
    for (const Setting& setting : place_settings()) names.push_back(setting.name);
    return unexpected(Code::kInvalidArgument, where + "'" + entry.key + "' is not an option" +
                                                  did_you_mean(entry.key, names) +
                                                  "; `xylem run --print-config` shows all");
  }
  if (auto rules = placement::read_fuzzy_rules(*entries, path); !rules) {
    return unexpected(std::move(rules.error()));
  }
  if (auto limits = storage::read_alert_limits(*entries, path); !limits) {
    return unexpected(std::move(limits.error()));
  }
  if (auto services = frontend::read_services(*entries, path); !services) {
    return unexpected(std::move(services.error()));
  }
  if (auto streams = frontend::read_streams(*entries, path); !streams) {
    return unexpected(std::move(streams.error()));
  }
  for (const Setting& setting : settings) {
    const std::string name = environment_name(setting.name);
    const std::string value = launch::variable(environment, name);
    if (!value.empty()) put(setting.name, value, name);
  }
  for (const SettingValue& flag : flags) put(flag.name, flag.value, flag.source);
  return values;
}

SettingFlags::SettingFlags(CLI::App& app, const std::vector<Setting>& settings)
    : settings_(settings) {
  for (const Setting& setting : settings) {
    const std::string flag = "--" + setting.name;
    std::string& value = values_.emplace_back();
    // A switch may have a value, as in `--overwrite=false`. The value is checked later.
    CLI::Option* option =
        setting.is_switch
            ? app.add_flag(flag, value, setting.help)
            : app.add_option(flag, value, setting.help)->type_name(setting.value_name);
    options_.push_back(option);
  }
  app.add_option("--config", config_, "File with options, one `name = \"value\"` a line")
      ->type_name("FILE");
}

Result<std::vector<SettingValue>> SettingFlags::layered(
    const std::vector<std::string>& environment) const {
  std::vector<SettingValue> flags;
  for (std::size_t i = 0; i < options_.size(); ++i) {
    if (options_[i]->count() == 0) continue;
    flags.push_back({settings_[i].name, values_[i], "--" + settings_[i].name});
  }
  return layer_settings(settings_, flags, config_, environment);
}

}  // namespace xylem
