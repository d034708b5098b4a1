/* A program whose library has called MPI before main (unharmed_early.c), and the program's own
 * constructor too. */

#define _GNU_SOURCE
#include "unharmed.h"

struct own_slot* early_slot(void);

__attribute__((constructor)) static void ask_early(void) {
  int flag = 0;
  own = early_slot();
  COUNTED(MPI_Initialized(&flag));
}

int main(void) {
  int flag = 0;
  COUNTED(MPI_Initialized(&flag));
  if (flag)
    find_place();
  else
    begin();
  exchange(10);
  finish();
  return 0;
}
