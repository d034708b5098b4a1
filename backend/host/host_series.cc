#include "backend/host/host_series.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "backend/host/control_group.h"
#include "base/log.h"

namespace xylem::backend {
namespace {

namespace fs = std::filesystem;

constexpr double kMicrosecond = 1e-6;
constexpr double kNanosecond = 1e-9;
constexpr std::size_t kMaxDevices = 64;  // For each kind. A host may have thousands.

/// True for loop and RAM disks: machines have dozens of them, and their values are of no use.
bool is_pseudo_disk(std::string_view name) {
  return name.starts_with("loop") || name.starts_with("ram");
}

std::vector<fs::path> entries_of(const fs::path& folder, std::string_view prefix,
                                 std::string_view suffix = "") {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(suffix)) found.push_back(it->path());
  }
  std::ranges::sort(found);
  if (found.size() > kMaxDevices) found.resize(kMaxDevices);
  return found;
}

std::string text_of(const fs::path& path) {
  std::string text;
  ProcFile(path.string()).read(text);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

HostSeries::HostSeries(const std::string& root)
    : layout_{std::string(wire::kHostService), {}},
      ticks_per_second_(static_cast<double>(::sysconf(_SC_CLK_TCK))) {
  const std::string proc = root + "/proc/";
  add(proc + "stat", &HostSeries::parse_stat);
  add(proc + "loadavg", &HostSeries::parse_load);
  add(proc + "meminfo", &HostSeries::parse_memory);
  add(proc + "vmstat", &HostSeries::parse_vmstat);
  add(proc + "net/dev", &HostSeries::parse_network);
  add(proc + "net/snmp", &HostSeries::parse_protocols);
  add(proc + "net/netstat", &HostSeries::parse_protocols);
  add(proc + "diskstats", &HostSeries::parse_disks);
  for (const char* resource : {"cpu", "io", "memory"}) {
    add(proc + "pressure/" + resource, &HostSeries::parse_pressure, resource);
  }
  add(proc + "schedstat", &HostSeries::parse_schedstat, "", false);  // As the kernel was made.
  add_cgroup(root);
  add_sensors(root);
}

void HostSeries::add(const std::string& path, Parse parse, std::string label, bool expected) {
  parts_.push_back(std::make_unique<Part>(path, parse, std::move(label), expected));
}

// The agent's control group. A resource manager has put the job's processes there too.
void HostSeries::add_cgroup(const std::string& root) {
  const OwnGroups groups(root);
  const auto add_of = [&](std::string_view controller, const char* file, Parse parse,
                          std::string label = "") {
    const auto folders = groups.folders(controller);
    if (folders.empty()) return;
    add(root + folders.front() + "/" + file, parse, std::move(label), false);
  };
  add_of("cpu", "cpu.stat", &HostSeries::parse_cgroup);
  add_of("cpuacct", "cpuacct.usage", &HostSeries::parse_cgroup_usage);
  for (const char* file : {"memory.current", "memory.usage_in_bytes"}) {
    add_of("memory", file, &HostSeries::parse_gauge, "cgroup.memory\nB");
  }
}

void HostSeries::add_sensors(const std::string& root) {
  for (const fs::path& cpu : entries_of(root + "/sys/devices/system/cpu", "cpu")) {
    const fs::path file = cpu / "cpufreq/scaling_cur_freq";
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    add(file, &HostSeries::parse_gauge, cpu.filename().string() + ".frequency\nkHz", false);
  }
  for (const fs::path& zone : entries_of(root + "/sys/class/thermal", "thermal_zone")) {
    add(zone / "temp", &HostSeries::parse_gauge,
        "thermal." + zone.filename().string().substr(8) + "\nmdegC", false);
  }
  for (const fs::path& chip : entries_of(root + "/sys/class/hwmon", "hwmon")) {
    const std::string name = text_of(chip / "name");
    for (const fs::path& sensor : entries_of(chip, "", "_input")) {
      const std::string input = sensor.filename().string();
      const char* const unit = input.starts_with("temp")    ? "mdegC"
                               : input.starts_with("power") ? "uW"
                               : input.starts_with("in")    ? "mV"
                               : input.starts_with("fan")   ? "rpm"
                                                            : "";
      add(sensor, &HostSeries::parse_gauge,
          "hwmon." + chip.filename().string() + "." + name + "." +
              input.substr(0, input.size() - 6) + "\n" + unit,
          false);
    }
  }
  for (const fs::path& zone : entries_of(root + "/sys/class/powercap", "intel-rapl:")) {
    add(zone / "energy_uj", &HostSeries::parse_energy,
        "power." + zone.filename().string().substr(11) + "." + text_of(zone / "name"), true);
  }
}

void HostSeries::begin(overlay::Network&, Nanos now) {
  readout_.begin(layout_);
  for (const auto& part : parts_) {
    if (!part->left_out) read(*part);
  }
  if (!std::exchange(told_, true)) tell_left_out();
  readout_.end();
  Reading reading;
  reading.at_ns = now;
  reading.span_ns = last_ns_ == 0 ? 0 : now - last_ns_;
  last_ns_ = now;
  reading.entries.push_back({kLeafLane, readout_.numbers()});
  reading_ = std::move(reading);
}

void HostSeries::read(Part& part) {
  const std::size_t first = readout_.size();
  if (part.file.read(text_)) {
    (this->*part.parse)(text_, part.label);
  } else if (told_) {
    readout_.unknown(part.first, part.count);
  } else {
    part.left_out = true;
  }
  part.first = first;
  part.count = readout_.size() - first;
}

std::optional<Reading> HostSeries::take(overlay::Network&, Nanos) {
  return std::exchange(reading_, std::nullopt);
}

void HostSeries::tell_left_out() const {
  std::string list;
  for (const auto& part : parts_) {
    // A machine without sensors is normal. A sensor that may not be read is reported.
    if (!part->left_out || (!part->expected && part->file.error() == ENOENT)) continue;
    list += (list.empty() ? "" : ", ") + part->file.path() + " (" +
            std::strerror(part->file.error()) + ")";
  }
  if (list.empty()) return;
  log(Level::kWarn, "the service host cannot read some files; it continues without them",
      {{"files", list}});
}

// ---- processors ----

void HostSeries::parse_stat(std::string_view text, const std::string&) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::string_view key = next_word(line);
    if (key.starts_with("cpu")) {
      parse_processor(key, line);
    } else if (key == "intr") {
      readout_.counter("interrupts", "", "", "1/s", 1, to_double(next_word(line)));
    } else if (key == "ctxt") {
      readout_.counter("context_switches", "", "", "1/s", 1, to_double(next_word(line)));
    } else if (key == "processes") {
      readout_.counter("forks", "", "", "1/s", 1, to_double(next_word(line)));
    } else if (key.starts_with("procs_")) {
      readout_.gauge("tasks.", key.substr(6), "", "", 1, to_double(next_word(line)));
    } else if (key == "softirq") {
      parse_softirq(line);
    }
  }
}

