#include "launch/standstill.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace xylem::launch {
namespace {

// Timers alone may use less than a tenth of a processor.
constexpr Nanos kIdleShare = 10;

std::uint64_t bytes_of(const std::string& process) {
  std::ifstream file(process + "/io");
  std::uint64_t sum = 0, value = 0;
  for (std::string name; file >> name >> value;) {
    if (name == "rchar:" || name == "wchar:") sum += value;
  }
  return sum;
}

}  // namespace

std::optional<Work> work_of(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::ifstream file(process + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name in brackets may contain blanks. The words begin after it.
  std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string state, skipped;
  words >> state;
  for (int i = 0; i < 10; ++i) words >> skipped;
  Nanos user = 0, system = 0;
  if (!(words >> user >> system)) return std::nullopt;
  Work work;
  work.bytes = bytes_of(process);
  work.processor = (user + system) * (kSecond / ::sysconf(_SC_CLK_TCK));
  work.stopped = state == "T" || state == "t";
  return work;
}

void Standstill::follow(pid_t pid, Nanos now) {
  pid_ = pid;
  looked_at_ = now;
  duration_ = 0;
  last_ = work_of(pid).value_or(Work{});
  heard_ = false;
}

Nanos Standstill::look(Nanos now) {
  if (now - looked_at_ < kShortestPause) return duration_;
  return look(now, work_of(pid_).value_or(last_));
}

Nanos Standstill::look(Nanos now, const Work& found) {
  const Nanos elapsed = now - looked_at_;
  const bool works =
      heard_ || found.bytes != last_.bytes ||
      (found.processor - last_.processor) * kIdleShare >= std::max(elapsed, Nanos{1});
  duration_ = works ? 0 : duration_ + std::min(elapsed, kLongestPause);
  looked_at_ = now;
  last_ = found;
  heard_ = false;
  return duration_;
}

}  // namespace xylem::launch
