#include "cli/run_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/command_line.h"
#include "launch/launch.h"

namespace xylem {

RunFlags::RunFlags(CLI::App& app) : flags_(app, run_settings()) {
  app.add_flag("--print-config", print_, "Print the options in the form of that file, and exit");
}

int RunFlags::act(const std::function<int(const RunOptions&)>& act) const {
  const auto environment = launch::current_environment();
  const auto values = flags_.layered(environment);
  if (!values) return fail_usage(values.error().message);
  const auto entries = config_entries(config_file(flags_.config(), environment));
  if (!entries) return fail_usage(entries.error().message);
  const auto options = check_settings(*values, *entries);
  if (!options) return fail_usage(options.error().message);
  if (!print_) return act(*options);
  std::fputs(print_plan(*options).c_str(), stdout);
  return 0;
}

}  // namespace xylem
