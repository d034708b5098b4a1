#pragma once

// Shares the run's key within one process, between the capture library and a leaf (backend/leaf.h).
//
// Both need the key. The key must not stay in the environment, because every child would find it
// there. So if the capture library is preloaded, it removes the key when capture starts or at the
// first request, and keeps the key for both. The key is on a separate page, which is empty in
// children of fork() and excluded from core dumps.

namespace xylem::capture {

constexpr unsigned kKeyDigits = 64;  ///< Number of hexadecimal digits.

/// libxylem-capture.so exports this function under the name kRunKeyFunction. Look it up with
/// dlsym(RTLD_DEFAULT, ...). In a process without the library, for example a statically linked one,
/// a leaf does not find the function. Then the leaf itself removes the key from the environment.
///
/// The function removes the key from the environment. It writes the last key that it found into
/// `digits`, with a terminating zero, and returns 1. If there was no key of kKeyDigits digits, it
/// writes nothing and returns 0. It works without MPI and with capture on or off. Any thread may
/// call it. As with setenv(), no other thread may use the environment at the same time.
using RunKeyFunction = int (*)(char* digits);

/// The number at the end changes when the function's meaning changes.
constexpr const char* kRunKeyFunction = "xylem_run_key_1";

}  // namespace xylem::capture
