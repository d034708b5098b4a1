#pragma once

// Decides which calls get a record. Sampling does not change the counts of calls: they are always
// exact.
//
// If one call in N gets a record, calls number 1, 2, 4, 8 ... of each ring and function also get a
// record. So a function with fewer than N calls also has times. This costs little: one record each
// time the number of calls doubles.

#include <atomic>
#include <cstdint>

namespace xylem::capture {

/// The default N. It applies to two kinds of functions; sampling.cc has the list. The first kind
/// are functions that programs call repeatedly while they wait: MPI_Iprobe, MPI_Improbe, MPI_Test,
/// MPI_Testall, MPI_Testany and MPI_Testsome. The second kind are local functions: clocks, ranks,
/// sizes, queries of types, statuses and handles. All other functions have a record for each call.
constexpr std::uint32_t kDefaultSampling = 1000;

/// Returns whether the default N applies to `function`. These functions never wait for other ranks.
bool never_waits(std::uint16_t function) noexcept;

/// Fills `every` (kMaxFunctions elements) from the text of XYLEM_SAMPLE. Null or an empty text
/// gives the defaults. The text has parts separated by commas. "none" gives each call a record.
/// FUNCTION=N gives one call in N a record; FUNCTION may end in *. Later parts override earlier
/// parts. Returns null, or the beginning of the first invalid part: an unknown function, or a
/// number outside 1 to kMaxRecordCalls. All other parts apply.
const char* set_sampling(const char* text, std::atomic<std::uint32_t>* every) noexcept;

}  // namespace xylem::capture
