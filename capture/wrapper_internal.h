#pragma once

/// Before the definition of an exported MPI function. All other symbols of the library are hidden.
#define XYLEM_WRAPPER extern "C" __attribute__((visibility("default")))
