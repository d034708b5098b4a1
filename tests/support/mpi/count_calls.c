/* A mixed load of MPI calls that counts itself: counts and bytes by which xylem's are checked.
 *
 *   count_calls CALLS THREADS SEED PREFIX
 *
 * About CALLS calls over all ranks and THREADS threads of each (MPI_THREAD_MULTIPLE when more than
 * one; each thread uses its own communicator). The same arguments give the same calls, except that
 * tests and probes repeat until they succeed. Each rank writes its counts to PREFIX.RANK.tsv; see
 * own_counts.h. Any number of ranks up to 1024. If there is a file PREFIX.enough, it ends earlier.
 *
 * Ranks draw the same random numbers and so do the same thing in each round: non-blocking messages
 * to all, waited for in one of many ways; then something that synchronises.
 */

#include <mpi.h>
#include <unistd.h>

#include "own_counts.h"

enum { kMessages = 24, kMaxInts = 64, kRounds = 64, kFirstTag = 1000, kUnusedTag = 999 };

struct load {
  MPI_Comm comm;
  uint64_t random;
  uint64_t calls;     /* Wanted of this thread. */
  MPI_Datatype pairs; /* Two ints of three, kept apart: four bytes times two. */
  int rank, size;
  int round; /* Gives each round's messages tags of their own: a rank may be rounds ahead. */
  int sent[kMessages][3 * kMaxInts], got[kMessages][3 * kMaxInts];
};

static uint64_t draw(struct load* load, uint64_t below) {
  load->random ^= load->random << 13; /* xorshift */
  load->random ^= load->random >> 7;
  load->random ^= load->random << 17;
  return (load->random >> 11) % below;
}

static uint64_t made(void) {
  uint64_t sum = 0;
  for (int f = 0; f < own_functions; ++f) sum += own_here->calls[f];
  return sum;
}

static void fail(const char* what) {
  fprintf(stderr, "count_calls: %s\n", what);
  abort();
}

/* Notes what a completed receive brought, by its status. */
static void arrived(const MPI_Status* status) {
  int bytes = 0;
  OWN(MPI_Get_count, (status, MPI_BYTE, &bytes));
  own_received(status->MPI_SOURCE, (uint64_t)bytes);
}

static int tag_of(const struct load* load, int slot) {
  return kFirstTag + load->round % kRounds * kMessages + slot;
}

static void send_one(struct load* load, int slot, int dest, int count, MPI_Request* request) {
  const int tag = tag_of(load, slot);
  const int kind = (int)draw(load, 3);
  const uint64_t bytes = (uint64_t)count * (kind == 1 ? 8 : 4);
  if (kind == 0)
    OWN(MPI_Isend, (load->sent[slot], count, MPI_INT, dest, tag, load->comm, request));
  else if (kind == 1)
    OWN(MPI_Isend, (load->sent[slot], count, load->pairs, dest, tag, load->comm, request));
  else
    OWN(MPI_Issend, (load->sent[slot], count, MPI_INT, dest, tag, load->comm, request));
  own_sent(dest, bytes);
}

/* Completes receives [0, n) of `requests`, one way or another; then the sends behind them. */
static void wait_for(struct load* load, int n, MPI_Request* requests) {
  MPI_Status statuses[2 * kMessages];
  int indices[2 * kMessages], done = 0, flag = 0;
  switch (draw(load, 6)) {
    case 0:
      OWN(MPI_Waitall, (n, requests, statuses));
      for (int i = 0; i < n; ++i) arrived(&statuses[i]);
      break;
    case 1:
      for (int i = 0; i < n; ++i) {
        OWN(MPI_Wait, (&requests[i], &statuses[i]));
        arrived(&statuses[i]);
      }
      break;
    case 2:
      for (int i = 0; i < n; ++i) {
        int which = 0;
        OWN(MPI_Waitany, (n, requests, &which, &statuses[i]));
        arrived(&statuses[i]);
      }
      break;
    case 3:
      for (int sum = 0; sum < n; sum += done) {
        OWN(MPI_Waitsome, (n, requests, &done, indices, statuses));
        for (int i = 0; i < done; ++i) arrived(&statuses[i]);
      }
      break;
    case 4:
      while (!flag) OWN(MPI_Testall, (n, requests, &flag, statuses));
      for (int i = 0; i < n; ++i) arrived(&statuses[i]);
      break;
    default:
      for (int i = 0; i < n; ++i) {
        for (flag = 0; !flag;) OWN(MPI_Test, (&requests[i], &flag, &statuses[i]));
        arrived(&statuses[i]);
      }
  }
  OWN(MPI_Waitall, (n, requests + n, MPI_STATUSES_IGNORE));
}

