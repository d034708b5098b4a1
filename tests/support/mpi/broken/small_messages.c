/* Many small messages: ranks send their data element by element instead of once.
 *
 * Truth: ranks 0 and 1, 2 and 3, ... are pairs. Of each pair the even rank sends messages of
 * kBytes, kBatch of them with MPI_Send, and the odd rank receives them with MPI_Recv. After a batch
 * the odd rank answers with one message. That goes on for kSeconds. So of kBatch + 1 messages of a
 * pair, kBatch have kBytes bytes, and no pair has messages with another pair. Both ranks compute
 * nothing: nearly all of the time is in MPI.
 */

#include "broken.h"

enum { kBytes = 8, kBatch = 1000 };
static const double kSeconds = 5;

int main(int count, char** arguments) {
  start(&count, &arguments, 2);
  const int other = rank ^ 1;
  char data[kBytes] = {0};
  int goes_on = other < size;
  const double end = now() + kSeconds;
  while (goes_on) {
    for (int i = 0; i < kBatch; ++i) {
      if (rank % 2 == 0) {
        MPI_Send(data, kBytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
      } else {
        MPI_Recv(data, kBytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
    if (rank % 2 == 1) {
      goes_on = now() < end;
      MPI_Send(&goes_on, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&goes_on, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  return 0;
}
