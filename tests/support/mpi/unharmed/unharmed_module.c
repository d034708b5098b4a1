/* What a program loads that has no MPI itself: unharmed_loader.c. */

#define _GNU_SOURCE
#include "unharmed.h"

void run_module(void) {
  open_counts();
  begin();
  exchange(10);
  finish();
}
