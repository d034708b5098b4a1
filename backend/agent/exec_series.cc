#include "backend/agent/exec_series.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include "backend/find/proc_file.h"
#include "base/argv.h"
#include "base/log.h"
#include "base/pipe.h"

namespace xylem::backend {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr int kNotStarted = 127;
constexpr std::string_view kPassesOver = "lines that are not metrics";

// The part of a reason before the printed text. The printed text may differ each time.
std::string_view kind_of(std::string_view why) { return why.substr(0, why.find('\'')); }

std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  for (auto word = next_word(command); !word.empty(); word = next_word(command)) {
    words.emplace_back(word);
  }
  return words;
}

// Runs in the child, between fork and exec.
[[noreturn]] void exec_program(char* const* arguments, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kNotStarted);  // The parent died before the line above.
  const int copy = ::fcntl(output, F_DUPFD, 10);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, 0);
  ::dup2(copy, 1);
  ::dup2(nowhere, 2);
  ::syscall(SYS_close_range, 3u, ~0u, 0u);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::execv(arguments[0], arguments);
  ::_exit(kNotStarted);
}

}  // namespace

ExecSeries::ExecSeries(wire::ServiceSpec spec, ProgramGroups* groups, std::size_t place)
    : spec_(std::move(spec)), groups_(groups), place_in_groups_(place), layout_{spec_.name, {}} {}

ExecSeries::~ExecSeries() {
  if (child_ > 0) end_child();
}

// A killed child may not end at once, for example because it waits for a device. Then the guard
// waits for its end, and this loop continues.
void ExecSeries::end_child() {
  constexpr int kPatienceMs = 20;
  ::kill(-child_, SIGKILL);
  ::kill(child_, SIGKILL);
  pollfd ended{pidfd_.get(), POLLIN, 0};
  if (pidfd_) ::poll(&ended, 1, kPatienceMs);
  int status = 0;
  reap(status);
  child_ = 0;
}

// Returns false while the child has not ended.
bool ExecSeries::reap(int& status) {
  const pid_t got = ::waitpid(child_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  child_ = 0;
  if (groups_ != nullptr) groups_->leave(place_in_groups_);
  return true;
}

void ExecSeries::begin(overlay::Network& network, Nanos now) {
  if (child_ > 0 || now < not_before_) return;
  if (!start(network, now)) fail(std::string("cannot be started: ") + std::strerror(errno), now);
}

bool ExecSeries::start(overlay::Network& network, Nanos now) {
  std::vector<std::string> words = words_of(spec_.program);
  const std::vector<char*> arguments = argv_of(words);
  auto pipe = make_pipe();
  if (!pipe) return false;
  output_ = std::move(pipe->read);
  UniqueFd write = std::move(pipe->write);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  const pid_t self = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    if (groups_ != nullptr) groups_->enter(place_in_groups_, ::getpid());
    exec_program(arguments.data(), write.get(), self);
  }
  if (child_ < 0) {
    child_ = 0;
    output_.reset();
    return false;
  }
  ::setpgid(child_, child_);  // Parent and child both do this, because either may come first.
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
  started_ = now;
  look_at_ = now + spec_.timeout_ns;
  killed_ = told_stuck_ = false;
  text_.clear();
  network.watch(output_.get());
  if (pidfd_) {
    network.watch(pidfd_.get());
    return true;
  }
  const int why = errno;
  stop(network);
  errno = why;
  return false;
}

bool ExecSeries::on_readable(overlay::Network& network, int fd, Nanos now) {
  if (child_ <= 0) return false;
  if (output_ && fd == output_.get()) {
    drain(network, now);
    return true;
  }
  if (!pidfd_ || fd != pidfd_.get()) return false;
  collect(network, now);
  return true;
}

void ExecSeries::unwatch_output(overlay::Network& network) {
  network.unwatch(output_.get());
  output_.reset();
}

