#pragma once

/* Calls that fail. Their records have the result, and no other column: nobody knows what has
 * happened. After a failed collective, the calls on its communicator have no number; after a failed
 * send or receive, no message of this process has. */

#include "every_function.h"

enum { kNoRank = 17 };

static void failed_collectives(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  CALL(MPI_Barrier, (comm), "received_bytes=0 comm=failing number=collective");
  TRY(MPI_Bcast, (buffer, 5, MPI_INT, kNoRank, comm));
  TRY(MPI_Reduce, (out, in, 5, MPI_INT, MPI_SUM, kNoRank, comm));
  TRY(MPI_Gather, (out, 5, MPI_INT, in, 5, MPI_INT, kNoRank, comm));
  TRY(MPI_Scatterv, (out, shares, share_places, MPI_INT, in, 5, MPI_INT, kNoRank, comm));
  TRY(MPI_Alltoallv,
      (out, to_each, wide_places, MPI_DATATYPE_NULL, in, to_each, wide_places, MPI_INT, comm));
  TRY(MPI_Allreduce, (out, in, 5, MPI_DATATYPE_NULL, MPI_SUM, comm));
  TRY(MPI_Ibcast, (buffer, 5, MPI_INT, kNoRank, comm, &request));
  CALL(MPI_Barrier, (comm), "received_bytes=0 comm=failing");
  CALL(MPI_Bcast, (buffer, 5, MPI_INT, root, MPI_COMM_WORLD),
       "peer=%d bytes=%d received_bytes=%d comm=world number=collective", root, is_root ? 20 : 0,
       is_root ? 0 : 20);
}

static void failed_messages(MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message message;
  int flag = 0;
  TRY(MPI_Probe, (kNoRank, 7, comm, MPI_STATUS_IGNORE));
  TRY(MPI_Iprobe, (kNoRank, 7, comm, &flag, MPI_STATUS_IGNORE));
  TRY(MPI_Mprobe, (kNoRank, 7, comm, &message, MPI_STATUS_IGNORE));
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, right, 7, in, 5, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=world number=send", right);
  PART("peer=%d tag=7 bytes=20 posted_bytes=20 comm=world number=receive", left);
  TRY(MPI_Send, (out, 5, MPI_INT, kNoRank, 7, comm));
  TRY(MPI_Recv, (in, 5, MPI_INT, kNoRank, 7, comm, MPI_STATUS_IGNORE));
  TRY(MPI_Isend, (out, -1, MPI_INT, right, 7, comm, &request));
  TRY(MPI_Irecv, (in, 5, MPI_DATATYPE_NULL, left, 7, comm, &request));
  TRY(MPI_Send_init, (out, 5, MPI_INT, kNoRank, 7, comm, &request));
  TRY(MPI_Sendrecv,
      (out, 5, MPI_INT, kNoRank, 7, in, 5, MPI_INT, left, 7, comm, MPI_STATUS_IGNORE));
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, right, 7, in, 5, MPI_INT, left, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=world", right);
  PART("peer=%d tag=7 bytes=20 posted_bytes=20 comm=world", left);
}

static void failures(void) {
  MPI_Comm comm;
  MPI_Win made;
  MPI_File other;
  MPI_Comm none = MPI_COMM_NULL;
  CALL(MPI_Comm_dup, (MPI_COMM_WORLD, &comm), "comm=failing");
  CALL(MPI_Comm_set_errhandler, (comm, MPI_ERRORS_RETURN));
  CALL(MPI_Win_set_errhandler, (window, MPI_ERRORS_RETURN));
  CALL(MPI_File_set_errhandler, (file, MPI_ERRORS_RETURN));
  CALL(MPI_Win_lock_all, (0, window), "comm=turned");
  TRY(MPI_Put, (out, 5, MPI_INT, kNoRank, 0, 5, MPI_INT, window), "comm=turned");
  CALL(MPI_Win_unlock_all, (window), "comm=turned");
  TRY(MPI_Win_create, (in, sizeof in, 0, MPI_INFO_NULL, comm, &made));
  TRY(MPI_File_open, (MPI_COMM_SELF, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
  TRY(MPI_File_read, (file, in, -1, MPI_INT, MPI_STATUS_IGNORE));
  TRY(MPI_File_iread, (file, in, -1, MPI_INT, NULL));
  failed_collectives(comm);
  failed_messages(comm);
  TRY(MPI_Cart_create, (comm, 1, (int[]){1000}, (int[]){0}, 0, &none));
  CALL(MPI_Comm_free, (&comm), "comm=failing");
}
