#pragma once

// Prints a line on the job's standard error. The capture library has no other output for people.

namespace xylem::capture {

/// Writes "xylem: " and the parts, in one system call, as one line. Null parts are skipped. A
/// longer line is cut at 512 bytes. A process calls it at most a few times in its life, and never
/// once per MPI call.
void say(const char* first, const char* second = nullptr, const char* third = nullptr,
         const char* fourth = nullptr) noexcept;

}  // namespace xylem::capture
