#include "cli/run_options.h"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "capture/core/ring.h"
#include "capture/core/sampling.h"
#include "cli/settings.h"
#include "frontend/service_options.h"
#include "frontend/stream_options.h"
#include "placement/fuzzy_rules.h"
#include "storage/alert/alert_options.h"

namespace xylem {
namespace {

// The file's name in error messages. layer_settings() has already checked the user's file.
constexpr const char* kSectionsName = "configuration";

const Section<RunOptions>& own_section() {
  static const Section<RunOptions> kSection = {
      text_option("store", &RunOptions::store,
                  "File to store the run in [xylem-JOBID.db or xylem-PID.db]", "FILE"),
      switch_option("overwrite", &RunOptions::overwrite, "Replace the store if it exists"),
      switch_option("quiet", &RunOptions::quiet, "No account at the end"),
      choice_option("log-level", &RunOptions::log_level, {"debug", "info", "warn", "error"},
                    "Log level of the front end"),
  };
  return kSection;
}

// The capture library's own parser checks the value, so ranks accept exactly the same values.
Result<void> check_sample(const SettingValue& setting) {
  std::vector<std::atomic<std::uint32_t>> every(capture::kMaxFunctions);
  const char* part = capture::set_sampling(setting.value.c_str(), every.data());
  if (part == nullptr) return {};
  const std::string_view rest(part);
  const std::string item(rest.substr(0, rest.find(',')));
  return bad_setting(setting,
                     "'" + item +
                         "' is neither none nor FUNCTION=N, with an MPI function (or the begin of "
                         "one and *) and N from 1 to 65535, as in MPI_Test=100");
}

}  // namespace

const std::vector<Setting>& run_settings() {
  static const std::vector<Setting> kSettings = [] {
    std::vector<Setting> settings = settings_of(own_section());
    append(settings, settings_of(frontend::session_section()));
    append(settings, settings_of(launch::start_section()));
    return settings;
  }();
  return kSettings;
}

Result<RunOptions> read_run_options(const std::vector<SettingValue>& values,
                                    const std::vector<ConfigEntry>& entries) {
  auto options = read_section(own_section(), values);
  if (!options) return options;
  std::ranges::copy_if(entries, std::back_inserter(options->sections), is_section_key,
                       &ConfigEntry::key);
  // load_config() sorts keys by name. Here the order in the file counts.
  std::ranges::stable_sort(options->sections, {}, &ConfigEntry::line);
  auto read = assign(options->start, read_section(launch::start_section(), values));
  if (!read) return unexpected(std::move(read.error()));
  read = assign(options->session,
                frontend::read_session_plan(values, options->sections, kSectionsName));
  if (!read) return unexpected(std::move(read.error()));
  read = assign(options->alerts, storage::read_alert_limits(options->sections, kSectionsName));
  if (!read) return unexpected(std::move(read.error()));
  options->values = values;
  return options;
}

Result<RunOptions> check_settings(const std::vector<SettingValue>& values,
                                  const std::vector<ConfigEntry>& entries) {
  auto options = read_run_options(values, entries);
  if (!options) return options;
  if (auto good = check_sample(value_of(values, "sample")); !good) return unexpected(good.error());
  if (auto good = frontend::check_session_plan(options->session, values); !good) {
    return unexpected(good.error());
  }
  return options;
}

std::string print_settings(const std::vector<SettingValue>& values,
                           const std::vector<ConfigEntry>& sections) {
  std::string text;
  for (const Setting& setting : run_settings()) {
    const SettingValue& value = value_of(values, setting.name);
    text += setting.name + " = ";
    text +=
        setting.is_switch ? (value.value.empty() ? "false" : value.value) : print_text(value.value);
    text += value.source == "default" ? "\n" : "  # " + value.source + "\n";
  }
  // Entries with the same key are one array. Values of one line stay on one line.
  for (std::size_t i = 0; i < sections.size();) {
    std::size_t end = i + 1;
    while (end < sections.size() && sections[end].key == sections[i].key) ++end;
    std::string list;
    for (std::size_t k = i; k < end; ++k) {
      list += (k == i ? "" : ", ") + print_text(sections[k].value);
    }
    text += sections[i].key + " = " + (end - i > 1 ? "[" + list + "]" : list) + "\n";
    i = end;
  }
  return text;
}

std::string print_plan(const RunOptions& options) {
  std::vector<ConfigEntry> sections;
  for (const auto is_wanted : {placement::is_fuzzy_key, frontend::is_stream_key}) {
    std::ranges::copy_if(options.sections, std::back_inserter(sections), is_wanted,
                         &ConfigEntry::key);
  }
  return print_settings(options.values, sections) +
         frontend::print_services(options.session.services) +
         storage::print_alert_limits(options.alerts);
}

}  // namespace xylem
