#include "backend/host/host_meter.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <sstream>
#include <utility>

#include "backend/find/proc_file.h"

namespace xylem::backend {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
// A look must be cheap on the largest host. These are the maximum numbers of processes and of
// groups that a look reads.
constexpr std::size_t kMaxLookedAt = 128;
constexpr std::size_t kMaxGroups = 64;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(by), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Returns the number at the beginning of a text; nullopt if there is none, as in "max".
std::optional<double> number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Returns the number after `name` at the begin of a line. A blank or a colon separates the two.
std::optional<double> named(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (rest.empty() || (rest[0] != ' ' && rest[0] != ':')) continue;
    return number(rest.substr(1));
  }
  return std::nullopt;
}

}  // namespace

HostMeter::HostMeter(std::string root) : root_(std::move(root)) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &set)) processors_.push_back(processor);
    }
  }
}

std::string HostMeter::read_file(const std::string& path) const {
  return read_start(root_ + path, std::numeric_limits<std::size_t>::max());
}

// Searched at the begin of each interval, because limits may be set while the agent runs.
void HostMeter::find_quota() {
  quota_folder_.clear();
  usage_folder_.clear();
  groups_ = OwnGroups(root_);
  const auto quotas = groups_.folders("cpu");
  for (const std::string& folder : quotas) {
    std::optional<double> time, period;
    if (const std::string both = read_file(folder + "/cpu.max"); !both.empty()) {
      time = number(both);
      period = number(std::string_view(both).substr(std::min(both.find(' '), both.size() - 1)));
    } else {
      time = number(read_file(folder + "/cpu.cfs_quota_us"));
      period = number(read_file(folder + "/cpu.cfs_period_us"));
    }
    if (!time || !period || !(*time > 0) || !(*period > 0)) continue;  // max, or -1
    if (!quota_folder_.empty() && *time / *period >= quota_) continue;
    quota_folder_ = folder;
    quota_ = *time / *period;
    period_ = *period / 1e6;
  }
  if (quota_folder_.empty()) return;
  // Version 1 counts CPU time in a separate controller, with its own mount. A group has the same
  // path below both mounts.
  const auto usages = groups_.folders("cpuacct");
  const std::string_view below = std::string_view(quota_folder_).substr(quotas.back().size());
  for (const std::string& folder : usages) {
    if (std::string_view(folder).substr(usages.back().size()) == below) usage_folder_ = folder;
  }
}

void HostMeter::add_machine_times(Times& times) const {
  std::istringstream lines(read_file("/proc/stat"));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    unsigned processor = 0;
    const auto parsed = std::from_chars(line.data() + 3, line.data() + line.size(), processor);
    if (parsed.ec != std::errc() ||
        !std::binary_search(processors_.begin(), processors_.end(), processor)) {
      continue;
    }
    // user nice system idle iowait irq softirq steal. The later numbers are part of the first two.
    constexpr std::size_t kFields = 8, kIdle = 3, kWaiting = 4;
    std::istringstream fields(line.substr(static_cast<std::size_t>(parsed.ptr - line.data())));
    std::uint64_t ticks = 0;
    for (std::size_t i = 0; i < kFields && fields >> ticks; ++i) {
      times.all += ticks;
      if (i == kIdle || i == kWaiting) times.idle += ticks;
    }
  }
}

HostMeter::Times HostMeter::times(Nanos now) const {
  Times times;
  times.at = now;
  add_machine_times(times);
  if (quota_folder_.empty()) return times;
  const std::string stat = read_file(quota_folder_ + "/cpu.stat");
  if (const auto periods = named(stat, "nr_throttled")) {
    times.throttled = static_cast<std::uint64_t>(*periods);
  }
  if (const auto used = named(stat, "usage_usec")) times.group_used = *used / 1e6;
  if (const auto used = number(read_file(usage_folder_ + "/cpuacct.usage"))) {
    if (!usage_folder_.empty()) times.group_used = *used / 1e9;
  }
  return times;
}

// The group whose processes are counted, and those below it.
void HostMeter::find_waiting_folders() {
  waiting_folders_.clear();
  if (quota_folder_.empty()) return;
  waiting_folders_.push_back(quota_folder_);
  std::error_code error;
  std::filesystem::recursive_directory_iterator inner(root_ + quota_folder_, error);
  for (; !error && inner != std::filesystem::recursive_directory_iterator() &&
         waiting_folders_.size() < kMaxGroups;
       inner.increment(error)) {
    if (!inner->is_directory(error)) continue;
    waiting_folders_.push_back(inner->path().string().substr(root_.size()));
  }
}

