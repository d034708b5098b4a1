#pragma once

// The front end's side of the control channel. launch/setup.h documents the protocol.

#include <string>
#include <vector>

namespace xylem::frontend {

/// Reads the commands of the process that has started this one, and tells it that the run's end is
/// making progress. Works on a non-blocking socket, so no call waits. `fd` is borrowed; -1: there
/// is no channel. Not thread-safe.
class ControlChannel {
 public:
  /// The run is to end.
  struct Command {
    bool abandons = false;  ///< The job was not started.
    int exit_code = -1;     ///< The job's; -1 if unknown.
  };

  explicit ControlChannel(int fd) : fd_(fd) {}

  int fd() const { return fd_; }

  /// Call it when the descriptor is readable. Returns the commands of complete lines, in their
  /// order, and ignores lines that it does not know. When the peer has closed the channel or died,
  /// the last command is to end with an unknown exit code.
  std::vector<Command> read();
  /// True once read() has found that the peer has closed the channel.
  bool is_closed() const { return is_closed_; }

  /// Sends `alive`. If the peer does not read, the line is lost.
  void send_alive();

 private:
  int fd_;
  std::string text_;  // Received part of an incomplete line.
  bool is_closed_ = false;
};

}  // namespace xylem::frontend
