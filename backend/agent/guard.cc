#include "backend/agent/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/agent/channel_internal.h"
#include "backend/agent/registration_listener.h"
#include "backend/agent/run_folder.h"
#include "backend/leaf/mapping.h"
#include "base/log.h"

namespace xylem::backend {
namespace {

constexpr Nanos kMinute = 60 * kSecond;
constexpr int kGivenUp = 3;
constexpr int kSendRetryMs = 20;

sigset_t guarded_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

class Guard {
 public:
  Guard(const GuardOptions& options, UniqueFd listener, const WorkerMain& worker,
        std::vector<HeldProcess> present)
      : options_(options),
        worker_main_(worker),
        folder_(options.folder),
        registrations_(std::move(listener)) {
    for (HeldProcess& process : present) {
      process.pidfd.reset();
      held_[Lane{next_lane_++}] = std::move(process);
    }
  }

  Result<int> run();

 private:
  Result<void> start_worker();
  [[noreturn]] void be_worker(UniqueFd channel);
  std::optional<int> collect_worker();
  bool may_restart();
  void on_signal();
  void accept();
  void from_worker();
  void tell(const HeldProcess& held, Lane lane);
  void tell(ChannelKind kind, Lane lane);
  void flush();
  void answer_drain();
  void keep_spare();

  const GuardOptions& options_;
  const WorkerMain& worker_main_;
  RunFolder folder_;
  RegistrationListener registrations_;
  UniqueFd journal_;
  ProgramGroups programs_;
  UniqueFd signals_;
  UniqueFd channel_;
  UniqueFd spare_;  // Closed when another descriptor is needed.
  pid_t worker_ = -1;
  std::map<Lane, HeldProcess> held_;
  std::uint32_t next_lane_ = 1;
  std::deque<ChannelMessage> queue_;  // To the worker; descriptors are looked up in held_.
  // The worker's end of the channel is closed. Our end stays open until there is another worker.
  bool worker_has_left_ = false;
  bool can_send_ = true;  // False: try again later, even if the channel is writable.
  bool drain_is_asked_ = false;
  std::vector<Nanos> starts_;
};

Result<int> Guard::run() {
  ::prctl(PR_SET_NAME, "xylem-guard");
  for (const int ignored : {SIGINT, SIGHUP, SIGPIPE}) std::signal(ignored, SIG_IGN);
  const sigset_t set = guarded_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  auto journal = make_memory("xylem-journal", options_.journal_bytes);
  if (!journal) return unexpected(std::move(journal.error()));
  journal_ = *std::move(journal);
  keep_spare();
  if (auto started = start_worker(); !started) return unexpected(std::move(started.error()));

  for (;;) {
    const bool waits_to_send = !queue_.empty() && can_send_;
    const short worker_events = static_cast<short>(POLLIN | (waits_to_send ? POLLOUT : 0));
    pollfd fds[] = {{signals_.get(), POLLIN, 0},
                    {registrations_.fd(), POLLIN, 0},
                    {worker_has_left_ ? -1 : channel_.get(), worker_events, 0}};
    if (::poll(fds, std::size(fds), can_send_ ? -1 : kSendRetryMs) < 0) continue;
    if (fds[1].revents != 0) accept();
    if ((fds[2].revents & (POLLIN | POLLHUP)) != 0) from_worker();
    answer_drain();
    flush();
    if (fds[0].revents == 0) continue;
    on_signal();
    if (const auto code = collect_worker()) return *code;
  }
}

// A duplicate needs only a number in this process, so it works even if the host's file table is
// full.
void Guard::keep_spare() {
  if (!spare_) spare_.reset(::fcntl(signals_.get(), F_DUPFD_CLOEXEC, 0));
}

Result<void> Guard::start_worker() {
  // Makes room for the two ends of the new channel.
  channel_.reset();
  spare_.reset();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return unexpected(Code::kExhausted,
                      std::string("no socket for the agent's worker: ") + std::strerror(errno));
  }
  channel_.reset(ends[0]);
  worker_has_left_ = false;
  UniqueFd far_end(ends[1]);
  worker_ = ::fork();
  if (worker_ < 0) {
    return unexpected(Code::kExhausted,
                      std::string("cannot start the agent's worker: ") + std::strerror(errno));
  }
  if (worker_ == 0) be_worker(std::move(far_end));
  far_end.reset();
  keep_spare();
  starts_.push_back(monotonic_now());
  queue_.clear();
  can_send_ = true;
  drain_is_asked_ = false;
  for (const auto& [lane, held] : held_) tell(held, lane);
  tell(ChannelKind::kReady, Lane{next_lane_});
  return {};
}

void Guard::be_worker(UniqueFd channel) {
  ::prctl(PR_SET_NAME, "xylem-backend");
  WorkerInheritance inheritance;
  inheritance.channel = std::move(channel);
  inheritance.listener = registrations_.close();
  inheritance.journal = std::move(journal_);
  inheritance.programs = &programs_;
  signals_.reset();
  channel_.reset();
  held_.clear();
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::sigprocmask(SIG_UNBLOCK, &children, nullptr);
  ::_exit(worker_main_(std::move(inheritance)));
}

void Guard::on_signal() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    if (signal.ssi_signo == SIGTERM) ::kill(worker_, SIGTERM);
  }
}