void HostMeter::begin(Nanos now) {
  find_quota();
  find_waiting_folders();
  begun_ = times(now);
  waiting_sum_ = 0;
  looks_ = 0;
}

void HostMeter::look() {
  const auto processes = waiting();
  if (!processes) return;
  waiting_sum_ += *processes;
  ++looks_;
}

std::optional<double> HostMeter::waiting() const {
  if (quota_folder_.empty()) {
    // 0.20 0.18 0.12 1/80 11206: one of 80 runs, which is this process itself.
    const std::string load = read_file("/proc/loadavg");
    const auto fields = split(load, ' ');
    const auto running = fields.size() < 4 ? std::nullopt : number(fields[3]);
    if (!running) return std::nullopt;
    return std::max(0.0, *running - 1);
  }
  std::string lists;
  for (const std::string& folder : waiting_folders_) lists += read_file(folder + "/cgroup.procs");
  const auto processes = split(lists, '\n');
  if (processes.empty()) return 0.0;
  // If there are too many processes, each call reads every n-th one, and the next call other ones.
  const std::size_t stride = (processes.size() + kMaxLookedAt - 1) / kMaxLookedAt;
  std::size_t seen = 0, running = 0;
  for (std::size_t i = looks_ % stride; i < processes.size(); i += stride, ++seen) {
    const std::string stat = read_file("/proc/" + std::string(processes[i]) + "/stat");
    running += behind_name(stat).starts_with(" R") ? 1 : 0;
  }
  const double share = static_cast<double>(running) / static_cast<double>(seen);
  // This process does not count.
  return std::max(0.0, share * static_cast<double>(processes.size()) - 1);
}

std::optional<double> HostMeter::idle(const Times& now) const {
  const double seconds = static_cast<double>(now.at - begun_.at) / static_cast<double>(kSecond);
  if (!(seconds > 0)) return std::nullopt;
  if (quota_folder_.empty()) {
    if (now.all <= begun_.all || now.idle < begun_.idle) return std::nullopt;
    return std::min(1.0, static_cast<double>(now.idle - begun_.idle) /
                             static_cast<double>(now.all - begun_.all));
  }
  std::optional<double> share;
  const auto at_most = [&share](double bound) {
    share = std::clamp(share ? std::min(*share, bound) : bound, 0.0, 1.0);
  };
  if (now.group_used && begun_.group_used) {
    const double granted = cores() * seconds;
    at_most(1 - (*now.group_used - *begun_.group_used) / granted);
  }
  if (now.throttled && begun_.throttled && *now.throttled >= *begun_.throttled) {
    const double periods = std::max(1.0, seconds / period_);
    at_most(1 - static_cast<double>(*now.throttled - *begun_.throttled) / periods);
  }
  return share;
}

std::optional<double> HostMeter::memory() const {
  std::optional<double> least;
  if (const auto available = named(read_file("/proc/meminfo"), "MemAvailable")) {
    least = *available * 1024;
  }
  for (const std::string& folder : groups_.folders("memory")) {
    auto limit = number(read_file(folder + "/memory.max"));
    auto used = number(read_file(folder + "/memory.current"));
    const char* cache = "inactive_file";
    if (!used) {
      limit = number(read_file(folder + "/memory.limit_in_bytes"));
      used = number(read_file(folder + "/memory.usage_in_bytes"));
      cache = "total_inactive_file";
    }
    if (!limit || !used) continue;
    if (least && *limit - *used >= *least) continue;  // memory.stat costs the kernel a millisecond.
    const double kept = named(read_file(folder + "/memory.stat"), cache).value_or(0);
    const double free = std::max(0.0, *limit - *used + kept);
    if (!least || free < *least) least = free;
  }
  if (!least) return std::nullopt;
  return *least / kGiB;
}

double HostMeter::cores() const {
  const double here = counted_cores_.value_or(static_cast<double>(processors_.size()));
  return quota_folder_.empty() ? here : std::min(here, quota_);
}

placement::FactValues HostMeter::read(Nanos now) {
  placement::FactValues facts;
  if (looks_ == 0) look();
  if (const auto share = idle(times(now))) facts.set(placement::Fact::kIdle, *share);
  const double usable = cores();
  if (usable > 0) {
    facts.set(placement::Fact::kCores, usable);
    if (looks_ > 0) facts.set(placement::Fact::kRunQueue, waiting_sum_ / looks_ / usable);
  }
  if (const auto free = memory()) facts.set(placement::Fact::kMemory, *free);
  return facts;
}

}  // namespace xylem::backend
