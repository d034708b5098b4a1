/* Oversubscription: more ranks than cores, and all of them compute. Start it with -n 6 on 2 cores.
 *
 * Truth: there are kSteps steps. In each step each rank needs kWork seconds of processor time, and
 * then all meet. So a step takes at least size * kWork / cores: with 6 ranks on 2 cores 3 * kWork,
 * and 4.5 s in all. All ranks do the same work. A rank that polls in MPI_Barrier takes processor
 * time from the others, so it takes longer. Ranks run for less time than they are ready to run.
 */

#include "broken.h"

enum { kSteps = 15 };
static const double kWork = 0.1;

int main(int count, char** arguments) {
  start(&count, &arguments, 1);
  for (int step = 0; step < kSteps; ++step) {
    compute(kWork);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
