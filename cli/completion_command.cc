#include "cli/completion_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/nearest_word.h"
#include "base/settings.h"
#include "cli/completion.h"
#include "cli/exit_code.h"

namespace xylem {

void add_completion_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "completion", "Print a completion script: source <(xylem completion bash)");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->type_name(choices_text(shell_names()))
      ->check([](const std::string& name) {
        return shell_of(name) ? std::string()
                              : "'" + name + "' is not one of bash, zsh, fish" +
                                    did_you_mean(name, shell_names());
      });
  command->callback([&app, shell, &code] {
    std::cout << completion_script(app, *shell_of(*shell)) << std::flush;
    code = kExitSuccess;
  });
}

}  // namespace xylem
