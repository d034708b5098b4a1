#pragma once

// The front end's side of the control channel. launch/setup.h documents the protocol.

#include <string>
#include <vector>

namespace xylem::frontend {

/// Reads the commands of the process that has started this front end. Sends signs of life to that
/// process while the run is ending. Works on a non-blocking socket, so no call waits. `fd` is
/// borrowed; -1 means that there is no channel. Not thread-safe.
class ControlChannel {
 public:
  /// A command to end the run.
  struct Command {
    bool abandons = false;  ///< The job was not started.
    int exit_code = -1;     ///< Exit code of the job; -1 if unknown.
  };

  explicit ControlChannel(int fd) : fd_(fd) {}

  int fd() const { return fd_; }

  /// Call it when the descriptor is readable. Returns the commands of complete lines, in the order
  /// of the lines. Ignores unknown lines. If the peer has closed the channel or died, returns one
  /// command with an unknown exit code.
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
