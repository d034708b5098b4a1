/* A slow host: the upper half of the ranks stands for a host on which everything takes kSlower
 * times as long. Start it so that each half has a host of its own.
 *
 * Truth: there are kSteps steps. In each step ranks of the lower half rest for kStep, those of the
 * upper half for kSlower * kStep. Then all ranks meet in MPI_Allreduce. So each rank of the lower
 * half waits (kSlower - 1) * kStep in each step, 3.33 s in all, and no rank of the upper half waits
 * for long. Within a half all ranks are alike.
 */

#include "broken.h"

enum { kSteps = 50 };
static const double kStep = 0.0333, kSlower = 3;

int main(int count, char** arguments) {
  start(&count, &arguments, 2);
  const int is_slow = rank >= size / 2;
  double in = 1, out = 0;
  for (int step = 0; step < kSteps; ++step) {
    rest(is_slow ? kSlower * kStep : kStep);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
