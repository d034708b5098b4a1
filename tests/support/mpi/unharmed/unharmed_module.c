/* What a program loads that has no MPI itself: unharmed_loader.c. */

#include "unharmed.h"

void run_module(void) {
  open_counts();
  begin();
  exchange(10);
  finish();
}
