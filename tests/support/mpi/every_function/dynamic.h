#pragma once

/* Processes that find one another, and processes that are started: MPI_COMM_WORLDs beside the first
 * one. */

#include <sys/socket.h>
#include <sys/un.h>

#include "every_function.h"

/* Ranks 0 and 1 accept ranks 2 and 3. */
static void ports(void) {
  MPI_Comm half, other;
  char port[MPI_MAX_PORT_NAME];
  const int accepts = rank < 2;
  CALL(MPI_Comm_split, (MPI_COMM_WORLD, accepts, rank, &half), "comm=half%d", accepts);
  if (rank == 0) {
    CALL(MPI_Open_port, (MPI_INFO_NULL, port));
    CALL(MPI_Publish_name, ("every_function", MPI_INFO_NULL, port));
  }
  barrier();
  if (rank == 2) CALL(MPI_Lookup_name, ("every_function", MPI_INFO_NULL, port));
  if (accepts)
    CALL(MPI_Comm_accept, (port, MPI_INFO_NULL, 0, half, &other), "comm=accepted");
  else
    CALL(MPI_Comm_connect, (port, MPI_INFO_NULL, 0, half, &other), "comm=accepted");
  CALL(MPI_Sendrecv,
       (out, 5, MPI_INT, rank % 2, 7, in, 5, MPI_INT, rank % 2, 7, other, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=accepted number=send", (rank + 2) % size);
  PART("peer=%d tag=7 bytes=20 posted_bytes=20 comm=accepted number=receive", (rank + 2) % size);
  CALL(MPI_Comm_disconnect, (&other), "comm=accepted");
  if (rank == 0) {
    CALL(MPI_Unpublish_name, ("every_function", MPI_INFO_NULL, port));
    CALL(MPI_Close_port, (port));
  }
  CALL(MPI_Comm_free, (&half), "comm=half%d", accepts);
}

/* Ranks 0 and 1 have a connection. */
static void join(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "join.socket"};
  const int made = socket(AF_UNIX, SOCK_STREAM, 0);
  int connected = made;
  MPI_Comm other;
  if (rank == 0 &&
      (bind(made, (struct sockaddr*)&address, sizeof address) != 0 || listen(made, 1) != 0))
    abort();
  barrier();
  if (rank == 1 && connect(made, (struct sockaddr*)&address, sizeof address) != 0) abort();
  if (rank == 0) connected = accept(made, NULL, NULL);
  if (rank < 2) {
    CALL(MPI_Comm_join, (connected, &other), "comm=joined");
    CALL(MPI_Comm_remote_size, (other, &connected));
    CALL(MPI_Barrier, (other), "received_bytes=0 comm=joined number=collective");
    CALL(MPI_Comm_disconnect, (&other), "comm=joined");
  }
  barrier();
}

/* Rank 0 sends a message to the first of the new processes, whose rank in this world is not known.
 */
static void greet(MPI_Comm* children, const char* name) {
  if (rank == 0) CALL(MPI_Send, (out, 5, MPI_INT, 0, 7, *children), "tag=7 bytes=20 comm=%s", name);
  CALL(MPI_Comm_disconnect, (children), "comm=%s", name);
}

static void spawn(const char* program) {
  MPI_Comm children;
  int codes[2], one_each[2] = {1, 1};
  char* arguments[2] = {"child", NULL};
  char* commands[2] = {(char*)program, (char*)program};
  char* multiple[2] = {"multiple", NULL};
  char** arguments_of_all[2] = {multiple, multiple};
  MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
  CALL(MPI_Comm_spawn, (program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes),
       "comm=children");
  greet(&children, "children");
  CALL(MPI_Comm_spawn_multiple,
       (2, commands, arguments_of_all, one_each, infos, 0, MPI_COMM_WORLD, &children, codes),
       "comm=multiple");
  greet(&children, "multiple");
}

/* Debian's MPICH 4.0.2 cannot do it: "currently not supported with ucx netmod". */
static void refused(const char* program) {
  char* arguments[2] = {"child", NULL};
  char* commands[1] = {(char*)program};
  char** arguments_of_all[1] = {arguments};
  char port[MPI_MAX_PORT_NAME] = "tag#0$description#none$";
  const int one_each[1] = {1};
  const MPI_Info infos[1] = {MPI_INFO_NULL};
  MPI_Comm made = MPI_COMM_NULL;
  int code = 0, ends[2];
  CALL(MPI_Comm_set_errhandler, (MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CALL(MPI_Comm_set_errhandler, (MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (rank == 0) {
    CALL(MPI_Publish_name, ("every_function", MPI_INFO_NULL, port));
    CALL(MPI_Lookup_name, ("every_function", MPI_INFO_NULL, port));
    CALL(MPI_Unpublish_name, ("every_function", MPI_INFO_NULL, port));
  }
  TRY(MPI_Comm_accept, (port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made));
  TRY(MPI_Comm_connect, (port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made));
  TRY(MPI_Open_port, (MPI_INFO_NULL, port));
  CALL(MPI_Close_port, (port));
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
  TRY(MPI_Comm_join, (ends[0], &made));
  TRY(MPI_Comm_spawn, (program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made, &code));
  TRY(MPI_Comm_spawn_multiple,
      (1, commands, arguments_of_all, one_each, infos, 0, MPI_COMM_SELF, &made, &code));
}

static void dynamic(const char* program) {
  int provided = 0;
  CALL(MPI_Init_thread, (NULL, NULL, MPI_THREAD_FUNNELED, &provided));
  prepare_values();
#ifdef OPEN_MPI
  ports();
  join();
  spawn(program);
#else
  refused(program);
#endif
  CALL(MPI_Finalize, ());
}

/* One of two processes that spawn() has started. */
static void child(void) {
  MPI_Comm parent;
  CALL(MPI_Init, (NULL, NULL));
  CALL(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
  CALL(MPI_Comm_get_parent, (&parent));
  if (rank == 0)
    CALL(MPI_Recv, (in, 5, MPI_INT, 0, 7, parent, MPI_STATUS_IGNORE),
         "tag=7 bytes=20 posted_bytes=20 comm=parent");
  /* A communicator is known from its first use on, if the record has not seen how it was made. */
  CALL(MPI_Comm_disconnect, (&parent), "%s", rank == 0 ? "comm=parent" : "");
  CALL(MPI_Finalize, ());
}