// Guest time is in user and nice already.
void HostSeries::parse_processor(std::string_view name, std::string_view line) {
  static constexpr std::array kTimes = {".user",   ".nice", ".system",  ".idle",
                                        ".iowait", ".irq",  ".softirq", ".steal"};
  for (const char* time : kTimes) {
    readout_.counter(name, time, "", "%", 100 / ticks_per_second_, to_double(next_word(line)));
  }
}

void HostSeries::parse_softirq(std::string_view line) {
  static constexpr std::array kKinds = {"all",    "hi",      "timer",    "net_tx",
                                        "net_rx", "block",   "irq_poll", "tasklet",
                                        "sched",  "hrtimer", "rcu"};
  for (const char* kind : kKinds) {
    readout_.counter("softirq.", kind, "", "1/s", 1, to_double(next_word(line)));
  }
}

// Stored as hundredths, because integers are shorter.
void HostSeries::parse_load(std::string_view text, const std::string&) {
  std::string_view line = next_line(text);
  for (const char* span : {"1m", "5m", "15m"}) {
    readout_.gauge("load.", span, "", "", 0.01, std::round(100 * to_double(next_word(line))));
  }
  const std::string_view tasks = next_word(line);
  const std::size_t slash = std::min(tasks.find('/'), tasks.size() - 1);
  readout_.gauge("tasks.", "existing", "", "", 1, to_double(tasks.substr(slash + 1)));
}

