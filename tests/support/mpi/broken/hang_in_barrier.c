/* A hang: one rank does not come to the last barrier for a long time.
 *
 * Truth: for kBefore seconds all ranks meet kRate times a second. Then all ranks but kMissing enter
 * one more MPI_Barrier at once. Rank kMissing computes, outside of MPI, for kHang seconds and then
 * enters it too. So during kHang seconds rank kMissing makes no call, and the other ranks are in
 * one call. Nothing is wrong with the others: they wait for rank kMissing.
 */

#include "broken.h"

enum { kMissing = 2, kRate = 20 };
static const double kBefore = 2, kHang = 10;

int main(int count, char** arguments) {
  start(&count, &arguments, kMissing + 1);
  for (int step = 0; step < kBefore * kRate; ++step) {
    rest(1.0 / kRate);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == kMissing) compute_for(kHang);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
