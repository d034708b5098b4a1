#include "cli/lines_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "storage/read/query.h"
#include "storage/write/source_lines.h"

namespace xylem {
namespace {

// A file that is no run gets the usual sentence.
Result<void> check_run(const std::string& path) {
  const auto run = storage::RunFile::open(path);
  if (!run) return unexpected(run.error());
  return {};
}

}  // namespace

int run_lines(const LinesOptions& options, std::ostream& out, std::ostream& err) {
  const auto say = [&err](const std::string& sentence) {
    err << "xylem lines: " << printable(sentence) << '\n';
  };
  std::vector<storage::PathChange> changes;
  for (const std::string& path : options.paths) {
    const auto equals = path.find('=');
    if (equals == 0 || equals == std::string::npos) {
      say("--path " + path + ": write FROM=TO, for example --path /scratch/build=/home/ada/build");
      return kExitUsage;
    }
    changes.push_back({path.substr(0, equals), path.substr(equals + 1)});
  }
  const auto path = choose_run("lines", {options.file}, Newest::kInFolder, err);
  const auto is_run = path ? check_run(*path) : unexpected(path.error());
  const auto found =
      is_run ? storage::resolve_call_sites(*path, changes) : unexpected(is_run.error());
  if (!found) {
    say(found.error().message);
    return kExitFailure;
  }
  for (const auto& [file, why] : found->unusable) {
    say(file + ": " + why + "; --path FROM=TO looks for it elsewhere");
  }
  if (found->sites == 0) {
    say("the run has no call sites; they need --detail trace");
  } else {
    out << count_text(found->with_line) << " of " << count_text(found->sites)
        << " call sites have a line\n";
  }
  return kExitSuccess;
}

void add_lines_command(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand(
      "lines", "Find the source lines of a run's calls, if they are not stored yet");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<LinesOptions>();
  add_run_file(*command, options->file);
  command
      ->add_option("--path", options->paths,
                   "Look for programs and libraries below FROM under TO; may be repeated")
      ->type_name("FROM=TO")
      ->expected(1)
      ->take_all();
  command->callback([options, &code] { code = run_lines(*options, std::cout, std::cerr); });
}

}  // namespace xylem
