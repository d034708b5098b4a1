#pragma once

// The first rank of a host starts the host's agent; every rank gives the agent its segment.
//
// All in the run's folder, /dev/shm/xylem-UID-RUN[-HOST], mode 0700, under its lock:
//
//   lock -> connect to the socket "agent"
//             nobody there: bind it, start xylem-backend with the listening socket, connect
//        -> send Registration with the segment's descriptor, or why there is none; close
//
// The agent is a grandchild that the application does not notice: its parent is a child made by
// clone() with no exit signal (no SIGCHLD, not seen by wait()). It has none of the application's
// descriptors, affinity or environment. It leaves to a session of its own at once; its first
// process is waited for here. The key goes through a pipe, and out of the rank's environment.
//
// Every wait has a deadline. No descriptor stays open in the application.

namespace xylem::capture {

/// Room for a sentence that says what went wrong.
constexpr unsigned kReasonBytes = 256;

/// Gives `segment_fd` to the host's agent, starting it when there is none. Without a segment
/// (`unwatched` says why, else it is empty) the agent is told that this process cannot be watched.
/// False when that failed; `reason` says why, to follow "capture is off: ".
bool register_with_agent(int segment_fd, const char* unwatched,
                         char (&reason)[kReasonBytes]) noexcept;

}  // namespace xylem::capture
