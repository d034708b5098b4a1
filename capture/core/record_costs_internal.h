#pragma once

// Measures what this library adds to calls in this process, so that an analysis can subtract it.

namespace xylem::capture {

/// Measures the time that the library needs for a call of each shape, and writes it as definitions
/// (RecordShape in definitions.h). Makes no call that communicates, and writes no record. Takes
/// about 0.2 ms. Call it after MPI_Init, before the program can make further calls: the messages of
/// one tag on MPI_COMM_SELF are numbered as if the calls had been made.
void measure_record_costs() noexcept;

}  // namespace xylem::capture
