/* A late rank: all ranks meet in each step, and rank kLate comes later than the others.
 *
 * Truth: there are kSteps steps. In each step each rank rests for kStep, and rank kLate rests for
 * kDelay more. So in each MPI_Barrier the other ranks wait about kDelay for rank kLate, 4 s in all,
 * and rank kLate hardly waits. Ranks rest and do not compute, so it is the same on few cores.
 */

#include "broken.h"

enum { kSteps = 50, kLate = 3 };
static const double kStep = 0.02, kDelay = 0.08; /* Seconds. */

int main(int count, char** arguments) {
  start(&count, &arguments, kLate + 1);
  for (int step = 0; step < kSteps; ++step) {
    rest(kStep + (rank == kLate ? kDelay : 0));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
