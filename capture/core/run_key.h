#pragma once

// How the run's key is shared within one process, between the capture library and a leaf of the
// same process (backend/leaf.h).
//
// Both need it, and neither may leave it in the environment, where every child would find it. So
// the capture library, where it is preloaded, takes it out for both, whoever comes first, and keeps
// it: in one page of memory of its own, which children of fork() find empty and core dumps leave
// out.

namespace xylem::capture {

constexpr unsigned kKeyDigits = 64;  ///< Hexadecimal.

/// What libxylem-capture.so exports under the name kRunKeyFunction, beside MPI's functions. Look it
/// up with dlsym(RTLD_DEFAULT, ...): it is missing in processes without the library, statically
/// linked ones among them, which then take the key out of the environment themselves.
///
/// Takes the key out of the environment when it is there, and writes into `digits` the one that was
/// there last, with a zero behind it. Returns 1; 0, and writes nothing, when there was none that
/// has kKeyDigits digits. Does not depend on whether capture is on, or on MPI. Any thread, but as
/// with setenv() nobody else may look at the environment meanwhile.
using RunKeyFunction = int (*)(char* digits);

/// The number at its end changes with the meaning.
constexpr const char* kRunKeyFunction = "xylem_run_key_1";

}  // namespace xylem::capture
