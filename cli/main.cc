// xylem: the program that people type.

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/own_process.h"
#include "cli/attach_command.h"
#include "cli/place_command.h"
#include "cli/query_command.h"
#include "cli/report_command.h"
#include "cli/run_command.h"
#include "cli/run_options.h"
#include "cli/settings.h"
#include "cli/top_command.h"
#include "cli/tree_command.h"
#include "cli/version.h"
#include "cli/view_command.h"
#include "launch/launch.h"

namespace xylem {
namespace {

// The flags that run and serve share.
struct RunFlags {
  explicit RunFlags(CLI::App& app) : flags(app, run_settings()) {
    app.add_flag("--print-config", print, "Print the options in the form of that file, and exit");
  }

  SettingFlags flags;
  bool print = false;
};

int fail(const std::string& sentence) {
  std::fprintf(stderr, "xylem: %s\n", sentence.c_str());
  return 2;
}

// Runs `act` with checked options, or prints them.
int with_options(const RunFlags& flags, const std::function<int(const RunOptions&)>& act) {
  const auto environment = launch::current_environment();
  const auto values = flags.flags.layered(environment);
  if (!values) return fail(values.error().message);
  const auto entries = config_entries(config_file(flags.flags.config(), environment));
  if (!entries) return fail(entries.error().message);
  const auto options = check_settings(*values, *entries);
  if (!options) return fail(options.error().message);
  if (!flags.print) return act(*options);
  std::fputs(print_plan(*options).c_str(), stdout);
  return 0;
}

// What stands behind the options of run and exec is the job's, to the letter.
struct CommandLine {
  std::vector<std::string> ours;
  std::vector<std::string> command;
  bool has_dashes = false;
};

// `--` ends our options only where the command has not begun; else it is a word of the command.
CommandLine split(int argc, char** argv) {
  CommandLine line;
  std::vector<std::string> all(argv + 1, argv + argc);
  const bool has_command = !all.empty() && (all.front() == "run" || all.front() == "exec");
  const auto dashes = has_command ? std::find(all.begin(), all.end(), "--") : all.end();
  line.ours.assign(all.begin(), dashes);
  line.has_dashes = dashes != all.end();
  if (line.has_dashes) line.command.assign(dashes + 1, all.end());
  return line;
}

// The command of run or exec. Fails where its first word looks like an option of ours: a mistyped
// one would be started, and leave a store behind.
Result<std::vector<std::string>> command_of(const CLI::App& verb, const CommandLine& line) {
  std::vector<std::string> words = verb.remaining();
  if (!words.empty() && words.front().starts_with("-")) {
    return unexpected(Code::kInvalidArgument,
                      words.front() + " is not an option of xylem " + verb.get_name() +
                          "; `xylem " + verb.get_name() +
                          " --help` lists them, and a command goes behind --");
  }
  if (!words.empty() && line.has_dashes) words.emplace_back("--");
  words.insert(words.end(), line.command.begin(), line.command.end());
  return words;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// What is wrong with the command line, as one sentence in the form of all others.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> strays = app.remaining();  // Outside of any verb.
  if (chosen.empty() || !strays.empty()) {
    std::vector<std::string> verbs;
    for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
    std::string what = "a verb is missing";
    if (!strays.empty() && strays.front().starts_with("-")) {
      what = strays.front() + " is not an option of xylem";
    } else if (!strays.empty()) {
      what = "'" + strays.front() + "' is not a verb of xylem";
    }
    return fail(what + "; the verbs are " + joined(verbs, ", ") +
                ", and `xylem --help` tells more");
  }
  const std::string verb = chosen.front()->get_name();
  const std::vector<std::string> surplus = chosen.front()->remaining();
  const std::string what =
      surplus.empty() ? error.what() : "not expected: '" + joined(surplus, "', '") + "'";
  return fail(verb + ": " + what + "; `xylem " + verb + " --help` tells more");
}

int run_program(int argc, char** argv) {
  CLI::App app{"Watches MPI jobs while they run, and stores the record in SQLite", "xylem"};
  app.set_version_flag("--version", std::string("xylem ") + kVersion);
  app.require_subcommand(1);
  app.footer("Manual: man xylem. Start with: xylem run -- mpirun -n 4 ./app");

  CommandLine line = split(argc, argv);
  int code = 0;

  CLI::App* run =
      app.add_subcommand("run", "Run a job under xylem: xylem run [OPTIONS] -- COMMAND");
  run->prefix_command();
  const RunFlags run_flags(*run);
  run->callback([&] {
    const auto command = command_of(*run, line);
    if (!command) {
      code = fail(command.error().message);
      return;
    }
    code = with_options(run_flags,
                        [&](const RunOptions& options) { return run_job(options, *command); });
  });

  CLI::App* serving = app.add_subcommand(
      "serve", "Serve any launcher: eval \"$(xylem serve)\", then mpirun as always");
  const RunFlags serve_flags(*serving);
  ServeOptions serve_options;
  serving->add_option("--until-pid", serve_options.until_pid,
                      "End when this process ends [the calling shell]");
  serving->add_option("--env-file", serve_options.env_file,
                      "Also write the environment to this file, for xylem exec");
  serving->add_flag("--stop", serve_options.stop,
                    "End the front end of this environment: eval \"$(xylem serve --stop)\"");
  serving->callback([&] {
    code = with_options(serve_flags,
                        [&](const RunOptions& options) { return serve(options, serve_options); });
  });

  CLI::App* exec = app.add_subcommand(
      "exec", "Start one rank under capture, for launchers that pass no environment");
  exec->prefix_command();
  std::string env_file;
  exec->add_option("--env-file", env_file, "Environment written by xylem serve --env-file");
  exec->callback([&] {
    const auto command = command_of(*exec, line);
    code = command ? exec_rank(env_file, *command) : fail(command.error().message);
  });

  add_attach_command(app, code);
  add_place_command(app, code);
  add_query_command(app, code);
  add_report_command(app, code);
  add_top_command(app, code);
  add_tree_command(app, code);
  add_view_command(app, code);

  std::reverse(line.ours.begin(), line.ours.end());
  try {
    app.parse(line.ours);
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : explain(app, e);
  }
  return code;
}

}  // namespace
}  // namespace xylem

int main(int argc, char** argv) {
  xylem::open_standard_streams();
  return xylem::run_program(argc, argv);
}
