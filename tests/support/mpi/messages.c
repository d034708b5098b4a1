/* Random messages of which each has a size of its own, so that the two records of a message can be
 * told from its bytes alone.
 *
 *   messages SEED ROUNDS THREADS WILD
 *
 * All ranks know the plan of each round: up to 100 messages with sender, receiver, communicator and
 * tag. In a round all receives are in flight, then all sends; or the messages go by another kind of
 * call (see `way`). Of 100 messages, WILD are received by wildcards. Each thread has a plan,
 * communicators and tags of its own, and all threads also share MPI_COMM_WORLD.
 */

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMessages = 100, kComms = 4, kTags = 4, kLargest = 1 << 18 };
enum { kTagsOfThread = 1000, kWildTag = 500 };

/* How the messages of a round are sent and received. */
enum way {
  kWaitall,
  kWaitany,
  kWaitsome,
  kWaitBackwards,
  kTestany,
  kBlocking,
  kSynchronous,
  kMatchedProbe,
  kPersistent,
  kSendrecv,
  kWays
};

struct message {
  int source, destination; /* Ranks of MPI_COMM_WORLD. */
  int comm, tag, size;
  int any_source, any_tag;
};

struct plan {
  uint64_t random;
  int thread, rounds, wild, next_size;
  MPI_Comm comms[kComms];
  int count;
  struct message messages[kMessages];
};

static int rank, ranks;
static char* arena; /* Nobody looks into the messages, so all share their memory. */

static int below(struct plan* plan, int limit) {
  plan->random = plan->random * 6364136223846793005u + 1442695040888963407u;
  return (int)((plan->random >> 33) % (uint64_t)limit);
}

/* A communicator's order of ranks: the same as the world's, or reversed. */
static int rank_in(int comm, int world_rank) {
  return comm == 2 ? ranks - 1 - world_rank : world_rank;
}

static void make_plan(struct plan* plan, int way) {
  plan->count = 1 + below(plan, kMessages);
  for (int i = 0; i < plan->count; ++i) {
    struct message* m = &plan->messages[i];
    m->source = below(plan, ranks);
    m->destination = below(plan, ranks);
    if (way == kSendrecv) m->destination = (m->source + 1) % ranks;
    m->comm = below(plan, kComms);
    m->tag = plan->thread * kTagsOfThread + below(plan, kTags);
    m->size = plan->next_size++;
    m->any_source = m->any_tag = 0;
    if (below(plan, 100) >= plan->wild) continue;
    /* Wildcards that can take only what is meant for wildcards, so that the round ends. */
    if (m->comm == 3) {
      m->any_source = m->any_tag = 1;
    } else {
      m->any_source = 1;
      m->tag += kWildTag;
    }
  }
  /* On communicator 3, either all messages of a receiver are taken by wildcards or none. */
  for (int i = 0; i < plan->count; ++i) {
    struct message* m = &plan->messages[i];
    if (m->comm == 3) m->any_source = m->any_tag = plan->wild > 0 && (m->destination % 2) == 0;
  }
}

static int source_of(const struct message* m) {
  return m->any_source ? MPI_ANY_SOURCE : rank_in(m->comm, m->source);
}
static int tag_of(const struct message* m) { return m->any_tag ? MPI_ANY_TAG : m->tag; }

