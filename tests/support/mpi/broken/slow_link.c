/* One slow link: all pairs of ranks exchange as often, but one pair moves far more bytes.
 *
 * Truth: there are kSteps steps. In each step each rank exchanges one message with each other rank,
 * in the same order of pairs everywhere. Messages of the pair kOne, kOther have kLarge bytes, all
 * others kSmall. So the pair has kLarge / kSmall = 4096 times the bytes of each other pair, as
 * many messages, and each message in each direction.
 */

#include "broken.h"

enum { kSteps = 200, kOne = 1, kOther = 2, kLarge = 1 << 20, kSmall = 256 };
static const double kRest = 0.02; /* Seconds in each step. */

static char out[kLarge], in[kLarge];

int main(int count, char** arguments) {
  start(&count, &arguments, kOther + 1);
  for (int step = 0; step < kSteps; ++step) {
    for (int low = 0; low < size; ++low) {
      for (int high = low + 1; high < size; ++high) {
        if (rank != low && rank != high) continue;
        const int bytes = low == kOne && high == kOther ? kLarge : kSmall;
        const int with = rank == low ? high : low;
        MPI_Sendrecv(out, bytes, MPI_BYTE, with, 0, in, bytes, MPI_BYTE, with, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
      }
    }
    rest(kRest);
  }
  MPI_Finalize();
  return 0;
}
