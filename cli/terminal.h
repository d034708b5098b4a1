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
  /// Takes the terminal of standard output. Fails with kUnavailable when it is not a terminal, or
  /// cannot be set.
  static Result<Terminal> take();
  Terminal(Terminal&& other) noexcept;
  ~Terminal();

  struct Size {
    std::size_t width = 80, height = 24;
  };
  /// The present size; 80 x 24 if the terminal does not report it.
  Size size() const;

  /// Shows these lines from the top, each with its escapes and not wider than the screen; `fill`
  /// says for each whether it reaches the right edge. If the terminal is slow (stopped by ctrl-S,
  /// or far away), wait() writes the rest; until then newer screens are skipped.
  struct Row {
    std::string text;
    bool reaches_edge = false;
  };
  void show(const std::vector<Row>& rows);

  struct Event {
    std::string keys;         ///< As the terminal sends them.
    bool is_changed = false;  ///< New size, or we were stopped: show the screen again.
    bool has_ended = false;   ///< A signal ended it, or the terminal is gone.
  };
  /// Waits for an event, `timeout` at most. After a timeout the event is
  /// empty.
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
