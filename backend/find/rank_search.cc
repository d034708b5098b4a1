#include "backend/find/rank_search.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/fnv.h"

namespace xylem::backend {
namespace {

// A longer chain of parents has changed while it was read.
constexpr int kDeepest = 64;

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
}

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_launcher(const SeenProcess& process) {
  static constexpr std::array<std::string_view, 12> kNames = {"orted",
                                                              "orterun",
                                                              "prted",
                                                              "prterun",
                                                              "prte",
                                                              "hydra_pmi_proxy",
                                                              "mpiexec.hydra",
                                                              "srun",
                                                              "slurmstepd",
                                                              "xylem",
                                                              "hydra_bstrap_proxy",
                                                              "mpirun"};
  const std::string_view name = file_name(process.program);
  return is_one_of(name, kNames) || name.starts_with("xylem-");
}

bool is_shell(const SeenProcess& process) {
  static constexpr std::array<std::string_view, 9> kNames = {"sh",  "bash", "dash", "zsh",    "ksh",
                                                             "csh", "tcsh", "env",  "busybox"};
  return is_one_of(file_name(process.program), kNames);
}

using ById = std::map<std::uint32_t, const SeenProcess*>;

// Returns true if an ancestor of `process` satisfies `is_it`.
template <typename Is>
const SeenProcess* ancestor(const ById& all, const SeenProcess& process, Is is_it) {
  const SeenProcess* at = &process;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const auto parent = all.find(at->parent);
    if (parent == all.end() || parent->second == at) return nullptr;
    at = parent->second;
    if (is_it(*at)) return at;
  }
  return nullptr;
}

// Hydra's environment does not name the job, but the proxy above the rank does.
std::string hydra_job(const ById& all, const SeenProcess& process) {
  const SeenProcess* proxy = ancestor(all, process, [](const SeenProcess& above) {
    return !control_port(above.command_line).empty();
  });
  return proxy == nullptr ? "" : control_port(proxy->command_line);
}

// Chooses one of several processes of a rank: the uppermost process of the best kind.
const SeenProcess& choose(const ById& all, const std::vector<const SeenProcess*>& candidates) {
  const auto worth = [](const SeenProcess& it) {
    return !it.mpi_library.empty() ? 2 : is_shell(it) ? 0 : 1;
  };
  int best = 0;
  for (const SeenProcess* it : candidates) best = std::max(best, worth(*it));
  const SeenProcess* chosen = nullptr;
  for (const SeenProcess* it : candidates) {
    if (worth(*it) != best) continue;
    const bool is_below =
        ancestor(all, *it, [&](const SeenProcess& above) {
          return worth(above) == best &&
                 std::find(candidates.begin(), candidates.end(), &above) != candidates.end();
        }) != nullptr;
    if (is_below) continue;
    // The process that started first is chosen; on a tie, the first in the list.
    if (chosen == nullptr || it->start_time < chosen->start_time) chosen = it;
  }
  return chosen == nullptr ? *candidates.front() : *chosen;
}

FoundRank make_rank(const SeenProcess& process, Rank rank, std::uint32_t size, std::string job) {
  FoundRank found;
  found.pid = process.pid;
  found.start_time = process.start_time;
  found.rank = rank;
  found.size = std::max(size, raw(rank) == UINT32_MAX ? raw(rank) : raw(rank) + 1);
  found.job = std::move(job);
  found.program = process.program;
  found.mpi_library = process.mpi_library;
  return found;
}

bool matches(const SeenProcess& process, const RankSelection& selection) {
  if (selection.match.empty()) return true;
  const std::string name(file_name(process.program));
  return ::fnmatch(selection.match.c_str(), name.c_str(), 0) == 0;
}

std::vector<FoundRank> find_listed(const ById& all, const RankSelection& selection) {
  std::map<Rank, std::vector<const SeenProcess*>> by_rank;
  for (const auto& [pid, process] : all) {
    auto listed = selection.listed.find(pid);
    if (listed == selection.listed.end()) {
      const SeenProcess* above = ancestor(all, *process, [&selection](const SeenProcess& it) {
        return selection.listed.contains(it.pid);
      });
      if (above == nullptr) continue;
      listed = selection.listed.find(above->pid);
    }
    by_rank[listed->second].push_back(process);
  }
  std::vector<FoundRank> found;
  for (const auto& [rank, candidates] : by_rank) {
    const SeenProcess& process = choose(all, candidates);
    if (matches(process, selection))
      found.push_back(make_rank(process, rank, selection.size, selection.world));
  }
  return found;
}

bool is_wanted(const SeenProcess& process, const std::string& port,
               const RankSelection& selection) {
  const LaunchIds& ids = *process.ids;
  if (!selection.slurm_job.empty() && ids.slurm_job != selection.slurm_job) return false;
  if (!selection.slurm_step.empty() && ids.slurm_step != selection.slurm_step) return false;
  if (!selection.control_port.empty() && port != selection.control_port) return false;
  return matches(process, selection);
}

}  // namespace

std::vector<FoundRank> find_ranks(std::span<const SeenProcess> processes,
                                  const RankSelection& selection) {
  ById all;
  for (const SeenProcess& process : processes) all.emplace(process.pid, &process);
  if (!selection.listed.empty()) return find_listed(all, selection);

  std::map<std::pair<std::string, Rank>, std::vector<const SeenProcess*>> by_rank;
  for (const auto& [pid, process] : all) {
    if (!process->ids || is_launcher(*process)) continue;
    const std::string port = process->ids->job.empty() || !selection.control_port.empty()
                                 ? hydra_job(all, *process)
                                 : std::string();
    if (!is_wanted(*process, port, selection)) continue;
    const std::string job = process->ids->job.empty() ? "hydra " + port : process->ids->job;
    by_rank[{job, process->ids->rank}].push_back(process);
  }
  std::vector<FoundRank> found;
  for (const auto& [key, candidates] : by_rank) {
    const SeenProcess& process = choose(all, candidates);
    const bool counts =
        selection.is_named || !selection.match.empty() || !process.mpi_library.empty();
    if (counts) found.push_back(make_rank(process, key.second, process.ids->size, key.first));
  }
  return found;
}

std::vector<std::uint8_t> world_key_of(const std::string& job) {
  std::vector<std::uint8_t> key;
  for (const std::uint64_t half : {0, 1}) {
    Fnv1a hash(half);
    for (const char c : job) hash.add(static_cast<std::uint8_t>(c));
    for (int byte = 0; byte < 8; ++byte) {
      key.push_back(static_cast<std::uint8_t>(hash.value() >> (8 * byte)));
    }
  }
  return key;
}

}  // namespace xylem::backend
