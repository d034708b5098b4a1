#pragma once

// If no agent runs on a host yet, the first rank there starts it. Every rank gives its segment to
// the agent.
//
// Both happen in the run's folder, /dev/shm/xylem-UID-RUN[-HOST] (mode 0700), under the folder's
// lock:
//
//   lock -> connect to the socket "agent"
//             if no agent listens: bind the socket, start xylem-backend with it, connect
//        -> send Registration with the segment's descriptor, or why there is no segment
//        -> close
//
// The agent is a grandchild that the application does not notice. The agent's parent is a child of
// the application, made by clone() without an exit signal. So the application gets no SIGCHLD, and
// wait() does not return this child. The agent does not inherit the application's descriptors or
// affinity, and it gets only a few variables (agent_process_internal.h). It moves to a new session
// immediately. This library waits until the agent's first process has ended. The agent gets the key
// through a pipe; the key is removed from the rank's environment.
//
// Every wait has a deadline. No descriptor stays open in the application.

namespace xylem::capture {

/// Maximum size of the sentence that says what failed, with the terminating zero.
constexpr unsigned kReasonBytes = 256;

/// Gives `segment_fd` to the host's agent, and starts the agent if there is none. If there is a
/// segment, `unwatched` must be empty. Without a segment, `unwatched` says why, and the agent is
/// told that this process cannot be watched. Returns false on failure; `reason` then says why, in
/// words that can follow a colon.
bool register_with_agent(int segment_fd, const char* unwatched,
                         char (&reason)[kReasonBytes]) noexcept;

}  // namespace xylem::capture
