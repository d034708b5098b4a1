#pragma once

/* What stands before and after the generated calls (column `around` of shapes.tsv). */

#include "every_function.h"

static MPI_Request counterpart;
static int counterpart_id;
static MPI_Message message;

/* The neighbour receives what this rank sends. */
static void begin_sending(void) {
  counterpart_id = next_id();
  CALL(MPI_Irecv, (in, 5, MPI_INT, turn(left), 7, turned, &counterpart),
       "peer=%d tag=7 posted_bytes=20 comm=turned request=%d stage=start", left, counterpart_id);
  barrier(); /* MPI_Rsend wants the receive to be there. */
}
static void end_sending(void) {
  CALL(MPI_Wait, (&counterpart, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=turned request=%d stage=completion number=receive", left,
       counterpart_id);
}

/* The neighbour sends what this rank receives. */
static void begin_receiving(void) {
  counterpart_id = next_id();
  CALL(MPI_Issend, (out, 5, MPI_INT, turn(right), 7, turned, &counterpart),
       "peer=%d tag=7 bytes=20 comm=turned request=%d stage=start number=send", right,
       counterpart_id);
}
static void end_receiving(void) {
  CALL(MPI_Wait, (&counterpart, MPI_STATUS_IGNORE), "request=%d stage=completion", counterpart_id);
}

static void begin_matched(void) {
  begin_receiving();
  CALL(MPI_Mprobe, (turn(left), 7, turned, &message, MPI_STATUS_IGNORE),
       "peer=%d tag=7 comm=turned", left);
}
static void end_matched(void) { end_receiving(); }

/* An epoch in which this rank may access all windows. */
static void begin_transfer(void) { CALL(MPI_Win_lock_all, (0, window), "comm=turned"); }
static void end_transfer(void) {
  CALL(MPI_Win_unlock_all, (window), "comm=turned");
  barrier(); /* The neighbours have another number of calls on the window. */
}
