/* The C part of the Fortran programs: counts calls for them, and makes some. */

#define _GNU_SOURCE
#include "unharmed.h"

void own_open(void) { open_counts(); }
void own_count(void) { count_call(); }
void own_place(int of, int among) {
  rank = of;
  size = among;
  own->rank = of;
}
void own_tell(int number) { tell("sum", number); }

/* 1,000 clocks and ten exchanges in C, of a program whose main part is Fortran. */
void c_calls(void) {
  double time = 0;
  for (int i = 0; i < 1000; ++i) time += COUNTED(MPI_Wtime());
  if (time < 0) fail("the clock goes back");
  exchange(10);
}
