/* A library whose constructor starts MPI: before main, and before constructors of preloaded
 * libraries, which come after those of what the program is linked with. With EARLY_ASKS it asks
 * whether MPI is started, and no more. */

#define _GNU_SOURCE
#include "unharmed.h"

__attribute__((constructor)) static void start_early(void) {
  int flag = 1;
  open_counts();
  COUNTED(MPI_Initialized(&flag));
#ifndef EARLY_ASKS
  begin();
  exchange(2);
#endif
}

struct own_slot* early_slot(void) {
  return own;
}