void ExecSeries::drain(overlay::Network& network, Nanos now) {
  char piece[16384];
  while (output_) {
    const ssize_t got = ::read(output_.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return unwatch_output(network);
    text_.append(piece, static_cast<std::size_t>(got));
    if (text_.size() <= kMaxOutput) continue;
    kill_group("printed more than " + std::to_string(kMaxOutput >> 10) + " KiB", now);
    return unwatch_output(network);
  }
}

void ExecSeries::kill_group(const std::string& why, Nanos now) {
  if (!killed_) {
    killed_why_ = why;
    look_at_ = now + kLongestDeath;
  }
  killed_ = true;
  ::kill(-child_, SIGKILL);
}

// The child has ended but was not waited for, so no other process or group has its number yet.
void ExecSeries::collect(overlay::Network& network, Nanos now) {
  drain(network, now);
  ::kill(-child_, SIGKILL);
  int status = 0;
  if (!reap(status)) return;
  if (output_) unwatch_output(network);
  network.unwatch(pidfd_.get());
  pidfd_.reset();
  if (killed_) return fail(killed_why_, now);
  if (WIFSIGNALED(status)) return fail(std::string("ended by ") + strsignal(WTERMSIG(status)), now);
  const int code = WEXITSTATUS(status);
  if (code == kNotStarted) return fail("cannot be run (code 127)", now);
  if (code != 0) return fail("ended with code " + std::to_string(code), now);
  const MetricText text = parse_metrics(std::exchange(text_, {}));
  if (text.lines.empty() && text.bad_lines != 0) {
    return fail("printed no number with a name, but '" + text.first_bad + "'", now);
  }
  if (text.lines.empty()) return fail("printed nothing", now);
  succeed(text, now);
}

// The time of a sample is the start of the program.
void ExecSeries::succeed(const MetricText& text, Nanos) {
  std::vector<double> numbers(layout_.rows.size(), kUnknown);
  std::vector<double> counted(layout_.rows.size(), kUnknown);
  std::size_t dropped = text.dropped;
  for (const MetricLine& line : text.lines) {
    auto it = place_.find(line.name);
    if (it == place_.end()) {
      if (place_.size() >= kMaxMetrics) {
        ++dropped;
        continue;
      }
      it = place_.emplace(line.name, layout_.rows.size()).first;
      const std::string unit = line.is_counter ? line.unit + "/s" : line.unit;
      layout_.rows.push_back({spec_.name + "." + line.name,
                              line.is_counter && line.unit.empty() ? "1/s" : unit, 1,
                              line.is_counter});
      numbers.push_back(kUnknown);
      counted.push_back(kUnknown);
    }
    const std::size_t at = it->second;
    if (layout_.rows[at].per_second) {
      counted[at] = line.number;
      const double growth = at < before_.size() ? line.number - before_[at] : kUnknown;
      numbers[at] = growth >= 0 ? growth : kUnknown;
    } else {
      numbers[at] = line.number;
    }
  }
  if (dropped != 0 && !std::exchange(told_dropped_, true)) {
    log(Level::kWarn, "a service prints too many metrics; the rest is left out",
        {{"service", spec_.name}, {"taken", kMaxMetrics}});
  }
  if (text.bad_lines != 0 && told_ != kPassesOver) {
    log(Level::kWarn, "a service prints lines that are not metrics; they are skipped",
        {{"service", spec_.name}, {"line", text.first_bad}});
  }
  told_ = text.bad_lines != 0 ? kPassesOver : "";
  before_ = std::move(counted);
  Reading reading;
  reading.at_ns = started_;
  reading.span_ns = last_ns_ == 0 ? 0 : started_ - last_ns_;
  reading.entries.push_back({kLeafLane, std::move(numbers)});
  last_ns_ = started_;
  pause_ = 0;
  reading_ = std::move(reading);
}

void ExecSeries::fail(const std::string& why, Nanos now) {
  text_.clear();
  pause_ = std::clamp(2 * pause_, spec_.interval_ns, std::max(spec_.interval_ns, kLongestPause));
  not_before_ = now + pause_;
  if (told_ == kind_of(why)) return;
  told_ = kind_of(why);
  log(Level::kWarn, "a service's program failed; it is tried again",
      {{"service", spec_.name}, {"program", spec_.program}, {"why", why}});
}

void ExecSeries::look(Nanos now) {
  if (!killed_) {
    kill_group("took longer than " + std::to_string(spec_.timeout_ns / kMillisecond) + " ms", now);
  } else if (!std::exchange(told_stuck_, true)) {
    log(Level::kWarn,
        "a service's program was killed and does not end; it is not started again until then",
        {{"service", spec_.name}, {"pid", child_}, {"why", killed_why_}});
  }
}

std::optional<Reading> ExecSeries::take(overlay::Network&, Nanos now) {
  if (child_ > 0 && now >= look_at_) look(now);
  return std::exchange(reading_, std::nullopt);
}

void ExecSeries::stop(overlay::Network& network) {
  if (child_ <= 0) return;
  if (output_) unwatch_output(network);
  if (pidfd_) network.unwatch(pidfd_.get());
  end_child();
  pidfd_.reset();
}

}  // namespace xylem::backend
