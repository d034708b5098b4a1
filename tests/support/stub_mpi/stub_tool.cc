// A profiling tool behind the capture library in line: it has an MPI_Wtick of its own, which calls
// PMPI_Wtick as tools do. See stub_mpi.h.

#include "tests/support/stub_mpi/stub_mpi.h"

// NOLINTBEGIN(readability-identifier-naming): MPI's names.
extern "C" {
double PMPI_Wtick();

void (*stub_tool_callback)() = nullptr;

double MPI_Wtick() {
  if (stub_tool_callback != nullptr) stub_tool_callback();
  return PMPI_Wtick();
}
}
// NOLINTEND(readability-identifier-naming)
