#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace xylem {
namespace {

// Sequences for the alternate screen, without a cursor and without wrapping at the edge; and for
// the way back.
constexpr const char* kOtherScreen = "\x1b[?1049h";
constexpr const char* kModes = "\x1b[?25l\x1b[?7l";
constexpr const char* kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr Nanos kLongestLeave = kSecond;  ///< Timeout for restoring the screen.

Error no_terminal(const char* what) {
  return Error{Code::kUnavailable, std::string("the terminal ") + what + ": " +
                                       std::strerror(errno) + "; --once needs none"};
}

sigset_t our_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) {
    ::sigaddset(&signals, number);
  }
  return signals;
}

}  // namespace

Result<Terminal> Terminal::take() {
  UniqueFd device(::open("/proc/self/fd/1", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // After su, the terminal belongs to another user and cannot be opened again. Then its descriptor
  // is copied, and a stopped terminal blocks this process too.
  if (device.get() < 0) device = UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  termios before{};
  if (device.get() < 0 || ::tcgetattr(device.get(), &before) != 0) {
    return unexpected(no_terminal("cannot be used"));
  }
  const sigset_t signals = our_signals();
  sigset_t mask_before;
  ::sigprocmask(SIG_BLOCK, &signals, &mask_before);
  UniqueFd read(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (read.get() < 0) {
    const Error failure = no_terminal("needs signals");
    ::sigprocmask(SIG_SETMASK, &mask_before, nullptr);
    return unexpected(failure);
  }
  Terminal terminal(std::move(device), std::move(read), before, mask_before);
  terminal.pending_ = kOtherScreen;
  terminal.enter();
  return terminal;
}

Terminal::Terminal(UniqueFd device, UniqueFd signals, const termios& before, const sigset_t& mask)
    : device_(std::move(device)),
      signals_(std::move(signals)),
      before_(before),
      mask_before_(mask) {}

Terminal::Terminal(Terminal&& other) noexcept = default;

Terminal::~Terminal() {
  if (device_.get() < 0) return;  // Moved from.
  leave();
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Terminal::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(device_.get(), TCSANOW, &raw);
  pending_ += kModes;
  write_pending();
}

void Terminal::leave() {
  // The last screen may end in the middle of a sequence. ESC [ 0 m ends each sequence.
  pending_ = kLeave;
  const Nanos deadline = deadline_in(kLongestLeave);
  for (write_pending(); !pending_.empty() && monotonic_now() < deadline; write_pending()) {
    pollfd way{device_.get(), POLLOUT, 0};
    ::poll(&way, 1, 20);
  }
  ::tcsetattr(device_.get(), TCSANOW, &before_);
}

void Terminal::write_pending() {
  while (!pending_.empty()) {
    const ssize_t wrote = ::write(device_.get(), pending_.data(), pending_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // Try later. wait() notices if the terminal is gone.
    pending_.erase(0, static_cast<std::size_t>(wrote));
  }
}

Terminal::Size Terminal::size() const {
  winsize found{};
  if (::ioctl(device_.get(), TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return {};
  }
  return {found.ws_col, found.ws_row};
}

void Terminal::show(const std::vector<Row>& rows) {
  if (!pending_.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // A row that reaches the edge leaves the cursor on its last cell, so nothing is erased after
    // it.
    pending_ += "\x1b[" + std::to_string(i + 1) + ";1H" + rows[i].text +
                (rows[i].reaches_edge ? "" : "\x1b[K");
  }
  pending_ += "\x1b[0m";
  if (!rows.empty() && !rows.back().reaches_edge) pending_ += "\x1b[J";
  write_pending();
}

Terminal::Event Terminal::wait(Nanos timeout) {
  constexpr Nanos kLongest = 3600 * kSecond;
  std::array<pollfd, 2> ready = {
      pollfd{device_.get(), static_cast<short>(pending_.empty() ? POLLIN : POLLIN | POLLOUT), 0},
      pollfd{signals_.get(), POLLIN, 0}};
  const Nanos bounded = std::clamp<Nanos>(timeout, 0, kLongest);
  ::poll(ready.data(), ready.size(), static_cast<int>((bounded + kMillisecond - 1) / kMillisecond));
  Event event;
  if ((ready[1].revents & POLLIN) != 0) read_signal(event);
  if ((ready[0].revents & POLLOUT) != 0) write_pending();
  if ((ready[0].revents & POLLIN) != 0) {
    std::array<char, 256> bytes{};
    const ssize_t got = ::read(device_.get(), bytes.data(), bytes.size());
    if (got > 0) event.keys.assign(bytes.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) event.has_ended = true;
  } else if ((ready[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) {
    event.has_ended = true;
  }
  return event;
}

void Terminal::read_signal(Event& event) {
  signalfd_siginfo told{};
  bool was_stopped = false;  // The SIGCONT after the stop is read later.
  while (::read(signals_.get(), &told, sizeof told) == static_cast<ssize_t>(sizeof told)) {
    switch (told.ssi_signo) {
      case SIGTSTP:
        stop_here();
        was_stopped = true;
        event.is_changed = true;
        break;
      case SIGCONT:  // After a SIGSTOP that nobody saw: the shell has set the terminal since.
        if (!was_stopped) enter();
        event.is_changed = true;
        break;
      case SIGWINCH:
        event.is_changed = true;
        break;
      default:
        event.has_ended = true;
    }
  }
}

// Stops this process with the default action of SIGTSTP, so that the shell notices. Without a shell
// that could continue the process, the kernel does not stop it.
void Terminal::stop_here() {
  leave();
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // Stops here, and continues here.
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  pending_ = kOtherScreen;
  enter();
}

}  // namespace xylem
