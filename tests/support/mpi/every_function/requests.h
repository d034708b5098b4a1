#pragma once

/* Calls that start, complete, test, cancel and free operations, and probes. */

#include "every_function.h"

/* A receive from the left neighbour and a send to the right one, in this order. */
struct pair {
  MPI_Request requests[2];
  int ids[2];
};

static void start_pair(struct pair* pair) {
  pair->ids[0] = next_id(), pair->ids[1] = next_id();
  CALL(MPI_Irecv, (in, 9, MPI_INT, left, 7, MPI_COMM_WORLD, &pair->requests[0]),
       "peer=%d tag=7 posted_bytes=36 comm=world request=%d stage=start", left, pair->ids[0]);
  CALL(MPI_Isend, (out, 5, MPI_INT, right, 7, MPI_COMM_WORLD, &pair->requests[1]),
       "peer=%d tag=7 bytes=20 comm=world request=%d stage=start number=send", right, pair->ids[1]);
}

/* The row of the completion of one of a pair. */
static void part_of(const struct pair* pair, int index) {
  if (index == 0)
    PART("peer=%d tag=7 bytes=20 comm=world request=%d stage=completion number=receive", left,
         pair->ids[0]);
  else
    PART("request=%d stage=completion", pair->ids[1]);
}

static void wait_and_test(void) {
  struct pair pair;
  int index = 0, indices[2], count = 0, flag = 0;

  start_pair(&pair);
  CALL(MPI_Waitall, (2, pair.requests, MPI_STATUSES_IGNORE));
  part_of(&pair, 0), part_of(&pair, 1);

  start_pair(&pair);
  for (flag = 0; !is_true(flag);)
    CALL(MPI_Testall, (2, pair.requests, &flag, MPI_STATUSES_IGNORE), "success=%d", flag);
  part_of(&pair, 0), part_of(&pair, 1);

  start_pair(&pair);
  for (int done = 0; done < 2; ++done) {
    CALL(MPI_Waitany, (2, pair.requests, &index, MPI_STATUS_IGNORE));
    part_of(&pair, index);
  }

  start_pair(&pair);
  for (int done = 0; done < 2; done += is_true(flag)) {
    CALL(MPI_Testany, (2, pair.requests, &index, &flag, MPI_STATUS_IGNORE), "success=%d", flag);
    if (flag) part_of(&pair, index);
  }

  start_pair(&pair);
  for (int done = 0; done < 2; done += count) {
    CALL(MPI_Waitsome, (2, pair.requests, &count, indices, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; ++i) part_of(&pair, indices[i]);
  }

  start_pair(&pair);
  for (int done = 0; done < 2; done += count) {
    CALL(MPI_Testsome, (2, pair.requests, &count, indices, MPI_STATUSES_IGNORE), "success=%d",
         is_true(count > 0));
    for (int i = 0; i < count; ++i) part_of(&pair, indices[i]);
  }

  start_pair(&pair);
  for (flag = 0; !is_true(flag);)
    CALL(MPI_Request_get_status, (pair.requests[0], &flag, MPI_STATUS_IGNORE),
         "request=%d success=%d", pair.ids[0], flag);
  CALL(MPI_Test, (&pair.requests[0], &flag, MPI_STATUS_IGNORE),
       "peer=%d tag=7 bytes=20 comm=world request=%d stage=completion number=receive success=1",
       left, pair.ids[0]);
  for (flag = 0; !is_true(flag);)
    CALL(MPI_Test, (&pair.requests[1], &flag, MPI_STATUS_IGNORE), "request=%d success=%d%s",
         pair.ids[1], flag, flag ? " stage=completion" : "");
}

static void persistent(void) {
  struct pair pair;
  CALL(MPI_Recv_init, (in, 9, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &pair.requests[0]),
       "tag=7 comm=world");
  CALL(MPI_Send_init, (out, 5, MPI_INT, right, 7, MPI_COMM_WORLD, &pair.requests[1]),
       "peer=%d tag=7 comm=world", right);
  for (int times = 0; times < 2; ++times) {
    CALL(MPI_Startall, (2, pair.requests));
    pair.ids[0] = next_id(), pair.ids[1] = next_id();
    PART("tag=7 posted_bytes=36 any_source=1 comm=world request=%d stage=start", pair.ids[0]);
    PART("peer=%d tag=7 bytes=20 comm=world request=%d stage=start number=send", right,
         pair.ids[1]);
    CALL(MPI_Waitall, (2, pair.requests, MPI_STATUSES_IGNORE));
    part_of(&pair, 0);
    PART("comm=world request=%d stage=completion", pair.ids[1]);
  }
  CALL(MPI_Request_free, (&pair.requests[0]));
  CALL(MPI_Request_free, (&pair.requests[1]));
}

/* A send whose request is freed, a receive that is cancelled. */
static void freed_and_cancelled(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  CALL(MPI_Issend, (out, 5, MPI_INT, right, 7, MPI_COMM_WORLD, &request),
       "peer=%d tag=7 bytes=20 comm=world request=%d stage=start number=send", right, next_id());
  CALL(MPI_Request_free, (&request), "request=%d", last_id);
  CALL(MPI_Recv, (in, 5, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
       "peer=%d tag=7 bytes=20 posted_bytes=20 any_source=1 any_tag=1 comm=world number=receive",
       left);
  barrier();
  CALL(MPI_Irecv, (in, 5, MPI_INT, left, 4711, MPI_COMM_WORLD, &request),
       "peer=%d tag=4711 posted_bytes=20 comm=world request=%d stage=start", left, next_id());
  CALL(MPI_Cancel, (&request), "request=%d", last_id);
  CALL(MPI_Wait, (&request, &status), "comm=world request=%d stage=completion", last_id);
  CALL(MPI_Test_cancelled, (&status, &flag));
}

static void probes(void) {
  MPI_Status status;
  MPI_Message message, none;
  MPI_Request send;
  int flag = 0;
  for (int how = 0; how < 2; ++how) {
    CALL(MPI_Issend, (out, 5, MPI_INT, right, 7, MPI_COMM_WORLD, &send),
         "peer=%d tag=7 bytes=20 comm=world request=%d stage=start number=send", right, next_id());
    CALL(MPI_Probe, (MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
         "peer=%d tag=7 any_source=1 any_tag=1 comm=world", left);
    for (flag = 0; !is_true(flag);)
      CALL(MPI_Iprobe, (left, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),
           "peer=%d tag=7 comm=world success=1", left);
    if (how == 0) {
      CALL(MPI_Improbe, (left, 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE),
           "peer=%d tag=7 comm=world success=1", left);
    } else {
      CALL(MPI_Mprobe, (MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE),
           "peer=%d tag=7 any_source=1 comm=world", left);
    }
    CALL(MPI_Iprobe, (left, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE),
         "comm=world success=0");
    CALL(MPI_Improbe, (left, 4711, MPI_COMM_WORLD, &flag, &none, MPI_STATUS_IGNORE),
         "comm=world success=0");
    CALL(MPI_Mrecv, (in, 5, MPI_INT, &message, MPI_STATUS_IGNORE),
         "peer=%d tag=7 bytes=20 posted_bytes=20 comm=world number=receive", left);
    complete(&send, "");
  }
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  COUNTED(MPI_Status_set_elements, (status, MPI_CHAR, 0));
  return MPI_SUCCESS;
}
static int release(void* state) { return (void)state, MPI_SUCCESS; }
static int cancel(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }
#ifndef OPEN_MPI
static int poll(void* state, MPI_Status* status) { return (void)state, (void)status, MPI_SUCCESS; }
static int wait_for(int count, void** states, double timeout, MPI_Status* status) {
  return (void)count, (void)states, (void)timeout, (void)status, MPI_SUCCESS;
}
#endif

static void end_generalised(MPI_Request request) {
  CALL(MPI_Grequest_complete, (request), "request=%d", last_id);
  complete(&request, "");
}

/* Operations of the program. */
static void generalised(void) {
  MPI_Request request;
  CALL(MPI_Grequest_start, (query, release, cancel, NULL, &request), "request=%d stage=start",
       next_id());
  end_generalised(request);
#ifndef OPEN_MPI
  MPIX_Grequest_class its_class;
  CALL(MPIX_Grequest_start, (query, release, cancel, poll, wait_for, NULL, &request),
       "request=%d stage=start", next_id());
  end_generalised(request);
  CALL(MPIX_Grequest_class_create, (query, release, cancel, poll, wait_for, &its_class));
  CALL(MPIX_Grequest_class_allocate, (its_class, NULL, &request), "request=%d stage=start",
       next_id());
  end_generalised(request);
#endif
}

#if MPI_VERSION >= 4
/* Messages in three parts of 20 bytes. */
static void partitioned(void) {
  MPI_Request send, receive;
  int list[1] = {2}, flag = 0;
  CALL(MPI_Psend_init, (out, 3, 5, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send),
       "peer=%d tag=9 comm=world", right);
  CALL(MPI_Precv_init, (in, 3, 5, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive),
       "peer=%d tag=9 comm=world", left);
  for (int times = 0; times < 2; ++times) {
    const int send_id = next_id(), receive_id = next_id();
    CALL(MPI_Start, (&send), "peer=%d tag=9 bytes=60 comm=world request=%d stage=start", right,
         send_id);
    CALL(MPI_Start, (&receive), "peer=%d tag=9 posted_bytes=60 comm=world request=%d stage=start",
         left, receive_id);
    CALL(MPI_Pready, (0, send), "request=%d", send_id);
    CALL(MPI_Pready_range, (1, 1, send), "request=%d", send_id);
    CALL(MPI_Pready_list, (1, list, send), "request=%d", send_id);
    for (flag = 0; !is_true(flag);)
      CALL(MPI_Parrived, (receive, 0, &flag), "request=%d success=%d", receive_id, flag);
    CALL(MPI_Wait, (&receive, MPI_STATUS_IGNORE),
         "peer=%d tag=9 bytes=60 comm=world request=%d stage=completion", left, receive_id);
    CALL(MPI_Wait, (&send, MPI_STATUS_IGNORE), "comm=world request=%d stage=completion", send_id);
  }
  CALL(MPI_Request_free, (&send));
  CALL(MPI_Request_free, (&receive));
}
#else
static void partitioned(void) {}
#endif

static void requests(void) {
  wait_and_test();
  persistent();
  freed_and_cancelled();
  probes();
  generalised();
  partitioned();
}