/* Each rank sends `n` messages to ranks at drawn distances, and gets as many. */
static void exchange(struct load* load) {
  MPI_Request requests[2 * kMessages];
  const int n = 1 + (int)draw(load, kMessages);
  for (int i = 0; i < n; ++i) {
    const int away = (int)draw(load, (uint64_t)load->size);
    const int count = (int)draw(load, kMaxInts);
    const int source =
        draw(load, 2) ? MPI_ANY_SOURCE : (load->rank - away + load->size) % load->size;
    OWN(MPI_Irecv,
        (load->got[i], 3 * kMaxInts, MPI_INT, source, tag_of(load, i), load->comm, &requests[i]));
    send_one(load, i, (load->rank + away) % load->size, count, &requests[n + i]);
  }
  for (uint64_t spins = draw(load, 60); spins > 0; --spins) {
    int flag = 0;
    OWN(MPI_Iprobe, (MPI_ANY_SOURCE, kUnusedTag, load->comm, &flag, MPI_STATUS_IGNORE));
    if (flag) fail("a message that nobody sent");
  }
  wait_for(load, n, requests);
}

static void shift(struct load* load) {
  const int away = (int)draw(load, (uint64_t)load->size), count = (int)draw(load, kMaxInts);
  const int to = (load->rank + away) % load->size;
  const int from = (load->rank - away + load->size) % load->size;
  OWN(MPI_Sendrecv, (load->sent[0], count, MPI_INT, to, 1, load->got[0], kMaxInts, MPI_INT, from, 1,
                     load->comm, MPI_STATUS_IGNORE));
  own_sent(to, 4 * (uint64_t)count);
  own_received(from, 4 * (uint64_t)count);
}

static void pair(struct load* load) {
  const int other = load->rank ^ 1, count = (int)draw(load, kMaxInts);
  if (other >= load->size) return;
  if (load->rank & 1) {
    OWN(MPI_Recv,
        (load->got[0], kMaxInts, MPI_INT, MPI_ANY_SOURCE, 2, load->comm, MPI_STATUS_IGNORE));
    own_received(other, 4 * (uint64_t)count);
  } else {
    OWN(MPI_Send, (load->sent[0], count, MPI_INT, other, 2, load->comm));
    own_sent(other, 4 * (uint64_t)count);
  }
}

static void persistent(struct load* load) {
  MPI_Request requests[2];
  const int count = (int)draw(load, kMaxInts);
  const int to = (load->rank + 1) % load->size, from = (load->rank - 1 + load->size) % load->size;
  OWN(MPI_Recv_init, (load->got[0], kMaxInts, MPI_INT, from, 3, load->comm, &requests[0]));
  OWN(MPI_Send_init, (load->sent[0], count, MPI_INT, to, 3, load->comm, &requests[1]));
  for (uint64_t times = 1 + draw(load, 3); times > 0; --times) {
    OWN(MPI_Startall, (2, requests));
    own_sent(to, 4 * (uint64_t)count);
    OWN(MPI_Waitall, (2, requests, MPI_STATUSES_IGNORE));
    own_received(from, 4 * (uint64_t)count);
  }
  OWN(MPI_Request_free, (&requests[0]));
  OWN(MPI_Request_free, (&requests[1]));
}

