#pragma once

// Takes the terminal of this process for a full-screen program, and restores it.
//
//   auto terminal = Terminal::take();
//   terminal->show(lines);
//   for (;;) { const Terminal::Event event = terminal->wait(kSecond); ... }

#include <signal.h>
#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem {

/// Passes keys through without echo and shows the alternate screen. The destructor restores the
/// terminal, also when SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the program, which receives it as an
/// event. On SIGTSTP (ctrl-Z) it restores the terminal and takes it again when continued. Signals
/// are read from a descriptor, without signal handlers. One at a time, in a process with one
/// thread.
class Terminal {
 public:
  /// Takes the terminal that standard output is. Fails with kUnavailable when it is none, or cannot
  /// be set.
  static Result<Terminal> take();
  Terminal(Terminal&& other) noexcept;
  ~Terminal();

  struct Size {
    std::size_t width = 80, height = 24;
  };
  /// As it is now; 80 x 24 where the terminal does not tell.
  Size size() const;

  /// Shows so many lines from the top, each with its escapes and not wider than the screen; `fill`
  /// says of each whether it reaches the right edge. What the terminal does not take at once (it is
  /// stopped by ctrl-S, or far away) is written in wait(); while it is, newer screens are left out.
  struct Row {
    std::string text;
    bool reaches_edge = false;
  };
  void show(const std::vector<Row>& rows);

  struct Event {
    std::string keys;         ///< As the terminal sends them.
    bool is_changed = false;  ///< Its size, or we were away: the screen must be shown anew.
    bool has_ended = false;   ///< By a signal, or there is no terminal any more.
  };
  /// Waits for something to happen, `timeout` at most; an event in which nothing is set: it was in
  /// vain.
  Event wait(Nanos timeout);

 private:
  Terminal(UniqueFd device, UniqueFd signals, const termios& before, const sigset_t& mask);
  void enter();
  void leave();
  void write_pending();
  void read_signal(Event& event);
  void stop_here();

  UniqueFd device_;  ///< Opened anew, so that it can be non-blocking without others noticing.
  UniqueFd signals_;
  termios before_{};
  sigset_t mask_before_{};
  std::string pending_;  ///< Written in part.
};

}  // namespace xylem
