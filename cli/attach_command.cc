#include "cli/attach_command.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/config.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/front_end_start.h"
#include "cli/settings.h"
#include "launch/job.h"
#include "tree/host_list.h"

namespace xylem {
namespace {

// Timeout for the agents' start. ssh may try an unreachable host for two minutes; the user should
// not wait that long.
constexpr Nanos kReadyPatience = 30 * kSecond;
constexpr Nanos kLook = 200 * kMillisecond;

// True for the settings of `run` that `attach` has too. It has none for recording calls.
bool is_ours(std::string_view name) {
  return name != "detail" && name != "sample" && name != "ring" && name != "test-size";
}

const std::vector<Setting>& attach_settings() {
  static const std::vector<Setting> kSettings = [] {
    std::vector<Setting> ours;
    for (const Setting& setting : run_settings()) {
      if (is_ours(setting.name)) ours.push_back(setting);
    }
    return ours;
  }();
  return kSettings;
}

void add_defaults_of_others(std::vector<SettingValue>& values) {
  for (const Setting& setting : run_settings()) {
    if (!is_ours(setting.name)) values.push_back({setting.name, setting.default_value, "default"});
  }
}

// Returns a signal that should end `attach`; 0 if none has come. SignalGate blocks these signals.
int interrupting_signal(Nanos patience) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD}) ::sigaddset(&set, signal);
  const timespec max_wait{patience / kSecond, patience % kSecond};
  const int signal = ::sigtimedwait(&set, nullptr, &max_wait);
  return signal > 0 && signal != SIGCHLD ? signal : 0;
}

std::string number_of(std::size_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

struct Census {
  std::size_t ranks = 0;
  std::size_t hosts = 0;
  std::vector<std::string> without;  // Hosts without ranks.
  std::string notes;
};

Census count(const launch::LaunchedAgents& agents) {
  Census census;
  for (const auto& ready : agents.ready()) {
    census.ranks += ready.ranks;
    if (ready.ranks != 0) ++census.hosts;
    if (ready.ranks == 0) census.without.push_back(ready.host);
    if (!ready.note.empty()) census.notes += "; " + ready.host + ": " + ready.note;
  }
  std::sort(census.without.begin(), census.without.end());
  return census;
}

std::string watched(const Census& census) {
  return number_of(census.ranks, "rank") + " on " + number_of(census.hosts, "host");
}

enum class Arrival { kThere, kInterrupted, kIncomplete };

Arrival wait_for_agents(Started& started, int& signal) {
  const Nanos deadline = monotonic_now() + kReadyPatience;
  for (;;) {
    if (started.agents->wait_until_ready(kLook)) return Arrival::kThere;
    signal = interrupting_signal(0);
    if (signal != 0) return Arrival::kInterrupted;
    attend(started);
    if (started.agents->all_ended() || monotonic_now() >= deadline) return Arrival::kIncomplete;
  }
}

// Watches the job until its end. Returns the reason for the end, as the end of a sentence.
std::string watch(Started& started, Nanos duration) {
  const Nanos begin = monotonic_now();
  for (;;) {
    if (interrupting_signal(kLook) != 0) return "until it was interrupted";
    attend(started);
    if (started.agents->all_ended()) return "until they ended";
    if (duration != 0 && monotonic_now() - begin >= duration) return "for as long as was wanted";
  }
}

// Prints on which hosts no rank was found. Returns true if there is a rank.
bool is_anybody(const Census& census, const launch::AttachPlan& plan, const std::string& failures) {
  const std::string none = census.without.empty() ? "" : " on " + tree::fold_hosts(census.without);
  if (!failures.empty()) say("attach: " + failures);
  if (census.ranks != 0) {
    if (!none.empty()) say("attach: no ranks" + none + census.notes);
    return true;
  }
  if (failures.empty() || !none.empty()) {
    say("attach: no ranks found" + none + "; looked for " + plan.sought + census.notes);
  }
  return false;
}

// Runs after the agents were started, until the end.
int watch_to_the_end(Started& started, const launch::AttachPlan& plan, const RunOptions& options,
                     const AttachOptions& how) {
  const Nanos begin = monotonic_now();
  int signal = 0;
  const Arrival arrival = wait_for_agents(started, signal);
  const Census census = count(*started.agents);
  const std::string failures_before = started.agents->failures();
  if (arrival == Arrival::kInterrupted) {
    abandon(started);
    return kExitSignal + signal;
  }
  if (!is_anybody(census, plan, failures_before)) {
    abandon(started);  // A mistyped name must not replace a record.
    return kExitFailure;
  }
  if (!options.quiet) say("watching " + watched(census) + "; " + store_of(options));
  const std::string until = watch(started, how.duration);
  const Nanos lasted = monotonic_now() - begin;
  const std::string failures = started.agents->failures();
  finish(started, 0);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", static_cast<double>(lasted) / kSecond);
  if (failures != failures_before) {
    say("attach: after " + std::string(seconds) + ": " + failures +
        "; what was not yet stored there is lost; " + store_of(options));
    return kExitFailure;
  }
  if (!options.quiet) {
    say(watched(census) + " watched for " + seconds + ", " + until + "; " + store_of(options));
  }
  return 0;
}

Result<RunOptions> check(const SettingFlags& flags) {
  const std::vector<std::string> environment = launch::current_environment();
  auto values = flags.layered(environment);
  if (!values) return unexpected(std::move(values.error()));
  add_defaults_of_others(*values);
  const std::string file = config_file(flags.config(), environment);
  auto entries = config_entries(file);
  if (!entries) return unexpected(std::move(entries.error()));
  return check_settings(*values, *entries);
}

}  // namespace

