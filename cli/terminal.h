#pragma once

// Prepares the terminal of this process for a full-screen program, and restores it at the end.
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

/// Switches off echo and line editing, and shows the alternate screen. The destructor restores the
/// terminal.
///
/// SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end the process: wait() reports them, and the program
/// should end by itself. On SIGTSTP (ctrl-Z) this class restores the terminal and stops the
/// process. When the process continues, the class takes the terminal again. It reads signals from a
/// descriptor, without signal handlers. There may be one Terminal at a time, in a process with one
/// thread.
class Terminal {
 public:
  /// Takes the terminal of standard output. Fails with kUnavailable when standard output is not a
  /// terminal, or when signals cannot be read.
  static Result<Terminal> take();
  Terminal(Terminal&& other) noexcept;
  ~Terminal();

  struct Size {
    std::size_t width = 80, height = 24;
  };
  /// The current size; 80 x 24 if the terminal does not report its size.
  Size size() const;

  /// A line of the screen.
  struct Row {
    std::string text;           ///< The text with its escape sequences. It must not be wider than
                                ///< the screen.
    bool reaches_edge = false;  ///< The text fills the line up to the right edge.
  };
  /// Shows these lines from the top of the screen. If the terminal is slow (stopped by ctrl-S, or
  /// far away), wait() writes the rest. A call of show() has no effect until everything is written.
  void show(const std::vector<Row>& rows);

  struct Event {
    std::string keys;         ///< Bytes of keys, for viz::KeyReader.
    bool is_changed = false;  ///< Show the screen again: its size changed, or we were stopped.
    bool has_ended = false;   ///< A signal has asked the program to end, or the terminal is gone.
  };
  /// Waits for an event. After `timeout` it returns an empty event.
  Event wait(Nanos timeout);

 private:
  Terminal(UniqueFd device, UniqueFd signals, const termios& before, const sigset_t& mask);
  void enter();
  void leave();
  void write_pending();
  void read_signal(Event& event);
  void stop_here();

  UniqueFd device_;  ///< The terminal, opened a second time. So O_NONBLOCK does not affect the
                     ///< shell's descriptor.
  UniqueFd signals_;
  termios before_{};
  sigset_t mask_before_{};
  std::string pending_;  ///< Output that is not written yet.
};

}  // namespace xylem
