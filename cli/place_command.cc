#include "cli/place_command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <iostream>
#include <map>
#include <memory>

#include "base/printable_text.h"
#include "cli/exit_code.h"
#include "cli/place_options.h"
#include "cli/place_text.h"
#include "launch/launch.h"

namespace xylem {
namespace {

Result<void> show(const PlaceOptions& options, const std::vector<std::string>& environment,
                  std::ostream& out, std::ostream& err) {
  auto entries = config_entries(options.config);
  if (!entries) return unexpected(entries.error());
  std::vector<SettingValue> values = options.values;
  if (auto recalled = recall_settings(values, *entries); !recalled) {
    return unexpected(std::move(recalled.error()));
  }
  auto rules = placement::read_fuzzy_rules(*entries, options.config);
  if (!rules) return unexpected(std::move(rules.error()));
  const auto request = check_place_settings(values, environment, *std::move(rules));
  if (!request) return unexpected(request.error());
  const auto& hosts = request->hosts;
  const auto plan =
      placement::plan_tree(hosts, request->shape, request->choice, request->front_end_host);
  if (!plan) return unexpected(plan.error());
  switch (options.format) {
    case PlaceFormat::kTopology:
      out << print(plan->topology);
      break;
    case PlaceFormat::kExplain:
      out << explain(*plan, hosts);
      break;
    case PlaceFormat::kJson:
      out << place_json(*plan, hosts, request->choice.room);
      break;
    case PlaceFormat::kDot:
      out << place_dot(*plan, hosts);
      break;
  }
  out.flush();
  if (plan->fuzzy && !plan->fuzzy->left_out.empty()) {
    std::string names;
    for (const placement::Fact fact : plan->fuzzy->left_out) {
      (names += names.empty() ? "" : ", ") += to_text(fact);
    }
    err << "xylem: unknown for all hosts, so left out: " << names << "; --facts can set them\n";
  }
  return {};
}

}  // namespace

int run_place(const PlaceOptions& options, const std::vector<std::string>& environment,
              std::ostream& out, std::ostream& err) {
  const auto shown = show(options, environment, out, err);
  if (shown) return kExitSuccess;
  err << "xylem: " << printable(shown.error().message) << '\n';
  return kExitUsage;
}

void add_place_command(CLI::App& app, int& code) {
  CLI::App* command =
      app.add_subcommand("place", "Plan and explain the tree for given hosts; starts nothing");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto flags = std::make_shared<SettingFlags>(*command, place_settings());
  const auto formats = std::make_shared<std::map<PlaceFormat, bool>>();
  const auto add_format = [&](const char* flag, PlaceFormat format, const char* what) {
    return command->add_flag(flag, (*formats)[format], what);
  };
  const std::array chosen = {
      add_format("--explain", PlaceFormat::kExplain, "Each step and score instead of a topology"),
      add_format("--json", PlaceFormat::kJson, "One object for programs"),
      add_format("--dot", PlaceFormat::kDot, "A graph for Graphviz")};
  for (CLI::Option* one : chosen) {
    for (CLI::Option* other : chosen) {
      if (one < other) one->excludes(other);
    }
  }
  command->callback([flags, formats, &code] {
    const auto environment = launch::current_environment();
    auto values = flags->layered(environment);
    if (!values) {
      std::cerr << "xylem: " << values.error().message << '\n';
      code = kExitUsage;
      return;
    }
    PlaceOptions options{*std::move(values), config_file(flags->config(), environment)};
    for (const auto& [format, is_chosen] : *formats) {
      if (is_chosen) options.format = format;
    }
    code = run_place(options, environment, std::cout, std::cerr);
  });
}

}  // namespace xylem
