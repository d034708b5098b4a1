#pragma once

// The exit codes of all verbs. The table EXIT STATUS of xylem(1) has the same codes; a test
// compares the two. `xylem run` and `xylem exec` return the code of their command, which may be any
// number.

namespace xylem {

/// The verb has done what it was asked for.
inline constexpr int kExitSuccess = 0;
/// The verb has failed: a file cannot be read, a query is wrong, an agent was lost, and so on. One
/// sentence on standard error says why.
inline constexpr int kExitFailure = 1;
/// The command line, the environment or the configuration is wrong, or the run could not begin.
/// Nothing was started, and nothing was changed.
inline constexpr int kExitUsage = 2;
/// The command exists but may not be executed, as in a shell.
inline constexpr int kExitNotExecutable = 126;
/// The command was not found, as in a shell.
inline constexpr int kExitNotFound = 127;
/// kExitSignal + N: signal N has ended the command, or the verb before its work began.
inline constexpr int kExitSignal = 128;

}  // namespace xylem
