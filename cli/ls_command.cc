#include "cli/ls_command.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/this_host.h"
#include "cli/exit_code.h"
#include "cli/known_runs.h"
#include "viz/json.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

std::string ran_text(const KnownRun& run, Nanos now) {
  if (run.summary.elapsed_ns) return duration_text(*run.summary.elapsed_ns);
  if (run.state != RunState::kLive) return "?";
  return duration_text(now - run.summary.started_realtime_ns);
}

std::string exit_text(const KnownRun& run) {
  return run.summary.exit_code ? std::to_string(*run.summary.exit_code) : "";
}

std::string table(const std::vector<KnownRun>& runs) {
  viz::TextColumns columns({{"file"},
                            {"state"},
                            {"started"},
                            {"ran", true},
                            {"exit", true},
                            {"ranks", true},
                            {"hosts", true},
                            {"command"}},
                           0);
  const Nanos now = realtime_now();
  for (const KnownRun& run : runs) {
    const std::string file = printable(short_path(run.file));
    if (run.state == RunState::kUnreadable) {
      columns.add({file, to_text(run.state), "", "", "", "", "", printable(run.fault)});
      continue;
    }
    columns.add({file, to_text(run.state), date_text(run.summary.started_realtime_ns),
                 ran_text(run, now), exit_text(run), count_text(run.summary.ranks),
                 count_text(run.summary.hosts), printable(run.summary.command)});
  }
  return columns.text();
}

std::string json_of(const std::vector<KnownRun>& runs) {
  viz::Json json;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "ls");
    json.array("runs", runs, [&](const KnownRun& run) {
      const storage::RunSummary& summary = run.summary;
      const bool is_read = run.state != RunState::kUnreadable;
      const auto known = [is_read](const auto& value) {
        return is_read ? std::optional(value) : std::nullopt;
      };
      json.object([&] {
        json.field("file", run.file);
        json.field("state", run.state == RunState::kGivenUp ? "given_up" : to_text(run.state));
        json.field("run_id", known(summary.run_id));
        json.field("command", known(summary.command));
        json.field("user", known(summary.user));
        json.field("host", known(summary.host));
        json.field("started_ns", known(summary.started_realtime_ns));
        json.field("elapsed_ns", summary.elapsed_ns);
        json.field("exit_code", summary.exit_code);
        json.field("ranks", known(summary.ranks));
        json.field("hosts", known(summary.hosts));
        json.field("fault", is_read ? std::nullopt : std::optional(run.fault));
      });
    });
  });
  return json.take() + '\n';
}

}  // namespace

int run_ls(const LsOptions& options, std::ostream& out, std::ostream& err) {
  const auto runs = known_runs(options.folder, launch::live_runs(), this_host_name());
  if (!runs) {
    err << "xylem ls: " << printable(runs.error().message) << '\n';
    return kExitFailure;
  }
  if (options.json) {
    out << json_of(*runs) << std::flush;
  } else if (!runs->empty()) {
    out << table(*runs) << std::flush;
  } else {
    err << "xylem ls: no file in this folder is a run, and no run of yours is in progress on this "
           "host; start one with xylem run -- COMMAND\n";
  }
  return kExitSuccess;
}

void add_ls_command(CLI::App& app, int& code) {
  CLI::App* command =
      app.add_subcommand("ls", "List runs: the files in this folder, and the live runs here");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto options = std::make_shared<LsOptions>();
  command->add_option("FOLDER", options->folder, "Folder with the files of runs [.]")
      ->type_name("");
  command->add_flag("--json", options->json, "One JSON object for programs");
  command->callback([options, &code] { code = run_ls(*options, std::cout, std::cerr); });
}

}  // namespace xylem