static void complete(struct plan* plan, int way, MPI_Request* requests, int count) {
  if (way == kWaitall) {
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  } else if (way == kWaitany || way == kTestany) {
    for (int done = 0; done < count;) {
      int index = MPI_UNDEFINED, flag = 1;
      if (way == kWaitany) {
        MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
      } else {
        MPI_Testany(count, requests, &index, &flag, MPI_STATUS_IGNORE);
      }
      if (flag && index != MPI_UNDEFINED) ++done;
    }
  } else if (way == kWaitsome) {
    int indices[2 * kMessages];
    for (int done = 0; done < count;) {
      int some = 0;
      MPI_Waitsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
      done += some;
    }
  } else {
    for (int i = count - 1; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  (void)plan;
}

static void send(const struct plan* plan, const struct message* m, int way, MPI_Request* request) {
  const int to = rank_in(m->comm, m->destination);
  if (way == kSynchronous) {
    MPI_Issend(arena, m->size, MPI_BYTE, to, m->tag, plan->comms[m->comm], request);
  } else if (way == kPersistent) {
    MPI_Send_init(arena, m->size, MPI_BYTE, to, m->tag, plan->comms[m->comm], request);
    MPI_Start(request);
  } else {
    MPI_Isend(arena, m->size, MPI_BYTE, to, m->tag, plan->comms[m->comm], request);
  }
}

static void receive_all(struct plan* plan, int way, char* into, MPI_Request* requests, int* count) {
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->messages[i];
    const MPI_Comm comm = plan->comms[m->comm];
    if (m->destination != rank) continue;
    if (way == kPersistent) {
      MPI_Recv_init(into, kLargest, MPI_BYTE, source_of(m), tag_of(m), comm, &requests[*count]);
      MPI_Start(&requests[(*count)++]);
    } else {
      MPI_Irecv(into, kLargest, MPI_BYTE, source_of(m), tag_of(m), comm, &requests[(*count)++]);
    }
  }
}

/* The receives are made one after the other when all sends are under way. */
static void receive_in_turn(struct plan* plan, int way, char* into) {
  for (int i = 0; i < plan->count; ++i) {
    const struct message* m = &plan->messages[i];
    const MPI_Comm comm = plan->comms[m->comm];
    if (m->destination != rank) continue;
    if (way == kMatchedProbe) {
      MPI_Message matched;
      MPI_Mprobe(source_of(m), tag_of(m), comm, &matched, MPI_STATUS_IGNORE);
      if (i % 2 == 0) {
        MPI_Mrecv(into, kLargest, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
      } else {
        MPI_Request request;
        MPI_Imrecv(into, kLargest, MPI_BYTE, &matched, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
    } else {
      MPI_Recv(into, kLargest, MPI_BYTE, source_of(m), tag_of(m), comm, MPI_STATUS_IGNORE);
    }
  }
}

/* Round the ring, one message for each rank. */
static void shift(struct plan* plan, char* into) {
  const int comm = below(plan, kComms), tag = plan->thread * kTagsOfThread;
  const int first = plan->next_size;
  plan->next_size += ranks;
  MPI_Sendrecv(arena, first + rank, MPI_BYTE, rank_in(comm, (rank + 1) % ranks), tag, into,
               kLargest, MPI_BYTE, rank_in(comm, (rank + ranks - 1) % ranks), tag,
               plan->comms[comm], MPI_STATUS_IGNORE);
}

static void* run(void* argument) {
  struct plan* plan = argument;
  char* into = malloc(kLargest);
  for (int round = 0; round < plan->rounds; ++round) {
    const int way = below(plan, kWays);
    MPI_Request requests[2 * kMessages];
    int count = 0;
    if (way == kSendrecv) {
      for (int i = 0; i < 20; ++i) shift(plan, into);
      continue;
    }
    make_plan(plan, way);
    const int in_turn = way == kBlocking || way == kMatchedProbe;
    if (!in_turn) receive_all(plan, way, into, requests, &count);
    for (int i = 0; i < plan->count; ++i) {
      const struct message* m = &plan->messages[i];
      if (m->source == rank) send(plan, m, way, &requests[count++]);
    }
    if (in_turn) receive_in_turn(plan, way, into);
    complete(plan, way, requests, count);
    if (way == kPersistent) {
      for (int i = 0; i < count; ++i) MPI_Request_free(&requests[i]);
    }
    MPI_Barrier(plan->comms[1]); /* No wildcard takes a message of the next round. */
  }
  free(into);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const int rounds = atoi(argv[2]), threads = atoi(argv[3]);
  int granted = 0;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &granted);
  if (threads > 1 && granted < MPI_THREAD_MULTIPLE) return 3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  arena = calloc(1, kLargest);
  struct plan* plans = calloc((size_t)threads, sizeof *plans);
  pthread_t* others = calloc((size_t)threads, sizeof *others);
  for (int t = 0; t < threads; ++t) {
    struct plan* plan = &plans[t];
    plan->random = (uint64_t)atoi(argv[1]) * 1000 + (uint64_t)t;
    plan->thread = t;
    plan->rounds = rounds;
    plan->wild = atoi(argv[4]);
    plan->next_size = 1 + t * (kLargest / threads);
    plan->comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &plan->comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &plan->comms[2]);
    MPI_Comm_dup(MPI_COMM_WORLD, &plan->comms[3]);
  }
  for (int t = 1; t < threads; ++t) pthread_create(&others[t], NULL, run, &plans[t]);
  run(&plans[0]);
  for (int t = 1; t < threads; ++t) pthread_join(others[t], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
