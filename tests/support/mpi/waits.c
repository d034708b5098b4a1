/* Programs whose ranks wait for each other in a known way, four ranks each.
 *
 *   waits PATTERN PREFIX
 *
 * Each rank writes PREFIX.RANK: a line for each MPI call of the pattern, in order, with the name of
 * the call, and the rank's own clock (CLOCK_MONOTONIC, ns) before and after it. A test computes
 * from these times who waited for whom. A late rank sleeps, so that it takes no processor from
 * others.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kRounds = 6, kLate = 60, kSmall = 8, kLarge = 4 << 20 };

static FILE* log_file;
static int rank;
static char* buffer;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void late(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&t, &t) != 0) {
  }
}

/* Makes a call and logs it. */
#define LOGGED(call, ...)                                                           \
  do {                                                                              \
    const int64_t begin = now();                                                    \
    call(__VA_ARGS__);                                                              \
    fprintf(log_file, "%s %lld %lld\n", #call, (long long)begin, (long long)now()); \
  } while (0)

static void send_to(int to, int bytes) {
  LOGGED(MPI_Send, buffer, bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
}
static void receive_from(int from, int bytes) {
  LOGGED(MPI_Recv, buffer, bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 0 sends late; rank 1 waits in MPI_Recv. */
static void late_sender(void) {
  if (rank == 0) {
    late(kLate);
    send_to(1, kSmall);
  } else if (rank == 1) {
    receive_from(0, kSmall);
  }
}

/* The same, with MPI_Irecv and MPI_Wait. */
static void late_sender_wait(void) {
  if (rank == 0) {
    late(kLate);
    send_to(1, kSmall);
  } else if (rank == 1) {
    MPI_Request request;
    LOGGED(MPI_Irecv, buffer, kSmall, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    LOGGED(MPI_Wait, &request, MPI_STATUS_IGNORE);
  }
}

/* Rank 0 waits in MPI_Waitall for rank 1, a little late, and rank 2, very late. */
static void late_senders_waitall(void) {
  if (rank == 1 || rank == 2) {
    late(rank == 1 ? kLate / 6 : kLate);
    send_to(0, kSmall);
  } else if (rank == 0) {
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
      LOGGED(MPI_Irecv, buffer, kSmall, MPI_BYTE, i + 1, 1, MPI_COMM_WORLD, &requests[i]);
    LOGGED(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  }
}

/* Rank 0 sends synchronously; rank 1 receives late. */
static void late_receiver(void) {
  if (rank == 0) {
    LOGGED(MPI_Ssend, buffer, kSmall, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    late(kLate);
    receive_from(0, kSmall);
  }
}

/* A large message in standard mode, for which rank 1 posts its receive late. */
static void late_receiver_large(void) {
  if (rank == 0) {
    send_to(1, kLarge);
  } else if (rank == 1) {
    MPI_Request request;
    late(kLate);
    LOGGED(MPI_Irecv, buffer, kLarge, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
    LOGGED(MPI_Wait, &request, MPI_STATUS_IGNORE);
  }
}

/* A large message whose send MPI_Wait completes; rank 1 receives late. */
static void late_receiver_wait(void) {
  if (rank == 0) {
    MPI_Request request;
    LOGGED(MPI_Isend, buffer, kLarge, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    LOGGED(MPI_Wait, &request, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    late(kLate);
    receive_from(0, kLarge);
  }
}

/* The same with MPI_Waitany. */
static void late_receiver_waitany(void) {
  if (rank == 0) {
    MPI_Request request;
    int index;
    LOGGED(MPI_Isend, buffer, kLarge, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    LOGGED(MPI_Waitany, 1, &request, &index, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    late(kLate);
    receive_from(0, kLarge);
  }
}

/* Rank 0 waits in MPI_Waitall for the receives of rank 1, a little late, and rank 2, very late. */
static void late_receivers_waitall(void) {
  if (rank == 0) {
    MPI_Request requests[2];
    for (int i = 0; i < 2; ++i)
      LOGGED(MPI_Isend, buffer, kLarge, MPI_BYTE, i + 1, 1, MPI_COMM_WORLD, &requests[i]);
    LOGGED(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  } else if (rank < 3) {
    late(rank == 1 ? kLate / 6 : kLate);
    receive_from(0, kLarge);
  }
}

/* Rank 0 waits in MPI_Waitall for a message of rank 2, a little late, and for the receive of rank
 * 1, very late. */
static void late_in_exchange(void) {
  if (rank == 0) {
    MPI_Request requests[2];
    LOGGED(MPI_Irecv, buffer + kLarge, kSmall, MPI_BYTE, 2, 1, MPI_COMM_WORLD, &requests[0]);
    LOGGED(MPI_Isend, buffer, kLarge, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]);
    LOGGED(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    late(kLate);
    receive_from(0, kLarge);
  } else if (rank == 2) {
    late(kLate / 6);
    send_to(0, kSmall);
  }
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
}

/* Rank 1 probes for a message that rank 0 sends late. */
static void late_sender_probe(void) {
  if (rank == 0) {
    late(kLate);
    send_to(1, kSmall);
  } else if (rank == 1) {
    LOGGED(MPI_Probe, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    receive_from(0, kSmall);
  }
}

static void late_sender_mprobe(void) {
  if (rank == 0) {
    late(kLate);
    send_to(1, kSmall);
  } else if (rank == 1) {
    MPI_Message message;
    LOGGED(MPI_Mprobe, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    LOGGED(MPI_Mrecv, buffer, kSmall, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
}

/* Rank 2 posts a barrier late; the others wait in MPI_Wait. */
static void late_at_ibarrier(void) {
  MPI_Request request;
  if (rank == 2) late(kLate);
  LOGGED(MPI_Ibarrier, MPI_COMM_WORLD, &request);
  LOGGED(MPI_Wait, &request, MPI_STATUS_IGNORE);
}

/* The late rank of an MPI_Iallreduce is another one each time; the others wait in MPI_Waitall. */
static void late_at_iallreduce_in_turn(int round) {
  int in = rank, out = 0;
  MPI_Request request;
  if (rank == round % 4) late(kLate);
  LOGGED(MPI_Iallreduce, &in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  LOGGED(MPI_Waitall, 1, &request, MPI_STATUSES_IGNORE);
}

/* Root 3 of a broadcast posts it late. */
static void late_root_ibcast(void) {
  MPI_Request request;
  if (rank == 3) late(kLate);
  LOGGED(MPI_Ibcast, buffer, kSmall, MPI_BYTE, 3, MPI_COMM_WORLD, &request);
  LOGGED(MPI_Wait, &request, MPI_STATUS_IGNORE);
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
}

/* Rank 2 is late at a barrier. */
static void late_at_barrier(void) {
  if (rank == 2) late(kLate);
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
}

/* The late rank of an MPI_Allreduce is another one each time. */
static void late_at_allreduce_in_turn(int round) {
  int in = rank, out = 0;
  if (rank == round % 4) late(kLate);
  LOGGED(MPI_Allreduce, &in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Root 3 of a broadcast is late. */
static void late_root(void) {
  if (rank == 3) late(kLate);
  LOGGED(MPI_Bcast, buffer, kSmall, MPI_BYTE, 3, MPI_COMM_WORLD);
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
}

/* Root 0 of a reduction waits for rank 1. */
static void early_root(void) {
  int in = rank, out = 0;
  if (rank == 1) late(kLate);
  LOGGED(MPI_Reduce, &in, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
}

/* A ring in which rank 2 computes longer, so that all others wait because of it. */
static void slow_rank_in_ring(void) {
  if (rank == 2) late(kLate);
  LOGGED(MPI_Sendrecv, buffer, kSmall, MPI_BYTE, (rank + 1) % 4, 1, buffer + kSmall, kSmall,
         MPI_BYTE, (rank + 3) % 4, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A chain 0, 1, 2, 3: rank 0 is late, and so are all after it. */
static void chain(void) {
  if (rank == 0) late(kLate);
  if (rank > 0) receive_from(rank - 1, kSmall);
  if (rank < 3) send_to(rank + 1, kSmall);
}

/* Two pairs of ranks, each with a communicator; rank 1 is late in one, rank 2 in the other. */
static void late_in_pairs(MPI_Comm pair) {
  int in[2] = {rank, rank}, out[2];
  if (rank == 1 || rank == 2) late(rank * kLate / 2);
  LOGGED(MPI_Alltoall, in, 1, MPI_INT, out, 1, MPI_INT, pair);
}

int main(int argc, char** argv) {
  char path[4096];
  if (argc != 3) return 2;
  const char* pattern = argv[1];
  MPI_Comm pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  snprintf(path, sizeof path, "%s.%d", argv[2], rank);
  log_file = fopen(path, "w");
  buffer = calloc(2, kLarge);
  if (log_file == NULL || buffer == NULL) return 3;
  LOGGED(MPI_Barrier, MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    if (strcmp(pattern, "late_sender") == 0)
      late_sender();
    else if (strcmp(pattern, "late_sender_wait") == 0)
      late_sender_wait();
    else if (strcmp(pattern, "late_senders_waitall") == 0)
      late_senders_waitall();
    else if (strcmp(pattern, "late_receiver") == 0)
      late_receiver();
    else if (strcmp(pattern, "late_receiver_large") == 0)
      late_receiver_large();
    else if (strcmp(pattern, "late_receiver_wait") == 0)
      late_receiver_wait();
    else if (strcmp(pattern, "late_receiver_waitany") == 0)
      late_receiver_waitany();
    else if (strcmp(pattern, "late_receivers_waitall") == 0)
      late_receivers_waitall();
    else if (strcmp(pattern, "late_in_exchange") == 0)
      late_in_exchange();
    else if (strcmp(pattern, "late_sender_probe") == 0)
      late_sender_probe();
    else if (strcmp(pattern, "late_sender_mprobe") == 0)
      late_sender_mprobe();
    else if (strcmp(pattern, "late_at_ibarrier") == 0)
      late_at_ibarrier();
    else if (strcmp(pattern, "late_at_iallreduce_in_turn") == 0)
      late_at_iallreduce_in_turn(round);
    else if (strcmp(pattern, "late_root_ibcast") == 0)
      late_root_ibcast();
    else if (strcmp(pattern, "late_at_barrier") == 0)
      late_at_barrier();
    else if (strcmp(pattern, "late_at_allreduce_in_turn") == 0)
      late_at_allreduce_in_turn(round);
    else if (strcmp(pattern, "late_root") == 0)
      late_root();
    else if (strcmp(pattern, "early_root") == 0)
      early_root();
    else if (strcmp(pattern, "slow_rank_in_ring") == 0)
      slow_rank_in_ring();
    else if (strcmp(pattern, "chain") == 0)
      chain();
    else if (strcmp(pattern, "late_in_pairs") == 0)
      late_in_pairs(pair);
    else
      return 4;
  }
  fclose(log_file);
  MPI_Finalize();
  return 0;
}
