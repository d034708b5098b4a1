/* A moving imbalance: in each second another rank is slow, so that over the whole run all ranks
 * look alike.
 *
 * Truth: there are kPhases phases of kSteps steps. In phase p rank p % size rests for kSlow in each
 * step, the others for kFast, and then all meet in MPI_Barrier. So a phase takes about one second.
 * In phase p all ranks but p % size wait kSlow - kFast in each step. If kPhases is a multiple of
 * the number of ranks, each rank waits as long as each other rank, (1 - 1 / size) of
 * kPhases * kSteps * (kSlow - kFast): with 4 ranks 4.8 s of 8 s.
 */

#include "broken.h"

enum { kPhases = 8, kSteps = 20 };
static const double kSlow = 0.05, kFast = 0.01;

int main(int count, char** arguments) {
  start(&count, &arguments, 2);
  for (int phase = 0; phase < kPhases; ++phase) {
    for (int step = 0; step < kSteps; ++step) {
      rest(rank == phase % size ? kSlow : kFast);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
