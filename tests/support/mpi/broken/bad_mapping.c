/* A bad mapping: the ranks that exchange most are far apart. With an even number of ranks and ranks
 * placed in blocks, the two ranks of each heavy pair are on different hosts.
 *
 * Truth: there are kSteps steps. Rank r exchanges messages of kHeavy bytes with rank
 * (r + size / 2) % size, and of kLight bytes with rank r ^ 1. So with 4 ranks the heavy pairs are
 * 0-2 and 1-3, and the light pairs are 0-1 and 2-3. Each rank sends one message to each of its two
 * partners in a step. The best mapping puts 0 and 2 together, and 1 and 3.
 */

#include "broken.h"

enum { kSteps = 250, kHeavy = 1 << 20, kLight = 64 };
static const double kRest = 0.018; /* Seconds in each step. */

static void exchange(int with, int bytes) {
  static char out[kHeavy], in[kHeavy];
  MPI_Sendrecv(out, bytes, MPI_BYTE, with, 0, in, bytes, MPI_BYTE, with, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

int main(int count, char** arguments) {
  start(&count, &arguments, 4);
  if (size % 4 != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int step = 0; step < kSteps; ++step) {
    exchange((rank + size / 2) % size, kHeavy);
    exchange(rank ^ 1, kLight);
    rest(kRest);
  }
  MPI_Finalize();
  return 0;
}
