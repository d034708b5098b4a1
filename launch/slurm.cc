#include "launch/slurm.h"

#include <algorithm>
#include <charconv>

#include "launch/launch.h"

namespace xylem::launch {
namespace {

constexpr std::size_t kMaxDigits = 10;  // Digits of a 32-bit number.

unsigned number_of(std::string_view text) {
  unsigned number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? number : 0;
}

// Returns true if a shell cannot split the text into words, and if the text cannot be read as an
// option.
bool is_host_text(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("[],-._").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), is_part);
}

SlurmStep make_step(std::string_view job, std::string_view hosts, unsigned nodes) {
  const std::string number = std::to_string(nodes);
  SlurmStep step;
  // These options override the job's own variables for each step (tasks, binding, devices).
  // --no-kill: one host that fails does not take the agents of all others with it.
  step.launcher = "srun --jobid=" + std::string(job) + " --overlap --nodes=" + number +
                  " --ntasks=" + number +
                  " --ntasks-per-node=1 --cpus-per-task=1 --mpi=none --gres=none"
                  " --input=all --output=all --error=all --kill-on-bad-exit=0 --no-kill --quiet "
                  "--job-name=xylem-agents"
                  " --nodelist";
  step.hosts = hosts;
  step.nodes = nodes;
  return step;
}

}  // namespace

bool is_slurm_job(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits && number_of(text) != 0;
}

std::optional<SlurmStep> step_beside(const std::vector<std::string>& environment) {
  const std::string job = variable(environment, "SLURM_JOB_ID");
  const std::string hosts = variable(environment, "SLURM_JOB_NODELIST");
  const unsigned nodes = number_of(variable(environment, "SLURM_JOB_NUM_NODES"));
  if (!is_slurm_job(job) || !is_host_text(hosts) || nodes == 0) return std::nullopt;
  return make_step(job, hosts, nodes);
}

std::vector<std::string> slurm_query(std::string_view job) {
  return {"squeue", "--noheader", "--jobs=" + std::string(job), "--format=%T %D %N"};
}

// "RUNNING 4 node[01-04]"; a job array's number names several jobs, a line each.
Result<SlurmStep> step_in(std::string_view job, std::string_view answer) {
  const std::string name = "Slurm job " + std::string(job);
  const std::string_view line = answer.substr(0, answer.find('\n'));
  const auto first = line.find(' ');
  const auto second =
      line.find(' ', first == std::string_view::npos ? std::string_view::npos : first + 1);
  const std::string_view state = line.substr(0, first);
  if (line.empty()) return unexpected(Code::kNotFound, name + " is not known, or has ended");
  if (answer.size() > line.size() + 1) {
    return unexpected(Code::kInvalidArgument,
                      name + " is an array of jobs; `squeue` shows the number of each");
  }
  if (state != "RUNNING") {
    return unexpected(Code::kNotFound, name + " does not run: it is " + std::string(state));
  }
  if (second == std::string_view::npos) {
    return unexpected(Code::kInvalidArgument, name + ": no hosts in '" + std::string(line) + "'");
  }
  const unsigned nodes = number_of(line.substr(first + 1, second - first - 1));
  std::string_view hosts = line.substr(second + 1);
  hosts = hosts.substr(0, hosts.find(' '));
  if (nodes == 0 || !is_host_text(hosts)) {
    return unexpected(Code::kInvalidArgument, name + ": no hosts in '" + std::string(line) + "'");
  }
  return make_step(job, hosts, nodes);
}

}  // namespace xylem::launch
