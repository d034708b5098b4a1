#include "cli/known_runs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/config.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/this_host.h"
#include "cli/command_line.h"

namespace xylem {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::absolute(path, error).lexically_normal();
  return error ? path : found.string();
}

KnownRun make_run(const std::string& file, bool is_live, const std::string& host) {
  KnownRun run;
  run.file = absolute(file);
  auto summary = storage::summarize_run(file);
  if (!summary) {
    run.fault = summary.error().message;
    return run;
  }
  run.summary = *std::move(summary);
  run.state = run.summary.elapsed_ns     ? RunState::kEnded
              : is_live                  ? RunState::kLive
              : run.summary.host == host ? RunState::kGivenUp
                                         : RunState::kUnknown;
  return run;
}

bool is_earlier(const KnownRun& a, const KnownRun& b) {
  const bool a_is_read = a.state != RunState::kUnreadable;
  const bool b_is_read = b.state != RunState::kUnreadable;
  if (a_is_read != b_is_read) return a_is_read;
  return a.summary.started_realtime_ns > b.summary.started_realtime_ns;
}

Result<launch::LiveRun> await_run(const std::string& verb, const RunChoice& choice,
                                  std::ostream& err) {
  return launch::await_live_run(choice.file, choice.wait, [&] {
    err << "xylem " << verb << ": no run of yours is in progress on this host yet; waiting up to "
        << print_duration(choice.wait) << " for one to begin" << std::endl;
  });
}

}  // namespace

std::string to_text(RunState state) {
  switch (state) {
    case RunState::kLive:
      return "live";
    case RunState::kEnded:
      return "ended";
    case RunState::kGivenUp:
      return "given up";
    case RunState::kUnknown:
      return "unknown";
    case RunState::kUnreadable:
      break;
  }
  return "unreadable";
}

Result<std::vector<KnownRun>> known_runs(const std::string& folder,
                                         const std::vector<launch::LiveRun>& live,
                                         const std::string& host) {
  const auto files = storage::find_run_files(folder);
  if (!files) return unexpected(files.error());
  std::vector<KnownRun> runs;
  const auto find = [&runs](const std::string& file) {
    return std::ranges::find_if(runs, [&file](const KnownRun& run) {
      std::error_code ignored;
      return fs::equivalent(run.file, file, ignored);
    });
  };
  for (const launch::LiveRun& run : live) runs.push_back(make_run(run.file, true, host));
  for (const std::string& file : *files) {
    auto known = find(file);
    if (known == runs.end()) {
      KnownRun run = make_run(file, false, host);
      // This may be the copy that a live run makes on a network file system.
      known = std::ranges::find_if(runs, [&run](const KnownRun& other) {
        return other.state == RunState::kLive && other.summary.run_id == run.summary.run_id;
      });
      if (known == runs.end()) known = runs.insert(runs.end(), std::move(run));
    }
    known->in_folder = true;
  }
  std::ranges::stable_sort(runs, is_earlier);
  return runs;
}

Result<KnownRun> newest_run(const std::vector<KnownRun>& runs, Newest which) {
  const auto find = [&runs](auto is_wanted) {
    return std::ranges::find_if(runs, [&](const KnownRun& run) {
      return run.state != RunState::kUnreadable && is_wanted(run);
    });
  };
  const auto in_folder = find([](const KnownRun& run) { return run.in_folder; });
  const auto live = find([](const KnownRun& run) { return run.state == RunState::kLive; });
  const auto first = which == Newest::kLive ? live : in_folder;
  const auto second = which == Newest::kLive ? in_folder : live;
  if (first != runs.end()) return *first;
  if (second != runs.end()) return *second;
  return unexpected(Code::kNotFound,
                    "no file in this folder is a run, and no run of yours is in progress on this "
                    "host; name the run's FILE, or start a run with xylem run -- COMMAND");
}

std::string short_path(const std::string& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path whole(path);
  return !error && whole.parent_path() == here ? whole.filename().string() : path;
}

Result<std::string> choose_run(const std::string& verb, const RunChoice& choice, Newest which,
                               std::ostream& err) {
  if (!choice.is_live && !choice.file.empty()) return choice.file;
  if (!choice.is_live) {
    const auto runs = known_runs(".", launch::live_runs(), this_host_name());
    if (!runs) return unexpected(runs.error());
    const auto run = newest_run(*runs, which);
    if (run) {
      err << "xylem " << verb << ": the newest run is " << printable(short_path(run->file)) << " ("
          << to_text(run->state) << ", started " << date_text(run->summary.started_realtime_ns)
          << ")" << std::endl;
      return run->file;
    }
    if (which != Newest::kLive) return unexpected(run.error());
  }
  const auto run = await_run(verb, choice, err);
  if (!run) return unexpected(run.error());
  return run->file;
}

void add_run_file(CLI::App& verb, std::string& file) {
  verb.add_option("FILE", file, "The run's file [the newest run in this folder]")->type_name("");
}

void add_run_choice(CLI::App& verb, RunChoice& choice) {
  verb.add_option(
          "FILE", choice.file,
          "The run's file; with --live the begin of its id [the newest run, live ones first]")
      ->type_name("");
  verb.add_flag("--live", choice.is_live, "Show a run of yours that is in progress on this host");
  add_time_option(verb, "--wait", choice.wait,
                  "Wait at most this long for a run to begin, if there is none [1m]");
}

}  // namespace xylem