// Returns the guard's exit code if no other worker is started.
std::optional<int> Guard::collect_worker() {
  int status = 0;
  if (::waitpid(worker_, &status, WNOHANG) != worker_) return std::nullopt;
  programs_.end_all();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  log(Level::kWarn, "worker died", {{"signal", WTERMSIG(status)}});
  if (may_restart()) {
    const auto started = start_worker();
    if (started) return std::nullopt;
    log(Level::kError, started.error().message);
  }
  log(Level::kError, "the agent's worker cannot be restarted; capture ends on this host",
      {{"processes", held_.size()}});
  folder_.remove();
  return kGivenUp;
}

bool Guard::may_restart() {
  const Nanos since = monotonic_now() - kMinute;
  std::erase_if(starts_, [since](Nanos start) { return start < since; });
  return starts_.size() <= static_cast<std::size_t>(std::max(0, options_.restarts_a_minute));
}

void Guard::accept() {
  while (auto process = registrations_.take()) {
    const Lane lane{next_lane_++};
    HeldProcess& held = held_[lane];
    held.pid = process->pid;
    held.start_time = process->start_time;
    held.segment = std::move(process->segment);
    held.row = std::move(process->row);
    tell(held, lane);
  }
}

void Guard::from_worker() {
  for (;;) {
    ChannelMessage message;
    std::vector<UniqueFd> descriptors;
    spare_.reset();  // The kernel drops a descriptor that comes when none is free.
    const ssize_t got = receive_with_fds(channel_.get(), &message, sizeof message, descriptors);
    // The new listener uses the spare's place. Closing the old listener makes room for a new spare.
    if (message.kind == ChannelKind::kListen && !descriptors.empty())
      registrations_.listen_at(std::move(descriptors.front()));
    keep_spare();
    if (got != static_cast<ssize_t>(sizeof message)) {
      // After this end, poll would report the channel again and again. SIGCHLD reports the rest.
      // The descriptor stays open to keep room for the next worker's channel.
      if (got == 0) worker_has_left_ = true;
      return;
    }
    if (message.kind == ChannelKind::kForget) {
      held_.erase(message.lane);
    } else if (message.kind == ChannelKind::kDrain) {
      accept();
      drain_is_asked_ = true;
    } else if (message.kind == ChannelKind::kListen && descriptors.empty()) {
      log(Level::kError, "no more processes can register: no descriptor is left for the listener");
    }
  }
}

// Not while registrations are paused: a process that waits for a free descriptor must not be
// missed.
void Guard::answer_drain() {
  if (!drain_is_asked_ || registrations_.is_paused()) return;
  drain_is_asked_ = false;
  tell(ChannelKind::kDrained, Lane{});
}

void Guard::tell(const HeldProcess& held, Lane lane) {
  queue_.push_back(message_of(lane, held.pid, held.start_time, held.row));
}

void Guard::tell(ChannelKind kind, Lane lane) { queue_.push_back({kind, lane}); }

void Guard::flush() {
  while (!queue_.empty() && !worker_has_left_) {
    const ChannelMessage& message = queue_.front();
    std::vector<int> descriptors;
    if (message.kind == ChannelKind::kProcess) {
      const auto held = held_.find(message.lane);
      if (held == held_.end()) {
        queue_.pop_front();
        continue;
      }
      if (held->second.segment) descriptors.push_back(held->second.segment.get());
    }
    if (!send_with_fds(channel_.get(), &message, sizeof message, descriptors)) {
      // A full channel becomes writable; one with too many descriptors under way is so already.
      can_send_ = errno == EAGAIN || errno == EINTR;
      return;
    }
    can_send_ = true;
    queue_.pop_front();
  }
}

}  // namespace

Result<int> run_guard(const GuardOptions& options, UniqueFd listener, const WorkerMain& worker,
                      std::vector<HeldProcess> present) {
  return Guard(options, std::move(listener), worker, std::move(present)).run();
}

Result<bool> daemonize() {
  const auto failed = [] {
    return unexpected(Code::kExhausted,
                      std::string("cannot leave the session: ") + std::strerror(errno));
  };
  const pid_t child = ::fork();
  if (child < 0) return failed();
  if (child != 0) {
    // Until this child has ended, the daemon could become a child of this process or of its parent.
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return false;
  }
  ::setsid();
  const pid_t grandchild = ::fork();
  if (grandchild < 0) return failed();
  if (grandchild != 0) ::_exit(0);
  return true;
}

}  // namespace xylem::backend