int attach_job(const RunOptions& options, const AttachOptions& how,
               const std::vector<std::string>& command_line) {
  auto plan = launch::plan_attach(how.target, options.start.launcher);
  if (!plan) return fail_usage(plan.error().message);
  const launch::SignalGate gate;
  auto started = start_front_end(options, command_line,
                                 plan->only_here ? Reach::kThisHost : Reach::kOtherHosts);
  if (!started) return fail_usage(started.error().message);
  auto agents = launch::LaunchedAgents::start(agent_launch(*started, plan->launcher), plan->places);
  if (!agents) {
    abandon(*started);
    return fail_usage("attach: " + agents.error().message);
  }
  started->agents.emplace(*std::move(agents));
  return watch_to_the_end(*started, *plan, options, how);
}

void add_attach_command(CLI::App& app, int& code) {
  struct Flags {
    explicit Flags(CLI::App& verb) : settings(verb, attach_settings()) {}
    SettingFlags settings;
    AttachOptions how;
    std::string duration;
  };
  CLI::App* verb = app.add_subcommand(
      "attach", "Watch a job that is already running: xylem attach --pid LAUNCHER [OPTIONS]");
  // Shared with the callback below, which CLI11 copies and calls after this function has returned.
  const auto flags = std::make_shared<Flags>(*verb);
  launch::AttachTarget& target = flags->how.target;
  verb->add_option("--pid", target.pid,
                   "Process id of the job's launcher (mpirun, srun) on this host")
      ->type_name("LAUNCHER");
  verb->add_option("--jobid", target.job, "Slurm job number")->type_name("JOB");
  verb->add_option("--hosts", target.hosts, "Look for ranks on these hosts, as in node[01-16]")
      ->type_name("LIST");
  verb->add_option("--match", target.match,
                   "Only ranks whose program's file name matches this shell pattern")
      ->type_name("PATTERN");
  verb->add_option("--duration", flags->duration,
                   "How long to watch, as in 10s or 5m [until the ranks have ended]")
      ->type_name("TIME");
  verb->callback([flags, &code, verb] {
    const auto options = check(flags->settings);
    if (!options) {
      code = fail_usage(options.error().message);
      return;
    }
    if (!flags->duration.empty()) {
      const auto duration = parse_duration(flags->duration);
      if (!duration || *duration <= 0) {
        code = fail_usage("--duration: '" + flags->duration + "' is not a time, as in 10s or 5m");
        return;
      }
      flags->how.duration = *duration;
    }
    std::vector<std::string> words = {"xylem", "attach"};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->count() == 0) continue;
      words.push_back(option->get_name());
      for (const std::string& value : option->results()) words.push_back(value);
    }
    code = attach_job(*options, flags->how, words);
  });
}

}  // namespace xylem
