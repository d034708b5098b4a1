/* Misuse of communicators: new ones are made in a loop and never freed, and a collective operation
 * runs on communicators that have one rank each.
 *
 * Truth: there are kSteps steps. Each rank calls MPI_Comm_dup of MPI_COMM_WORLD in each step, and
 * MPI_Barrier on the copy. In each kSplitEvery-th step it also calls MPI_Comm_split with its rank
 * as colour, and kUseless times MPI_Allreduce on the result, whose only member is itself. Nothing
 * is freed: MPI_Comm_free is never called. So a rank makes kSteps + kSteps / kSplitEvery
 * communicators, and each of its calls of MPI_Allreduce is on a communicator of size 1.
 */

#include "broken.h"

enum { kSteps = 100, kSplitEvery = 10, kUseless = 50 };
static const double kRest = 0.04; /* Seconds in each step. */

int main(int count, char** arguments) {
  start(&count, &arguments, 2);
  for (int step = 0; step < kSteps; ++step) {
    MPI_Comm copy, alone;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    if (step % kSplitEvery == 0) {
      double in = 1, out = 0;
      MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
      for (int i = 0; i < kUseless; ++i) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, alone);
    }
    rest(kRest);
  }
  MPI_Finalize();
  return 0;
}
