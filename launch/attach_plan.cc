#include "launch/attach_plan.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backend/find/proc_file.h"
#include "backend/find/proc_table.h"
#include "backend/find/rank_search.h"
#include "backend/find/selection_text.h"
#include "base/clock.h"
#include "base/pipe.h"
#include "base/quantity_text.h"
#include "launch/back_end_launch.h"
#include "launch/launcher_table.h"
#include "launch/slurm.h"
#include "tree/host_list.h"

namespace xylem::launch {
namespace {

std::vector<std::string> arguments_of(const backend::RankSelection& selection) {
  std::vector<std::string> words = {"--find"};
  for (std::string& word : backend::to_words(selection)) words.push_back(std::move(word));
  return words;
}

std::string named(const std::string& match) {
  return match.empty() ? "" : " whose program matches '" + match + "'";
}

AttachPlan plan_of_hosts(const std::vector<std::string>& hosts,
                         const backend::RankSelection& selection, const std::string& launcher) {
  AttachPlan plan;
  plan.launcher = launcher;
  plan.only_here = launcher.empty();
  for (const std::string& host : hosts) {
    plan.places.push_back({host, 1, arguments_of(selection)});
    plan.only_here = plan.only_here && is_this_host(host);
  }
  return plan;
}

// ---- Slurm ----

struct Answer {
  int code = 0;
  std::string text;
};

// Reads up to the end of the output. Returns false at the deadline.
bool read_all(int from, Nanos deadline, std::string& text) {
  constexpr std::size_t kMaxAnswer = 64u << 10;
  char piece[4096];
  while (text.size() < kMaxAnswer) {
    const Nanos left = deadline - monotonic_now();
    if (left <= 0) return false;
    pollfd waiting{from, POLLIN, 0};
    ::poll(&waiting, 1, static_cast<int>(left / kMillisecond) + 1);
    if (waiting.revents == 0) continue;
    const ssize_t size = ::read(from, piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    text.append(piece, static_cast<std::size_t>(size));
  }
  return true;
}

bool wait_for_end(pid_t pid, Nanos deadline, int& status) {
  constexpr int kPauseMs = 5;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    // ECHILD: our parent has made us ignore SIGCHLD.
    if (ended == pid || (ended < 0 && errno == ECHILD)) return true;
    if (monotonic_now() >= deadline) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
}

// Runs a program that prints its answer. If it takes longer than `limit`, kills it.
Result<Answer> ask(const std::vector<std::string>& words, Nanos limit) {
  const Nanos deadline = deadline_in(limit);
  auto pipe = make_pipe();
  if (!pipe) return unexpected(std::move(pipe.error()));
  LaunchHow how;
  how.standard_output = how.standard_error = pipe->write.get();
  const auto launched = launch_on("", "", words, {}, how);
  if (!launched) return unexpected(launched.error());
  pipe->write.reset();
  Answer answer;
  int status = 0;
  const bool is_read = read_all(pipe->read.get(), deadline, answer.text);
  pipe->read.reset();
  if (is_read && wait_for_end(launched->pid(), deadline, status)) {
    answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return answer;
  }
  constexpr Nanos kLongestDeath = 1 * kSecond;  // It may wait for a device.
  ::kill(launched->pid(), SIGKILL);
  wait_for_end(launched->pid(), monotonic_now() + kLongestDeath, status);
  return unexpected(Code::kTimedOut,
                    words.front() + " has not answered within " + duration_text(limit));
}

Result<AttachPlan> plan_of_job(const std::string& job, backend::RankSelection selection,
                               Nanos query_limit) {
  if (!is_slurm_job(job)) {
    return unexpected(Code::kInvalidArgument,
                      "--jobid: '" + job + "' is not a Slurm job number, as in 1234");
  }
  const auto answer = ask(slurm_query(job), query_limit);
  if (!answer && answer.error().code == Code::kNotFound) {
    return unexpected(Code::kNotFound,
                      "--jobid: squeue is not there; on a host of the cluster Slurm's commands "
                      "must be in PATH");
  }
  if (!answer && answer.error().code == Code::kTimedOut) {
    return unexpected(Code::kTimedOut, "--jobid: " + answer.error().message +
                                           "; see whether Slurm works (scontrol ping), or name "
                                           "the job's hosts (--hosts)");
  }
  if (!answer) return unexpected(answer.error().code, "--jobid: " + answer.error().message);
  if (answer->code != 0) {
    return unexpected(Code::kNotFound, "--jobid: Slurm does not know job " + job + ": " +
                                           answer->text.substr(0, answer->text.find('\n')));
  }
  auto step = step_in(job, answer->text);
  if (!step) return unexpected(step.error().code, "--jobid: " + step.error().message);
  selection.slurm_job = job;
  selection.is_named = true;
  AttachPlan plan;
  plan.launcher = std::move(step->launcher);
  plan.places.push_back({std::move(step->hosts), step->nodes, arguments_of(selection)});
  plan.sought = "processes of Slurm job " + job +
                (selection.slurm_step.empty() ? "" : ", step " + selection.slurm_step) +
                named(selection.match) + ", with a rank in their environment";
  return plan;
}

// ---- a launcher ----

// Each host's part of the table.
AttachPlan plan_of_table(const LauncherTable& table, std::uint32_t pid, const AttachTarget& target,
                         const std::string& launcher) {
  std::vector<std::string> hosts;
  std::map<std::string, backend::RankSelection> selections;
  for (std::size_t rank = 0; rank < table.ranks.size(); ++rank) {
    const LauncherEntry& entry = table.ranks[rank];
    const auto [it, is_new] = selections.try_emplace(entry.host);
    if (is_new) hosts.push_back(entry.host);
    it->second.listed[entry.pid] = Rank{static_cast<std::uint32_t>(rank)};
  }
  AttachPlan plan;
  plan.launcher = launcher;
  plan.only_here = launcher.empty();
  for (const std::string& host : hosts) {
    backend::RankSelection& selection = selections.at(host);
    selection.match = target.match;
    selection.is_named = true;
    selection.size = static_cast<std::uint32_t>(table.ranks.size());
    // The same launcher means the same world, also in another call of `xylem attach`.
    selection.world =
        "launcher " + std::to_string(pid) + " " + std::to_string(backend::start_time_of(pid));
    plan.places.push_back({host, 1, arguments_of(selection)});
    plan.only_here = plan.only_here && is_this_host(host);
  }
  plan.sought =
      "the processes in the table of launcher " + std::to_string(pid) + named(target.match);
  return plan;
}

std::vector<std::string> words_of(std::string_view command_line) {
  std::vector<std::string> words;
  while (!command_line.empty()) {
    const std::string_view word = command_line.substr(0, command_line.find('\0'));
    command_line.remove_prefix(std::min(command_line.size(), word.size() + 1));
    words.emplace_back(word);
  }
  return words;
}

// Hydra has no table, but starts a proxy on each host: directly on this host, and by "ssh HOST
// hydra_pmi_proxy ..." on other hosts.
struct Proxies {
  std::string control_port;
  std::set<std::string> hosts;  // "" means this host.
  bool by_srun = false;
};

Proxies proxies_of(std::uint32_t pid) {
  Proxies found;
  for (const backend::SeenProcess& child : backend::read_proc_table(false).processes) {
    if (child.parent != pid) continue;
    const std::string port = backend::control_port(child.command_line);
    if (port.empty()) continue;
    found.control_port = port;
    const std::vector<std::string> words = words_of(child.command_line);
    std::size_t at = 0;
    while (at < words.size() && words[at].find("hydra_pmi_proxy") == std::string::npos) ++at;
    found.by_srun = found.by_srun || words.front().ends_with("srun");
    found.hosts.insert(at == 0 ? "" : words[at - 1]);
  }
  return found;
}

Result<AttachPlan> plan_of_proxies(const AttachTarget& target, const std::string& launcher,
                                   const Error& no_table) {
  const std::string who = "process " + std::to_string(target.pid);
  const Proxies proxies = proxies_of(target.pid);
  if (proxies.by_srun) {
    return unexpected(Code::kInvalidArgument,
                      "--pid: " + who + " is Hydra in a Slurm job; name the job instead (--jobid)");
  }
  if (!proxies.hosts.empty()) {
    backend::RankSelection selection;
    selection.match = target.match;
    selection.control_port = proxies.control_port;
    selection.is_named = true;
    AttachPlan plan =
        plan_of_hosts({proxies.hosts.begin(), proxies.hosts.end()}, selection, launcher);
    plan.sought = "processes below Hydra's proxies of " + who + named(target.match) +
                  ", with a rank in their environment";
    return plan;
  }
  const std::string folder = "/proc/" + std::to_string(target.pid);
  constexpr std::size_t kMaxEnvironment = 1u << 20;
  const auto ids = backend::launch_ids(backend::read_start(folder + "/environ", kMaxEnvironment));
  if (ids) {
    return unexpected(Code::kInvalidArgument,
                      "--pid: " + who + " is rank " + std::to_string(raw(ids->rank)) +
                          " of a job, not its launcher (mpirun, srun); name that, or the hosts "
                          "(--hosts)");
  }
  return unexpected(no_table.code, "--pid: " + no_table.message +
                                       " and no proxies of Hydra: is it the launcher (mpirun, "
                                       "srun) of a job? --hosts looks for ranks without one");
}

// The launcher may be filling its table. So an empty or incomplete table is read again.
Result<LauncherTable> read_whole_table(std::uint32_t pid) {
  constexpr Nanos kPatience = 2 * kSecond;
  constexpr int kPauseMs = 20;
  const Nanos deadline = monotonic_now() + kPatience;
  for (;;) {
    auto table = read_launcher_table(pid);
    const bool is_whole = table ? !table->slurm_job.empty() || !table->ranks.empty()
                                : table.error().code != Code::kCorrupt;
    if (is_whole || monotonic_now() >= deadline) return table;
    ::poll(nullptr, 0, kPauseMs);
  }
}

Result<AttachPlan> plan_of_launcher(const AttachTarget& target, const std::string& launcher,
                                    Nanos query_limit) {
  auto table = read_whole_table(target.pid);
  if (!table && table.error().code == Code::kNotFound && backend::start_time_of(target.pid) != 0) {
    return plan_of_proxies(target, launcher, table.error());
  }
  if (!table) return unexpected(table.error().code, "--pid: " + table.error().message);
  if (!table->slurm_job.empty()) {
    backend::RankSelection selection;
    selection.match = target.match;
    selection.slurm_step = table->slurm_step;
    return plan_of_job(table->slurm_job, selection, query_limit);
  }
  if (table->ranks.empty()) {
    return unexpected(Code::kUnavailable, "--pid: launcher " + std::to_string(target.pid) +
                                              " has not started its ranks yet; try again");
  }
  return plan_of_table(*table, target.pid, target, launcher);
}

}  // namespace

Result<AttachPlan> plan_attach(const AttachTarget& target, const std::string& launcher,
                               Nanos query_limit) {
  const int given = !target.hosts.empty() + !target.job.empty() + (target.pid != 0);
  if (given != 1) {
    return unexpected(Code::kInvalidArgument,
                      "attach: say where the job is, by one of --hosts LIST, --pid LAUNCHER and "
                      "--jobid SLURM_JOB");
  }
  if (target.pid != 0) return plan_of_launcher(target, launcher, query_limit);
  backend::RankSelection selection;
  selection.match = target.match;
  if (!target.job.empty()) return plan_of_job(target.job, selection, query_limit);
  auto hosts = tree::parse_host_list(target.hosts);
  if (!hosts) return unexpected(hosts.error().code, "--hosts: " + hosts.error().message);
  AttachPlan plan = plan_of_hosts(*hosts, selection, launcher);
  plan.sought = "processes of this user" + named(target.match) +
                (target.match.empty() ? " that have an MPI library and" : ", with") + " one of " +
                backend::rank_variables() + " in their environment";
  return plan;
}

}  // namespace xylem::launch
