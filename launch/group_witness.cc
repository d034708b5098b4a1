#include "launch/group_witness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace xylem::launch {
namespace {

constexpr timespec kGrace{0, 100'000'000};
constexpr int kChannelFd = 3;

// The code of the witness. It reads the number of a signal and answers 1 if that signal has come,
// else 0. A signal stays pending until it is asked for.
[[noreturn]] void be_witness(int channel) {
  ::prctl(PR_SET_NAME, "xylem-witness");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // A process that waits for the end of our standard streams must not wait for the witness.
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, standard);
  ::dup2(channel, kChannelFd);
  ::close_range(kChannelFd + 1, ~0U, 0);
  for (unsigned char number = 0; ::read(kChannelFd, &number, 1) == 1;) {
    sigset_t asked;
    ::sigemptyset(&asked);
    ::sigaddset(&asked, number);
    const unsigned char answer = ::sigtimedwait(&asked, nullptr, &kGrace) == number ? 1 : 0;
    if (::send(kChannelFd, &answer, 1, MSG_NOSIGNAL) != 1) break;
  }
  ::_exit(0);
}

}  // namespace

GroupWitness::GroupWitness() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  // A witness that is stopped does not answer.
  const timeval max_wait{1, 0};
  ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &max_wait, sizeof max_wait);
  pid_ = ::fork();
  if (pid_ == 0) be_witness(theirs.get());
  if (pid_ > 0) channel_ = std::move(ours);
}

GroupWitness::~GroupWitness() {
  channel_.reset();  // Tells the witness to end; a stopped witness does not react.
  if (pid_ > 0) ::kill(pid_, SIGKILL);
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::optional<bool> GroupWitness::reached_group(int signal) {
  const auto number = static_cast<unsigned char>(signal);
  unsigned char answer = 0;
  if (!channel_ || ::send(channel_.get(), &number, 1, MSG_NOSIGNAL) != 1 ||
      ::read(channel_.get(), &answer, 1) != 1) {
    channel_.reset();
    return std::nullopt;
  }
  return answer == 1;
}

}  // namespace xylem::launch
