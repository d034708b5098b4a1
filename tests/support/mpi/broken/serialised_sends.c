/* Serialised sends: rank 0 serves the others one after the other, and waits for each of them.
 *
 * Truth: there are kSteps steps. Rank 0 sends a message of kInts integers to rank 1, then to rank
 * 2, and so on, with MPI_Ssend, which returns when the receiver has begun to receive. Each receiver
 * rests for kPause before it receives, but only when its predecessor has received: it learns so by
 * a message from its predecessor. So a step takes (size - 1) * kPause, rank 0 is in MPI_Ssend all
 * that time, and rank r waits (r - 1) * kPause in MPI_Recv from rank r - 1. With 4 ranks: 4.8 s.
 */

#include "broken.h"

enum { kSteps = 80, kInts = 1000 };
static const double kPause = 0.02;

int main(int count, char** arguments) {
  start(&count, &arguments, 2);
  static int data[kInts];
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) {
      for (int to = 1; to < size; ++to) MPI_Ssend(data, kInts, MPI_INT, to, 0, MPI_COMM_WORLD);
    } else {
      int turn = 0;
      if (rank > 1) {
        MPI_Recv(&turn, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      rest(kPause);
      MPI_Recv(data, kInts, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank + 1 < size) MPI_Send(&turn, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
