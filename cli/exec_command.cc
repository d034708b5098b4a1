#include "cli/exec_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/argv.h"
#include "cli/exit_code.h"
#include "launch/environment_file.h"
#include "launch/launch.h"

namespace xylem {

namespace {

Result<launch::Environment> rank_environment(const std::string& env_file) {
  if (!env_file.empty()) return launch::read_environment_file(env_file);
  auto installation = launch::find_installation();
  if (!installation) return unexpected(std::move(installation.error()));
  return launch::rank_environment(installation->capture_library, launch::current_environment());
}

}  // namespace

int exec_rank(const std::string& env_file, const std::vector<std::string>& command) {
  if (command.empty())
    return fail_usage("nothing to start; write for example: xylem exec -- ./app");
  const auto environment = rank_environment(env_file);
  if (!environment) return fail_usage(environment.error().message);
  for (const auto& [name, value] : *environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> arguments = command;
  const std::vector<char*> argv = argv_of(arguments);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  fail_usage(command.front() + ": cannot be started: " + std::strerror(error));
  return error == EACCES ? kExitNotExecutable : kExitNotFound;
}

void add_exec_command(CLI::App& app, const CommandLine& line, int& code) {
  CLI::App* verb = app.add_subcommand(
      "exec", "Start one rank under capture, for launchers that pass no environment");
  verb->prefix_command();
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto env_file = std::make_shared<std::string>();
  verb->add_option("--env-file", *env_file, "Environment written by xylem serve --env-file")
      ->type_name("FILE");
  verb->callback([verb, env_file, &line, &code] {
    const auto command = command_of(*verb, line);
    code = command ? exec_rank(*env_file, *command) : fail_usage(command.error().message);
  });
}

}  // namespace xylem
