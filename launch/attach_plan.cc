#include "launch/attach_plan.h"

#include <poll.h>
#include <sys/wait.h>

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "backend/find/proc_file.h"
#include "backend/find/proc_table.h"
#include "backend/find/rank_search.h"
#include "backend/find/selection_text.h"
#include "base/clock.h"
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

// The words contain only letters, digits and characters of options; see is_slurm_job().
Answer ask(const std::vector<std::string>& words) {
  constexpr std::size_t kMaxAnswer = 64u << 10;
  std::string command;
  for (const std::string& word : words) command += "'" + word + "' ";
  const auto close_pipe = [](std::FILE* pipe) { ::pclose(pipe); };
  std::unique_ptr<std::FILE, decltype(close_pipe)> pipe{
      ::popen((command + "2>&1 </dev/null").c_str(), "re"), close_pipe};
  Answer answer;
  char piece[4096];
  while (pipe && answer.text.size() < kMaxAnswer && std::fgets(piece, sizeof piece, pipe.get())) {
    answer.text += piece;
  }
  const int status = pipe ? ::pclose(pipe.release()) : -1;
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return answer;
}

Result<AttachPlan> plan_of_job(const std::string& job, backend::RankSelection selection) {
  if (!is_slurm_job(job)) {
    return unexpected(Code::kInvalidArgument,
                      "--jobid: '" + job + "' is not a Slurm job number, as in 1234");
  }
  const Answer answer = ask(slurm_query(job));
  if (answer.code == 127) {
    return unexpected(Code::kNotFound,
                      "--jobid: squeue is not there; on a host of the cluster Slurm's commands "
                      "must be in PATH");
  }
  if (answer.code != 0) {
    return unexpected(Code::kNotFound, "--jobid: Slurm does not know job " + job + ": " +
                                           answer.text.substr(0, answer.text.find('\n')));
  }
  auto step = step_in(job, answer.text);
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

Result<AttachPlan> plan_of_launcher(const AttachTarget& target, const std::string& launcher) {
  auto table = read_whole_table(target.pid);
  if (!table && table.error().code == Code::kNotFound && backend::start_time_of(target.pid) != 0) {
    return plan_of_proxies(target, launcher, table.error());
  }
  if (!table) return unexpected(table.error().code, "--pid: " + table.error().message);
  if (!table->slurm_job.empty()) {
    backend::RankSelection selection;
    selection.match = target.match;
    selection.slurm_step = table->slurm_step;
    return plan_of_job(table->slurm_job, selection);
  }
  if (table->ranks.empty()) {
    return unexpected(Code::kUnavailable, "--pid: launcher " + std::to_string(target.pid) +
                                              " has not started its ranks yet; try again");
  }
  return plan_of_table(*table, target.pid, target, launcher);
}

}  // namespace

Result<AttachPlan> plan_attach(const AttachTarget& target, const std::string& launcher) {
  const int given = !target.hosts.empty() + !target.job.empty() + (target.pid != 0);
  if (given != 1) {
    return unexpected(Code::kInvalidArgument,
                      "attach: say where the job is, by one of --hosts LIST, --pid LAUNCHER and "
                      "--jobid SLURM_JOB");
  }
  if (target.pid != 0) return plan_of_launcher(target, launcher);
  backend::RankSelection selection;
  selection.match = target.match;
  if (!target.job.empty()) return plan_of_job(target.job, selection);
  auto hosts = tree::parse_host_list(target.hosts);
  if (!hosts) return unexpected(hosts.error().code, "--hosts: " + hosts.error().message);
  AttachPlan plan = plan_of_hosts(*hosts, selection, launcher);
  plan.sought = "processes of this user" + named(target.match) +
                (target.match.empty() ? " that have an MPI library and" : ", with") + " one of " +
                backend::rank_variables() + " in their environment";
  return plan;
}

}  // namespace xylem::launch
