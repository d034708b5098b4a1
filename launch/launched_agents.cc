#include "launch/launched_agents.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/pipe.h"

namespace xylem::launch {
namespace {

// A line of an agent: "ready HOST RANKS [NOTE]".
constexpr std::string_view kReady = "ready ";
// Other lines on standard output, for example login messages, are skipped.
constexpr std::size_t kLongestLine = 4096;
constexpr Nanos kLastSecond = 1 * kSecond;

std::string how_it_ended(int status, const std::string& last_line) {
  std::string how = WIFSIGNALED(status) ? "was ended by signal " + std::to_string(WTERMSIG(status))
                                        : "ended with code " + std::to_string(WEXITSTATUS(status));
  return last_line.empty() ? how : how + ": " + last_line;
}

}  // namespace

Result<LaunchedAgents> LaunchedAgents::start(const AgentLaunchOptions& options,
                                             const std::vector<AgentPlace>& places) {
  auto pipe = make_pipe();
  if (!pipe) return unexpected(std::move(pipe.error()));
  LaunchedAgents agents;
  agents.answers_ = std::move(pipe->read);
  ::fcntl(agents.answers_.get(), F_SETFL, O_NONBLOCK);
  const UniqueFd writing = std::move(pipe->write);
  for (const AgentPlace& place : places) {
    std::vector<std::string> command = {options.program, "--launched"};
    command.insert(command.end(), place.arguments.begin(), place.arguments.end());
    auto launched = launch_on(place.host, options.launcher, command, options.environment,
                              {.standard_output = writing.get(), .own_session = true});
    if (!launched) return unexpected(std::move(launched.error()));
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, launched->pid(), 0)));
    agents.running_.push_back({place.host, *std::move(launched), std::move(pidfd)});
    agents.expected_ += place.agents;
  }
  return agents;
}

LaunchedAgents::~LaunchedAgents() {
  signal_all(SIGKILL);
  for (const Running& each : running_) {
    if (!each.ended) ::waitpid(each.launched.pid(), nullptr, 0);
  }
}

void LaunchedAgents::handle_line(const std::string& line) {
  const auto begin = line.find(kReady);
  // With --label, srun puts the task's number before each line: "00: ".
  if (begin == std::string::npos || line.find_first_not_of(" 0123456789:") < begin) return;
  Ready ready;
  const std::string rest = line.substr(begin + kReady.size());
  const auto blank = rest.find(' ');
  ready.host = rest.substr(0, blank);
  if (blank != std::string::npos) {
    char* end = nullptr;
    ready.ranks = static_cast<unsigned>(std::strtoul(rest.c_str() + blank, &end, 10));
    if (*end == ' ') ready.note = end + 1;
  }
  ready_.push_back(std::move(ready));
}

void LaunchedAgents::listen() {
  std::array<char, 4096> piece;
  while (answers_) {
    const ssize_t size = ::read(answers_.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return answers_.reset();
    heard_.append(piece.data(), static_cast<std::size_t>(size));
    for (auto end = heard_.find('\n'); end != std::string::npos; end = heard_.find('\n')) {
      handle_line(heard_.substr(0, end));
      heard_.erase(0, end + 1);
    }
    if (heard_.size() > kLongestLine) heard_.clear();
  }
}

void LaunchedAgents::collect(Running& running) {
  int status = 0;
  if (running.ended || ::waitpid(running.launched.pid(), &status, WNOHANG) == 0) return;
  running.launched.hear();  // Its last words.
  running.ended = true;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  failures_.push_back(
      {running.host, how_it_ended(status, running.launched.last_line()), running.launched.by()});
}

void LaunchedAgents::hear() {
  listen();
  for (Running& each : running_) {
    each.launched.hear();
    collect(each);
  }
}

bool LaunchedAgents::all_ended() const {
  return std::all_of(running_.begin(), running_.end(), [](const Running& r) { return r.ended; });
}

void LaunchedAgents::poll_for(Nanos max_wait, bool for_answers) {
  std::vector<pollfd> fds;
  if (for_answers && answers_) fds.push_back({answers_.get(), POLLIN, 0});
  for (const Running& each : running_) {
    if (!each.ended && each.pidfd) fds.push_back({each.pidfd.get(), POLLIN, 0});
  }
  // The launchers' output is checked periodically. poll() would return at once, again and again,
  // after the end of the output.
  constexpr Nanos kPace = 50 * kMillisecond;
  const Nanos wait = std::clamp<Nanos>(max_wait, 0, kPace);
  ::poll(fds.data(), fds.size(), static_cast<int>(wait / kMillisecond));
}

bool LaunchedAgents::wait_until_ready(Nanos patience) {
  const Nanos deadline = monotonic_now() + patience;
  for (;;) {
    hear();
    const Nanos now = monotonic_now();
    if (ready_.size() >= expected_) return true;
    if (all_ended() || now >= deadline) return false;
    poll_for(deadline - now, true);
  }
}

bool LaunchedAgents::wait_until_ended(Nanos deadline) {
  for (;;) {
    hear();
    const Nanos now = monotonic_now();
    if (all_ended()) return true;
    if (now >= deadline) return false;
    poll_for(deadline - now, false);
  }
}

void LaunchedAgents::signal_all(int signal) {
  for (const Running& each : running_) {
    if (!each.ended) ::kill(each.launched.pid(), signal);
  }
}

bool LaunchedAgents::wait_for_end(Nanos patience) {
  if (wait_until_ended(monotonic_now() + patience)) return true;
  signal_all(SIGTERM);
  if (wait_until_ended(monotonic_now() + kLastSecond)) return false;
  signal_all(SIGKILL);
  wait_until_ended(monotonic_now() + kLastSecond);
  return false;
}

}  // namespace xylem::launch
