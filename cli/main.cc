// xylem: the program that people type.

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/run_options.h"
#include "cli/tree_command.h"
#include "cli/version.h"
#include "frontend/launch.h"

namespace xylem {
namespace {

// The flags that run and serve share, as they were given.
class RunFlags {
 public:
  explicit RunFlags(CLI::App& app) {
    for (const Setting& setting : run_settings()) {
      const std::string flag = std::string("--") + setting.name;
      std::string& value = values_.emplace_back();
      CLI::Option* option = setting.is_switch ? app.add_flag(flag, setting.help)
                                              : app.add_option(flag, value, setting.help);
      options_.push_back(option);
    }
    app.add_option("--config", config_, "File with options, one `name = \"value\"` a line");
    app.add_flag("--print-config", print_, "Print the options as such a file, and stop");
  }

  Result<std::vector<SettingValue>> layered() const {
    std::vector<SettingValue> flags;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      if (options_[i]->count() == 0) continue;
      const Setting& setting = run_settings()[i];
      flags.push_back({setting.name, setting.is_switch ? "true" : values_[i],
                       std::string("--") + setting.name});
    }
    return layer_settings(flags, config_, frontend::current_environment());
  }

  bool print() const { return print_; }

 private:
  std::deque<std::string> values_;  // CLI11 keeps references to them.
  std::vector<CLI::Option*> options_;
  std::string config_;
  bool print_ = false;
};

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", sentence.c_str());
  return 2;
}

// Runs `act` with checked options, or prints them.
int with_options(const RunFlags& flags,
                 const std::function<int(const RunOptions&, const std::string&)>& act) {
  const auto values = flags.layered();
  if (!values) return fail(values.error().message);
  const auto options = check_settings(*values);
  if (!options) return fail(options.error().message);
  const std::string printed = print_settings(*values);
  if (flags.print()) {
    std::fputs(printed.c_str(), stdout);
    return 0;
  }
  return act(*options, printed);
}

// What stands behind the options of run and exec is the job's, to the letter.
struct CommandLine {
  std::vector<std::string> ours;
  std::vector<std::string> command;
};

CommandLine split(int argc, char** argv) {
  CommandLine line;
  std::vector<std::string> all(argv + 1, argv + argc);
  const bool has_command = !all.empty() && (all.front() == "run" || all.front() == "exec");
  const auto dashes = has_command ? std::find(all.begin(), all.end(), "--") : all.end();
  line.ours.assign(all.begin(), dashes);
  if (dashes != all.end()) line.command.assign(dashes + 1, all.end());
  return line;
}

int run_program(int argc, char** argv) {
  CLI::App app{"Watches MPI jobs while they run, through a tree of processes, into SQLite",
               "xylem"};
  app.set_version_flag("--version", std::string("xylem ") + kVersion);
  app.require_subcommand(1);
  app.footer("Manual: man xylem. Start with: xylem run -- mpirun -n 4 ./app");

  CommandLine line = split(argc, argv);
  int code = 0;
  const auto command_of = [&line](CLI::App& sub) {
    std::vector<std::string> rest = sub.remaining();
    rest.insert(rest.end(), line.command.begin(), line.command.end());
    return rest;
  };

  CLI::App* run =
      app.add_subcommand("run", "Run a job under xylem: xylem run [OPTIONS] -- COMMAND");
  run->prefix_command();
  const RunFlags run_flags(*run);
  run->callback([&] {
    code = with_options(run_flags, [&](const RunOptions& options, const std::string& printed) {
      return run_job(options, printed, command_of(*run));
    });
  });

  CLI::App* serving = app.add_subcommand(
      "serve", "Serve any launcher: eval \"$(xylem serve)\", then mpirun as always");
  const RunFlags serve_flags(*serving);
  ServeOptions serve_options;
  serving->add_option("--until-pid", serve_options.until_pid,
                      "End with this process [the calling shell]");
  serving->add_option("--env-file", serve_options.env_file,
                      "Also write the environment there, for xylem exec");
  serving->add_flag("--stop", serve_options.stop, "End the front end of this environment");
  serving->callback([&] {
    code = with_options(serve_flags, [&](const RunOptions& options, const std::string& printed) {
      return serve(options, printed, serve_options);
    });
  });

  CLI::App* exec = app.add_subcommand(
      "exec", "Start one rank under capture, for launchers that pass no environment");
  exec->prefix_command();
  std::string env_file;
  exec->add_option("--env-file", env_file, "Environment written by xylem serve --env-file");
  exec->callback([&] { code = exec_rank(env_file, command_of(*exec)); });

  add_query_command(app, code);
  add_report_command(app, code);
  add_tree_command(app, code);

  std::reverse(line.ours.begin(), line.ours.end());
  try {
    app.parse(line.ours);
  } catch (const CLI::ParseError& e) {
    const int status = app.exit(e);
    return status == 0 ? 0 : 2;
  }
  return code;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) { return xylem::run_program(argc, argv); }
