#include "cli/calibrate_run.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "base/pipe.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/unique_fd.h"
#include "launch/back_end_launch.h"
#include "launch/launch.h"

namespace xylem {
namespace {

constexpr Nanos kPatience = 5 * kSecond;
constexpr Nanos kPoll = 20 * kMillisecond;
constexpr std::size_t kMaxLine = 64 << 10;

/// The signals that end a measurement, as a descriptor.
UniqueFd take_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int it : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&signals, it);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  return UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// The launcher. The destructor ends it, and waits until it has ended.
class LauncherProcess {
 public:
  explicit LauncherProcess(pid_t pid) : pid_(pid) {}
  LauncherProcess(const LauncherProcess&) = delete;
  LauncherProcess& operator=(const LauncherProcess&) = delete;
  ~LauncherProcess() { end(); }

  /// Waits until `deadline` at most. Returns the status of waitpid(), nullopt if it has not ended.
  std::optional<int> wait(Nanos deadline) {
    while (!status_) {
      int status = 0;
      if (::waitpid(pid_, &status, WNOHANG) == pid_) {
        status_ = status;
      } else if (monotonic_now() >= deadline) {
        break;
      } else {
        ::poll(nullptr, 0, static_cast<int>(kPoll / kMillisecond));
      }
    }
    return status_;
  }

  void end() {
    if (!status_) {
      ::kill(-pid_, SIGTERM);
      wait(deadline_in(kPatience));
    }
    if (!status_) {
      ::kill(-pid_, SIGKILL);
      wait(kForever);
    }
  }

 private:
  pid_t pid_;
  std::optional<int> status_;
};

std::string how_ended(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

/// Cuts the launcher's output into lines.
class LineReader {
 public:
  /// Calls `take` for each line that is complete. Returns false at the end of the output, and if a
  /// line is too long. Stops at the first failure of `take`.
  template <typename Take>
  Result<bool> read(int fd, Take take) {
    std::array<char, 16384> buffer{};
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count <= 0) return false;
    text_.append(buffer.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = text_.find('\n'); end != std::string::npos;
         end = text_.find('\n', begin)) {
      const auto taken = take(std::string_view(text_).substr(begin, end - begin));
      if (!taken) return unexpected(taken.error());
      begin = end + 1;
    }
    text_.erase(0, begin);
    return text_.size() < kMaxLine;
  }

 private:
  std::string text_;
};

Result<std::vector<std::string>> command_for(const CalibrateTask& task) {
  const auto program = launch::find_internal_program("xylem-calibrate");
  // Not kNotFound, which would mean the launcher.
  if (!program) return unexpected(Code::kInternal, program.error().message);
  std::vector<std::string> words = task.launcher;
  words.push_back(*program);
  for (const auto& [option, value] : {std::pair{"--mpi", task.mpi}, {"--disk", task.disk}}) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  }
  words.insert(words.end(), {"--repetitions", std::to_string(task.repetitions), "--seconds",
                             std::to_string(task.limit / kSecond)});
  return words;
}

Result<void> take_line(predict::SampleReader& reader, std::string_view line) {
  const auto taken = reader.take(line);
  if (!taken) return unexpected(taken.error());
  if (!*taken) std::fprintf(stderr, "%s\n", printable(line).c_str());
  return {};
}

/// Reads the report until it ends.
Result<predict::Samples> read_report(int output, int signals, Nanos deadline, Nanos limit,
                                     CalibrateHow& how, LauncherProcess& launcher,
                                     const std::string& name) {
  predict::SampleReader reader;
  LineReader lines;
  bool is_open = true;
  while (is_open && !reader.has_ended()) {
    if (monotonic_now() >= deadline) {
      return unexpected(Code::kTimedOut, "the measurement has not ended within " +
                                             duration_text(limit) +
                                             "; raise --limit, or lower --repetitions");
    }
    std::array<pollfd, 2> ready = {pollfd{output, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
    ::poll(ready.data(), ready.size(), static_cast<int>(kPoll / kMillisecond));
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) == sizeof info) {
      how.signal = static_cast<int>(info.ssi_signo);
      return unexpected(Code::kUnavailable, "interrupted; nothing was written");
    }
    if (ready[0].revents == 0) continue;
    const auto more =
        lines.read(output, [&](std::string_view line) { return take_line(reader, line); });
    if (!more) return unexpected(more.error());
    is_open = *more;
    if (how.progress) how.progress(reader.progress());
  }
  const auto status = launcher.wait(std::min(deadline, deadline_in(kPatience)));
  if (reader.has_ended()) return reader.samples();
  return unexpected(Code::kUnavailable,
                    name + (status ? " " + how_ended(*status) : " has closed its output") +
                        " without a result; try it with a small MPI program of your own");
}

}  // namespace

Result<predict::Samples> run_calibration(const CalibrateTask& task, CalibrateHow& how) {
  auto command = command_for(task);
  if (!command) return unexpected(command.error());
  auto output = make_pipe();
  if (!output) return unexpected(output.error());
  const UniqueFd signals = take_signals();
  if (signals.get() < 0) return unexpected(Code::kExhausted, "no descriptor for signals");
  launch::LaunchHow start;
  start.standard_output = output->write.get();
  start.own_session = true;
  auto launched = launch::launch_on("", "", *command, {}, start);
  if (!launched) return unexpected(launched.error());
  output->write = UniqueFd();
  LauncherProcess launcher(launched->pid());
  return read_report(output->read.get(), signals.get(), deadline_in(task.limit), task.limit, how,
                     launcher, task.launcher.front());
}

}  // namespace xylem
