#include "backend/leaf/process_starter.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/argv.h"
#include "base/pipe.h"

namespace xylem::backend {
namespace {

constexpr int kKeyFd = 4;
constexpr int kErrorFd = 5;
constexpr int kNotStarted = 127;
constexpr Nanos kMaxSeconds = 86400;  // xylem-commproc takes no more.

Result<Pipe> make_own_pipe() {
  auto pipe = make_pipe();
  if (pipe) return pipe;
  return unexpected(pipe.error().code,
                    "cannot start a communication process: " + pipe.error().message);
}

// Runs between fork and exec. Descriptors are first moved out of each other's way.
[[noreturn]] void exec_program(const char* program, char* const* arguments, int key, int error,
                               int last_words) {
  ::setsid();
  const int key_copy = ::fcntl(key, F_DUPFD, 10);
  const int error_copy = ::fcntl(error, F_DUPFD, 10);
  const int words_copy = ::fcntl(last_words, F_DUPFD, 10);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, 0);
  ::dup2(nowhere, 1);
  ::dup2(words_copy, 2);
  ::dup2(key_copy, kKeyFd);
  ::dup3(error_copy, kErrorFd, O_CLOEXEC);
  ::syscall(SYS_close_range, 3u, 3u, 0u);
  ::syscall(SYS_close_range, unsigned{kErrorFd} + 1, ~0u, 0u);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  ::execv(program, arguments);
  const int why = errno;
  [[maybe_unused]] const ssize_t told = ::write(kErrorFd, &why, sizeof why);
  ::_exit(kNotStarted);
}

std::vector<std::string> command_line(const CommProcessSetting& setting, NodeId node,
                                      std::uint32_t level) {
  const std::string number = std::to_string(raw(node));
  return {setting.program,
          "--run",
          setting.run,
          "--node",
          number,
          "--level",
          std::to_string(level),
          "--front-end",
          setting.front_end,
          "--key-fd",
          std::to_string(kKeyFd),
          "--host",
          setting.host,
          "--host-key",
          setting.host_key,
          "--socket",
          setting.folder.empty() ? "" : setting.folder + "/commproc-" + number,
          "--tls",
          setting.tls ? "on" : "off",
          "--log-level",
          setting.log_level,
          "--orphan-limit",
          std::to_string(std::clamp<Nanos>(setting.orphan_limit / kSecond, 1, kMaxSeconds))};
}

// Returns the last line in the pipe. The child has ended, so there are at most 64 KiB.
std::string last_line(const UniqueFd& pipe) {
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(pipe.get(), piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));
    if (text.size() > sizeof piece) text.erase(0, text.size() - sizeof piece);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

CommProcessStarter::CommProcessStarter(CommProcessSetting setting) : setting_(std::move(setting)) {}

Result<StartedProcess> CommProcessStarter::start(NodeId node, std::uint32_t level) {
  std::vector<std::string> words = command_line(setting_, node, level);
  const std::vector<char*> arguments = argv_of(words);

  auto key = make_own_pipe();
  if (!key) return unexpected(std::move(key.error()));
  auto error = make_own_pipe();
  if (!error) return unexpected(std::move(error.error()));
  auto last_words = make_own_pipe();
  if (!last_words) return unexpected(std::move(last_words.error()));
  ::fcntl(last_words->read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(last_words->write.get(), F_SETFL, O_NONBLOCK);
  const std::string hex = net::to_hex(setting_.key);  // The key fits into the pipe's buffer.
  if (::write(key->write.get(), hex.data(), hex.size()) != static_cast<ssize_t>(hex.size())) {
    return unexpected(Code::kInternal, "cannot hand the key to a communication process");
  }
  key->write.reset();

  const pid_t child = ::fork();
  if (child < 0) {
    return unexpected(Code::kExhausted,
                      std::string("cannot start a communication process: ") + std::strerror(errno));
  }
  if (child == 0) {
    exec_program(words[0].c_str(), arguments.data(), key->read.get(), error->write.get(),
                 last_words->write.get());
  }
  error->write.reset();
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(error->read.get(), &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof why)) {
    ::waitpid(child, nullptr, 0);
    return unexpected(Code::kNotFound, "cannot start " + setting_.program + ": " +
                                           std::strerror(why) + "; is the installation whole?");
  }
  StartedProcess started;
  started.pid = child;
  errors_[child] = std::move(last_words->read);
  started.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  return started;
}

std::string CommProcessStarter::collect(int pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return {};
  const auto said = errors_.extract(pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status)) {
    const std::string why = said ? last_line(said.mapped()) : std::string();
    return "the communication process ended with code " + std::to_string(WEXITSTATUS(status)) +
           (why.empty() ? "" : ": " + why);
  }
  return std::string("the communication process was killed: ") + strsignal(WTERMSIG(status));
}

}  // namespace xylem::backend
