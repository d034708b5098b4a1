#pragma once

/* Calls that make windows, and synchronize on them. */

#include "every_function.h"

/* Of a window that was made of MPI_COMM_WORLD. */
static void free_window(MPI_Win* of) { CALL(MPI_Win_free, (of), "comm=world"); }

static void kinds_of_windows(void) {
  MPI_Win made;
  MPI_Aint bytes = 0;
  void* memory = NULL;
  int unit = 0;
  CALL(MPI_Win_allocate, (64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made), "comm=world");
  free_window(&made);
  CALL(MPI_Win_allocate_shared, (64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made),
       "comm=world");
  CALL(MPI_Win_shared_query, (made, right, &bytes, &unit, &memory), "peer=%d comm=world", right);
  CALL(MPI_Win_shared_query, (made, MPI_PROC_NULL, &bytes, &unit, &memory), "comm=world");
#if MPI_VERSION >= 4
  MPI_Aint wide_unit = 0;
  CALL(MPI_Win_shared_query_c, (made, right, &bytes, &wide_unit, &memory), "peer=%d comm=world",
       right);
#endif
  free_window(&made);
  CALL(MPI_Win_create_dynamic, (MPI_INFO_NULL, MPI_COMM_WORLD, &made), "comm=world");
  CALL(MPI_Win_attach, (made, in, sizeof in));
  CALL(MPI_Win_detach, (made, in));
  free_window(&made);
#if MPI_VERSION >= 4
  CALL(MPI_Win_create_c, (in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), "comm=world");
  free_window(&made);
  CALL(MPI_Win_allocate_c, (64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made), "comm=world");
  free_window(&made);
  CALL(MPI_Win_allocate_shared_c, (64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &made),
       "comm=world");
  free_window(&made);
#endif
}

static void synchronize(void) {
  MPI_Group all, neighbour[2];
  int flag = 0;
  CALL(MPI_Win_fence, (0, window), "comm=turned");
  CALL(MPI_Put, (out, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, window), "comm=turned");
  CALL(MPI_Win_fence, (0, window), "comm=turned");
  CALL(MPI_Win_lock, (MPI_LOCK_SHARED, turn(right), 0, window), "peer=%d comm=turned", right);
  CALL(MPI_Win_flush, (turn(right), window), "peer=%d comm=turned", right);
  CALL(MPI_Win_flush_local, (turn(right), window), "peer=%d comm=turned", right);
  CALL(MPI_Win_unlock, (turn(right), window), "peer=%d comm=turned", right);
  CALL(MPI_Win_lock_all, (0, window), "comm=turned");
  CALL(MPI_Win_flush_all, (window), "comm=turned");
  CALL(MPI_Win_flush_local_all, (window), "comm=turned");
  CALL(MPI_Win_sync, (window), "comm=turned");
  CALL(MPI_Win_unlock_all, (window), "comm=turned");
  CALL(MPI_Comm_group, (MPI_COMM_WORLD, &all));
  CALL(MPI_Group_incl, (all, 1, &left, &neighbour[0]));
  CALL(MPI_Group_incl, (all, 1, &right, &neighbour[1]));
  for (int how = 0; how < 2; ++how) {
    CALL(MPI_Win_post, (neighbour[0], 0, window), "comm=turned");
    CALL(MPI_Win_start, (neighbour[1], 0, window), "comm=turned");
    CALL(MPI_Win_complete, (window), "comm=turned");
    if (how == 0)
      CALL(MPI_Win_wait, (window), "comm=turned");
    else
      for (flag = 0; !is_true(flag);) CALL(MPI_Win_test, (window, &flag), "comm=turned");
  }
  CALL(MPI_Group_free, (&neighbour[0]));
  CALL(MPI_Group_free, (&neighbour[1]));
  CALL(MPI_Group_free, (&all));
}

static void windows(void) {
  kinds_of_windows();
  synchronize();
}
