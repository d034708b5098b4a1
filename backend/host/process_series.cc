#include "backend/host/process_series.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "base/log.h"

namespace xylem::backend {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// With more processes there are too few descriptors to keep all files open.
constexpr std::size_t kMaxOpen = 64;

}  // namespace

ProcessSeries::Process::Process(const std::string& folder)
    : stat(folder + "/stat"),
      status(folder + "/status"),
      io(folder + "/io"),
      schedstat(folder + "/schedstat") {}

void ProcessSeries::add(Lane lane, std::uint32_t pid) {
  processes_.insert_or_assign(lane, Process(root_ + "/proc/" + std::to_string(pid)));
}

void ProcessSeries::begin(overlay::Network&, Nanos now) {
  counts_waits_.reset();
  if (delay_accounting_.read(text_)) counts_waits_ = to_double(text_.substr(0, 1)) != 0;
  Reading reading;
  reading.at_ns = now;
  reading.span_ns = last_ns_ == 0 ? 0 : now - last_ns_;
  last_ns_ = now;
  for (auto it = processes_.begin(); it != processes_.end();) {
    const Outcome outcome = read(it->second);
    if (outcome == Outcome::kRead) {
      reading.entries.push_back({it->first, it->second.readout.numbers()});
    }
    it = outcome == Outcome::kGone ? processes_.erase(it) : std::next(it);
  }
  reading_ = std::move(reading);
}

std::optional<Reading> ProcessSeries::take(overlay::Network&, Nanos) {
  return std::exchange(reading_, std::nullopt);
}

ProcessSeries::Outcome ProcessSeries::read(Process& process) {
  if (!process.stat.read(text_)) {
    const int error = process.stat.error();
    if (error == ENOENT || error == ESRCH) return Outcome::kGone;
    process.readout = Readout();  // Otherwise its growth would cover several intervals.
    if (!std::exchange(told_not_now_, true)) {
      log(Level::kWarn, "a process cannot be measured now, it is tried again",
          {{"file", process.stat.path()}, {"why", std::strerror(error)}});
    }
    return Outcome::kNotNow;
  }
  // The file may have been opened again, and may belong to another process.
  constexpr int kFieldsBefore = 19;  // Fields before the start time.
  std::string_view rest = behind_name(text_);
  for (int i = 0; i < kFieldsBefore; ++i) next_word(rest);
  const double started = to_double(next_word(rest));
  if (process.started.value_or(started) != started) return Outcome::kGone;
  process.started = started;
  read_numbers(process);
  return Outcome::kRead;
}

// Every process has the same numbers, known or not: one layout.
void ProcessSeries::read_numbers(Process& process) {
  process.readout.begin(layout_);
  read_stat(process, behind_name(text_));
  read_others(process);
  process.readout.end();
  if (processes_.size() > kMaxOpen) {
    for (ProcFile* file : {&process.status, &process.io, &process.schedstat}) file->release();
  }
}

void ProcessSeries::read_stat(Process& process, std::string_view fields) {
  static const double kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double kPageKib = static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
  std::array<std::string_view, 40> field;  // From the third field ("state") on.
  for (std::string_view& word : field) word = next_word(fields);
  const auto number = [&field](std::size_t as_in_manual) {
    return to_double(field[as_in_manual - 3]);
  };
  Readout& to = process.readout;
  to.gauge("running", "", "", "", 1, field[0] == "R" ? 1 : 0);
  to.gauge("blocked", "", "", "", 1, field[0] == "D" ? 1 : 0);
  to.counter("faults.minor", "", "", "1/s", 1, number(10));
  to.counter("faults.major", "", "", "1/s", 1, number(12));
  to.counter("cpu.user", "", "", "%", 100 / kTicks, number(14));
  to.counter("cpu.system", "", "", "%", 100 / kTicks, number(15));
  to.gauge("threads", "", "", "", 1, number(20));
  to.gauge("memory.virtual", "", "", "KiB", 1.0 / 1024, number(23));
  to.gauge("memory.resident", "", "", "KiB", kPageKib, number(24));
  to.gauge("processor", "", "", "", 1, number(39));
  // If the kernel does not count this time, it reports 0.
  const bool knows = counts_waits_.value_or(number(42) > 0);
  to.counter("io.wait", "", "", "%", 100 / kTicks, knows ? number(42) : kUnknown);
}

void ProcessSeries::read_others(Process& process) {
  Readout& to = process.readout;
  std::string refused;
  const auto read = [&](ProcFile& file) {
    if (file.read(text_)) return true;
    if (file.error() == EACCES || file.error() == EPERM) {
      refused = file.path() + " (" + std::strerror(file.error()) + ")";
    }
    text_.clear();
    return false;
  };
  double voluntary = kUnknown, involuntary = kUnknown, shared = kUnknown, swapped = kUnknown;
  read(process.status);
  for (std::string_view text = text_; !text.empty();) {
    std::string_view line = next_line(text);
    const std::string_view key = next_word(line);
    if (key == "voluntary_ctxt_switches:") voluntary = to_double(next_word(line));
    if (key == "nonvoluntary_ctxt_switches:") involuntary = to_double(next_word(line));
    if (key == "RssShmem:") shared = to_double(next_word(line));
    if (key == "VmSwap:") swapped = to_double(next_word(line));
  }
  to.counter("switches.voluntary", "", "", "1/s", 1, voluntary);
  to.counter("switches.involuntary", "", "", "1/s", 1, involuntary);
  to.gauge("memory.shared", "", "", "KiB", 1, shared);
  to.gauge("memory.swapped", "", "", "KiB", 1, swapped);

  std::string_view schedule = read(process.schedstat) ? std::string_view(text_) : "";
  next_word(schedule);  // Time on a processor, ns.
  const std::string_view waited = next_word(schedule);
  to.counter("scheduler.wait", "", "", "%", 1e-7, waited.empty() ? kUnknown : to_double(waited));

  static constexpr std::array<std::array<const char*, 2>, 6> kIo = {
      {{"rchar:", "io.read_calls"},
       {"wchar:", "io.written_calls"},
       {"syscr:", "io.reads"},
       {"syscw:", "io.writes"},
       {"read_bytes:", "io.read"},
       {"write_bytes:", "io.written"}}};
  std::string_view io = read(process.io) ? std::string_view(text_) : "";
  for (const auto& [key, name] : kIo) {
    std::string_view line = next_line(io);
    const bool there = next_word(line) == key;
    const std::string_view unit =
        std::string_view(name).ends_with("s") && !std::string_view(name).ends_with("_calls")
            ? "1/s"
            : "B/s";
    to.counter(name, "", "", unit, 1, there ? to_double(next_word(line)) : kUnknown);
  }
  if (refused.empty() || std::exchange(told_refused_, true)) return;
  log(Level::kWarn,
      "the service process has no permission to read some files; it continues without them",
      {{"file", refused}});
}

}  // namespace xylem::backend