// version, timestamp, then for each processor: ..., time run (7th), time waited (8th), both ns.
void HostSeries::parse_schedstat(std::string_view text, const std::string&) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::string_view key = next_word(line);
    if (!key.starts_with("cpu")) continue;
    for (int skipped = 0; skipped < 6; ++skipped) next_word(line);
    readout_.counter(key, ".tasks_running", "", "%", 1e-7, to_double(next_word(line)));
    readout_.counter(key, ".tasks_waiting", "", "%", 1e-7, to_double(next_word(line)));
  }
}

// some avg10=0.12 avg60=... total=MICROSECONDS
void HostSeries::parse_pressure(std::string_view text, const std::string& resource) {
  const std::string prefix = "pressure." + resource + ".";
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::string_view who = next_word(line);
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const std::size_t equals = std::min(word.find('='), word.size() - 1);
      const std::string_view key = word.substr(0, equals);
      const double number = to_double(word.substr(equals + 1));
      if (key == "total") {
        readout_.counter(prefix, who, ".share", "%", 100 * kMicrosecond, number);
      } else if (key == "avg10") {
        readout_.gauge(prefix, who, ".avg10", "%", 0.01, std::round(100 * number));
      }
    }
  }
}

// ---- memory ----

void HostSeries::parse_memory(std::string_view text, const std::string&) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    std::string_view key = next_word(line);
    if (key.empty() || key.back() != ':') continue;
    key.remove_suffix(1);
    const double number = to_double(next_word(line));
    readout_.gauge("memory.", key, "", next_word(line) == "kB" ? "KiB" : "", 1, number);
  }
}

// Most values are counters. Current values begin with nr_; there are a few exceptions of both
// kinds.
void HostSeries::parse_vmstat(std::string_view text, const std::string&) {
  static constexpr std::array<std::string_view, 7> kCounters = {
      "nr_dirtied",           "nr_written",
      "nr_vmscan_write",      "nr_vmscan_immediate_reclaim",
      "nr_foll_pin_acquired", "nr_foll_pin_released",
      "nr_throttled_written"};
  static constexpr std::string_view kOtherState = "workingset_nodes";
  while (!text.empty()) {
    std::string_view line = next_line(text);
    const std::string_view key = next_word(line);
    if (key.empty()) continue;
    const double number = to_double(next_word(line));
    const bool counts =
        key.starts_with("nr_tlb_") || std::ranges::find(kCounters, key) != kCounters.end();
    if (key == kOtherState || (key.starts_with("nr_") && !counts)) {
      readout_.gauge("vmstat.", key, "", "", 1, number);
    } else {
      readout_.counter("vmstat.", key, "", "1/s", 1, number);
    }
  }
}

// ---- network and disks ----

// Two lines of heads; then NAME: 8 numbers received, 8 sent. The name may touch the first number.
void HostSeries::parse_network(std::string_view text, const std::string&) {
  struct Column {
    const char* name;
    const char* unit;
  };
  static constexpr std::array<Column, 12> kColumns = {{{".rx_bytes", "B/s"},
                                                       {".rx_packets", "1/s"},
                                                       {".rx_errors", "1/s"},
                                                       {".rx_dropped", "1/s"},
                                                       {nullptr, nullptr},
                                                       {nullptr, nullptr},
                                                       {nullptr, nullptr},
                                                       {nullptr, nullptr},
                                                       {".tx_bytes", "B/s"},
                                                       {".tx_packets", "1/s"},
                                                       {".tx_errors", "1/s"},
                                                       {".tx_dropped", "1/s"}}};
  next_line(text);
  next_line(text);
  for (std::size_t devices = 0; !text.empty() && devices < kMaxDevices; ++devices) {
    std::string_view line = next_line(text);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    name = next_word(name);
    line.remove_prefix(colon + 1);
    for (const Column& column : kColumns) {
      const double number = to_double(next_word(line));
      if (column.name == nullptr) continue;
      readout_.counter("net.", name, column.name, column.unit, 1, number);
    }
  }
}

