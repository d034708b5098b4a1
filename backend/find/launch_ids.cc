#include "backend/find/launch_ids.h"

#include <array>
#include <charconv>

namespace xylem::backend {
namespace {

// Returns the value of a variable; nullopt if it is not set. If it is set twice, the first value
// counts, as in getenv().
std::optional<std::string_view> value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name)) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> number_of(std::optional<std::string_view> text) {
  std::uint32_t number = 0;
  if (!text) return std::nullopt;
  const auto parsed = std::from_chars(text->data(), text->data() + text->size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text->data() + text->size()) return std::nullopt;
  return number;
}

std::string text_of(std::string_view environment, std::string_view name) {
  constexpr std::size_t kLongest = 256;
  return std::string(value_of(environment, name).value_or("").substr(0, kLongest));
}

enum class Family { kOpenMpi, kPmi, kPmix, kSlurm };

struct Source {
  const char* rank;
  const char* size;
  Family family;
};

// The most specific variable comes first.
constexpr std::array<Source, 5> kSources = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", Family::kOpenMpi},
    {"PMI_RANK", "PMI_SIZE", Family::kPmi},
    {"PMI_ID", "PMI_SIZE", Family::kPmi},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", Family::kPmix},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", Family::kSlurm},
}};

std::string job_of(Family family, std::string_view environment, const LaunchIds& ids) {
  const std::string space = text_of(environment, "PMIX_NAMESPACE");
  std::string step = ids.slurm_job.empty() ? "" : "slurm " + ids.slurm_job + "." + ids.slurm_step;
  switch (family) {
    case Family::kOpenMpi:
      // Each mpirun draws a random number. The name space distinguishes its jobs, including spawned
      // ones.
      return "openmpi " + text_of(environment, "OMPI_MCA_orte_precondition_transports") + " " +
             space;
    case Family::kPmi:
      // With Slurm's own PMI, the step identifies the job. Hydra's proxies may also be tasks of a
      // step, one step for each mpirun.
      return step;
    case Family::kPmix:
      return step.empty() ? "pmix " + space : step;
    case Family::kSlurm:
      return step;
  }
  return {};
}

// A batch script and the shell of an interactive job also have SLURM_PROCID. But they have no step,
// or a step with one of Slurm's reserved numbers.
bool is_in_a_step(std::string_view environment) {
  constexpr std::uint32_t kFirstSpecialStep = 0xfffffff0;
  const auto step = number_of(value_of(environment, "SLURM_STEP_ID"));
  return step && *step < kFirstSpecialStep;
}

}  // namespace

std::optional<LaunchIds> launch_ids(std::string_view environment) {
  for (const Source& source : kSources) {
    const auto rank = number_of(value_of(environment, source.rank));
    if (!rank) continue;
    if (source.family == Family::kSlurm && !is_in_a_step(environment)) continue;
    LaunchIds ids;
    ids.rank = Rank{*rank};
    ids.size = number_of(value_of(environment, source.size)).value_or(0);
    ids.source = source.rank;
    ids.slurm_job = text_of(environment, "SLURM_JOB_ID");
    ids.slurm_step = text_of(environment, "SLURM_STEP_ID");
    ids.job = job_of(source.family, environment, ids);
    return ids;
  }
  return std::nullopt;
}

std::string rank_variables() {
  std::string names;
  for (const Source& source : kSources) {
    names += (names.empty() ? "" : ", ") + std::string(source.rank);
  }
  return names;
}

std::string control_port(std::string_view command_line) {
  constexpr std::string_view kOption = "--control-port";
  bool is_proxy = false;
  bool is_next = false;
  while (!command_line.empty()) {
    const std::string_view word = command_line.substr(0, command_line.find('\0'));
    command_line.remove_prefix(std::min(command_line.size(), word.size() + 1));
    if (is_next) return is_proxy ? std::string(word) : "";
    // If rsh started the proxy, the value is in quotes.
    is_proxy = is_proxy || word.find("hydra_pmi_proxy") != std::string_view::npos;
    is_next = word == kOption;
  }
  return {};
}

}  // namespace xylem::backend
