#pragma once

// Process setup for xylem's own programs and for programs that they start on behalf of the user.
// No function here fails: if the system refuses a change, the process stays as it is.

namespace xylem {

/// Ignores SIGXFSZ. A write beyond the file size limit (`ulimit -f`) then fails with EFBIG and does
/// not kill this process. Children inherit this setting. Returns whether the signal was already
/// ignored.
bool survive_size_limit();

/// Opens /dev/null in place of closed standard streams. Otherwise the next opened file would become
/// a standard stream, and this file would get the program's output. Call it before anything else.
void open_standard_streams();

/// Calls survive_size_limit() and raises the soft limits of file size, descriptors and address
/// space to the hard limits. Call it only in xylem's own processes, never in an ancestor of the
/// job.
void stretch_limits();

/// Lets the system run this process on every processor that it may use. A launcher may have bound
/// the process to one processor of its job. Concerns the calling thread and the threads that it
/// starts later.
void use_all_processors();

}  // namespace xylem