// Pairs of lines: NAME: heads, NAME: numbers.
void HostSeries::parse_protocols(std::string_view text, const std::string&) {
  static constexpr std::array<std::string_view, 5> kFixed = {"Forwarding", "DefaultTTL",
                                                             "RtoAlgorithm", "RtoMin", "RtoMax"};
  static constexpr std::array<std::string_view, 13> kOfHundreds = {
      "ListenOverflows",    "ListenDrops",         "TCPLostRetransmit",
      "TCPFastRetrans",     "TCPSlowStartRetrans", "TCPTimeouts",
      "TCPSynRetrans",      "TCPAbortOnMemory",    "TCPBacklogDrop",
      "TCPMemoryPressures", "TCPRcvQDrop",         "InOctets",
      "OutOctets"};
  while (!text.empty()) {
    std::string_view heads = next_line(text);
    std::string_view numbers = next_line(text);
    std::string_view protocol = next_word(heads);
    if (protocol != next_word(numbers) || protocol.size() < 2) continue;
    protocol.remove_suffix(1);
    const std::string prefix = std::string(protocol) + ".";
    const bool chosen = protocol == "TcpExt" || protocol == "IpExt";
    const bool wanted = chosen || protocol == "Tcp" || protocol == "Udp" || protocol == "Ip";
    while (wanted) {
      const std::string_view head = next_word(heads);
      if (head.empty()) break;
      const double number = to_double(next_word(numbers));
      if (std::ranges::find(kFixed, head) != kFixed.end() || head == "MaxConn") continue;
      if (chosen && std::ranges::find(kOfHundreds, head) == kOfHundreds.end()) continue;
      if (head == "CurrEstab") {
        readout_.gauge(prefix, head, "", "", 1, number);
      } else {
        readout_.counter(prefix, head, "", head.ends_with("Octets") ? "B/s" : "1/s", 1, number);
      }
    }
  }
}

void HostSeries::parse_disks(std::string_view text, const std::string&) {
  struct Column {
    const char* name;
    const char* unit;
    double scale;
  };
  constexpr double kSector = 512;
  constexpr double kShare = 0.1;  // Milliseconds in a second, as percent.
  static constexpr std::array<Column, 10> kColumns = {{{".reads", "1/s", 1},
                                                       {".reads_merged", "1/s", 1},
                                                       {".read_bytes", "B/s", kSector},
                                                       {".read_share", "%", kShare},
                                                       {".writes", "1/s", 1},
                                                       {".writes_merged", "1/s", 1},
                                                       {".written_bytes", "B/s", kSector},
                                                       {".write_share", "%", kShare},
                                                       {nullptr, nullptr, 1},
                                                       {".busy", "%", kShare}}};
  std::size_t devices = 0;
  while (!text.empty() && devices < kMaxDevices) {
    std::string_view line = next_line(text);
    next_word(line);
    next_word(line);
    const std::string_view name = next_word(line);
    if (name.empty() || is_pseudo_disk(name)) continue;
    ++devices;
    for (const Column& column : kColumns) {
      const double number = to_double(next_word(line));
      if (column.name != nullptr) {
        readout_.counter("disk.", name, column.name, column.unit, column.scale, number);
      } else {
        readout_.gauge("disk.", name, ".in_flight", "", 1, number);
      }
    }
  }
}

// ---- the rest ----

// Lines such as "usage_usec 123". Version 1 has throttled_time, in ns.
void HostSeries::parse_cgroup(std::string_view text, const std::string&) {
  while (!text.empty()) {
    std::string_view line = next_line(text);
    std::string_view key = next_word(line);
    if (key.empty()) continue;
    const double number = to_double(next_word(line));
    if (key.ends_with("_usec")) {
      key.remove_suffix(5);
      readout_.counter("cgroup.", key, "", "%", 100 * kMicrosecond, number);
    } else if (key == "throttled_time") {
      readout_.counter("cgroup.throttled", "", "", "%", 100 * kNanosecond, number);
    } else {
      readout_.counter("cgroup.", key, "", "1/s", 1, number);
    }
  }
}

// The file of cgroup version 1 has nanoseconds.
void HostSeries::parse_cgroup_usage(std::string_view text, const std::string&) {
  readout_.counter("cgroup.usage", "", "", "%", 100 * kNanosecond, to_double(next_line(text)));
}

// The label is a name, a line's end and a unit.
void HostSeries::parse_gauge(std::string_view text, const std::string& label) {
  const std::size_t end = label.find('\n');
  const std::string_view name = std::string_view(label).substr(0, end);
  const std::string_view unit = std::string_view(label).substr(end + 1);
  readout_.gauge(name, "", "", unit, 1, to_double(next_line(text)));
}

void HostSeries::parse_energy(std::string_view text, const std::string& label) {
  readout_.counter(label, "", "", "W", kMicrosecond, to_double(next_line(text)));
}

}  // namespace xylem::backend
