#pragma once

// What programs of xylem do for themselves when they start, and for a program that they start in
// place of whoever typed it.

namespace xylem {

/// A file or memory object that reaches the limit of sizes (`ulimit -f`) fails with EFBIG, which
/// whoever writes can handle, instead of ending this process by SIGXFSZ. Children inherit it.
/// Returns whether the signal was ignored before.
bool survive_size_limit();

/// Opens /dev/null in place of standard streams that are closed. Otherwise the next file that is
/// opened becomes one, and what is said goes into it. To be called first of all.
void open_standard_streams();

/// For a process of xylem alone, never for one that a job descends from: survive_size_limit(), and
/// the soft limits of file sizes, descriptors and address space are raised as far as is allowed.
void stretch_limits();

}  // namespace xylem
