#pragma once

/// Before the definition of an exported MPI function. All other symbols of the library are hidden.
#define XYLEM_WRAPPER extern "C" __attribute__((visibility("default")))

/// The part of a wrapper that records. Never inlined: while capture is off, the wrapper is a few
/// loads and a jump.
#define XYLEM_RECORDING __attribute__((noinline))
