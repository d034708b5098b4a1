#pragma once

// Which calls get a record. Counts are exact whatever is sampled.
//
// Where one call in N gets a record, the calls number 1, 2, 4, 8 ... of each ring and function get
// one too: a function with fewer than N calls has times all the same, and a record more per
// doubling costs nothing.

#include <atomic>
#include <cstdint>

namespace xylem::capture {

/// One call in so many gets a record by default, of functions that programs call in a spin
/// (MPI_Iprobe, MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome), and of local ones:
/// clocks, ranks, sizes, questions about types, statuses and handles (the table is in sampling.cc).
constexpr std::uint32_t kDefaultSampling = 1000;

/// Whether a function is one of these: all of them return at once, whatever other ranks do.
bool never_waits(std::uint16_t function) noexcept;

/// Fills `every` (kMaxFunctions of them) from XYLEM_SAMPLE's text: null or empty for the defaults;
/// "none" gives each call a record; FUNCTION=N (FUNCTION may end in *) changes what stands
/// before it. Parts are separated by commas. Returns null, or where the first part begins that says
/// nothing: an unknown function, no number from 1 to 2^32 - 1. All other parts count.
const char* set_sampling(const char* text, std::atomic<std::uint32_t>* every) noexcept;

}  // namespace xylem::capture
