#pragma once

// The fixed decisions of Open MPI 4.1.4, by ranks and bytes.

#include <cstdint>

#include "predict/collectives/collective.h"

namespace xylem::predict {

/// The algorithm for a call, before Open MPI looks whether the algorithm is possible for it.
Algorithm open_mpi_choice(Collective collective, std::uint32_t ranks, std::uint64_t bytes);

}  // namespace xylem::predict