static void collective(struct load* load) {
  int in[kMaxInts] = {0}, out[kMaxInts];
  const int root = (int)draw(load, (uint64_t)load->size), count = (int)draw(load, kMaxInts);
  switch (draw(load, 3)) {
    case 0:
      OWN(MPI_Barrier, (load->comm));
      break;
    case 1:
      OWN(MPI_Bcast, (in, count, MPI_INT, root, load->comm));
      break;
    default:
      OWN(MPI_Allreduce, (in, out, count, MPI_INT, MPI_SUM, load->comm));
  }
}

static char enough_path[4096];

/* No thread ends before each has made its calls: else one that begins late would be one that
 * was. */
static pthread_barrier_t all_have_run;

static void* run(void* argument) {
  struct load* load = (struct load*)argument;
  own_begin_thread();
  OWN(MPI_Type_vector, (2, 1, 2, MPI_INT, &load->pairs));
  OWN(MPI_Type_commit, (&load->pairs));
  /* Ranks stop in the same round: they agree on the number of rounds as they go. */
  for (int going = 1; going;) {
    for (int round = 0; round < 8; ++round) {
      ++load->round;
      exchange(load);
      if (draw(load, 4) == 0) shift(load);
      if (draw(load, 4) == 0) pair(load);
      if (draw(load, 8) == 0) persistent(load);
      if (draw(load, 4) == 0) collective(load);
      (void)OWN(MPI_Wtime, ());
    }
    int more = made() < load->calls && access(enough_path, F_OK) != 0;
    OWN(MPI_Allreduce, (&more, &going, 1, MPI_INT, MPI_MAX, load->comm));
  }
  OWN(MPI_Type_free, (&load->pairs));
  pthread_barrier_wait(&all_have_run);
  own_end_thread();
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 5) {
    fprintf(stderr, "usage: count_calls CALLS THREADS SEED PREFIX\n");
    return 2;
  }
  const uint64_t calls = strtoull(arguments[1], NULL, 10), seed = strtoull(arguments[3], NULL, 10);
  const int threads = atoi(arguments[2]);
  int provided = 0, rank = 0, size = 0;
  snprintf(enough_path, sizeof enough_path, "%s.enough", arguments[4]);
  own_begin_thread();
  if (threads > 1) {
    OWN(MPI_Init_thread, (&count, &arguments, MPI_THREAD_MULTIPLE, &provided));
    if (provided < MPI_THREAD_MULTIPLE) fail("this MPI has no MPI_THREAD_MULTIPLE");
  } else {
    OWN(MPI_Init, (&count, &arguments));
  }
  OWN(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
  OWN(MPI_Comm_size, (MPI_COMM_WORLD, &size));

  struct load* loads = (struct load*)calloc((size_t)threads, sizeof *loads);
  pthread_t* running = (pthread_t*)calloc((size_t)threads, sizeof *running);
  if (loads == NULL || running == NULL) fail("no memory");
  for (int t = 0; t < threads; ++t) {
    OWN(MPI_Comm_dup, (MPI_COMM_WORLD, &loads[t].comm));
    loads[t].random = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)t * 7919 + 1;
    loads[t].calls = calls / (uint64_t)(size * threads);
    loads[t].rank = rank;
    loads[t].size = size;
  }
  if (pthread_barrier_init(&all_have_run, NULL, (unsigned)threads) != 0) fail("no barrier");
  for (int t = 1; t < threads; ++t) pthread_create(&running[t], NULL, run, &loads[t]);
  own_end_thread();
  run(&loads[0]);
  own_begin_thread();
  for (int t = 1; t < threads; ++t) pthread_join(running[t], NULL);
  for (int t = 0; t < threads; ++t) OWN(MPI_Comm_free, (&loads[t].comm));
  OWN(MPI_Finalize, ());
  own_end_thread();
  own_write(arguments[4], rank);
  return 0;
}
