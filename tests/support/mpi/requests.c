/* Starts operations in all ways, completes them in all ways, and says so.
 *
 * Each rank writes the file said.RANK, in the order of its calls:
 *
 *   start ID FUNCTION      the operation ID was started by a call of FUNCTION
 *   done ID FUNCTION       a call of FUNCTION has completed it
 *   freed ID               MPI_Request_free has taken its request away
 *   polls FUNCTION FOUND NOTHING   all calls of a test or probe, by their answers
 *
 * IDs count from 1. Run it with an even number of ranks; ranks 2n and 2n + 1 exchange messages.
 */

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLarge = 1 << 18, kMany = 1000, kRounds = 4 };

static int rank, partner, last_id;
static FILE* said;
static char out[kLarge], in[kLarge];

static int start(const char* function) {
  fprintf(said, "start %d %s\n", ++last_id, function);
  return last_id;
}
static void done(int id, const char* function) { fprintf(said, "done %d %s\n", id, function); }

/* Answers of tests and probes. */
enum { kTest, kTestall, kTestany, kTestsome, kIprobe, kImprobe, kGetStatus, kPolls };
static const char* const poll_names[kPolls] = {
    "MPI_Test",   "MPI_Testall", "MPI_Testany",           "MPI_Testsome",
    "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status"};
static long polls[kPolls][2];
static int answered(int poll, int found) {
  ++polls[poll][found == 0];
  if (found == 0) sched_yield();
  return found;
}

static int isend(int tag, int bytes, MPI_Request* request) {
  MPI_Isend(out, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD, request);
  return start("MPI_Isend");
}
static int issend(int tag, int bytes, MPI_Request* request) {
  MPI_Issend(out, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD, request);
  return start("MPI_Issend");
}
static int irecv(int tag, int at, int bytes, MPI_Request* request) {
  MPI_Irecv(in + at, bytes, MPI_CHAR, partner, tag, MPI_COMM_WORLD, request);
  return start("MPI_Irecv");
}

/* Small sends may all have the same handle. */
static void small_messages(void) {
  static MPI_Request requests[2 * kMany];
  static int ids[2 * kMany];
  static MPI_Status statuses[2 * kMany];
  for (int round = 0; round < kRounds; ++round) {
    const int count = round == 0 ? kMany : 3;
    for (int i = 0; i < count; ++i) {
      ids[i] = irecv(i, i, 1, &requests[i]);
      ids[count + i] = isend(i, 1, &requests[count + i]);
    }
    MPI_Waitall(2 * count, requests, round % 2 == 0 ? MPI_STATUSES_IGNORE : statuses);
    for (int i = 0; i < 2 * count; ++i) done(ids[i], "MPI_Waitall");
  }
}

static void backwards(void) {
  MPI_Request requests[10];
  int ids[10];
  for (int i = 0; i < 5; ++i) ids[i] = irecv(i, i * 1000, 1000, &requests[i]);
  for (int i = 0; i < 5; ++i) ids[5 + i] = issend(i, 1000, &requests[5 + i]);
  for (int i = 9; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    done(ids[i], "MPI_Wait");
  }
}

static void one_test(void) {
  MPI_Request receive, send;
  const int wanted = irecv(1, 0, kLarge, &receive);
  int flag = 0;
  for (int i = 0; i < 50; ++i) {
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    answered(kTest, flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int sent = issend(1, kLarge, &send);
  while (!flag) {
    MPI_Request_get_status(receive, &flag, MPI_STATUS_IGNORE);
    answered(kGetStatus, flag);
    int other = 0;
    if (send == MPI_REQUEST_NULL) continue;
    MPI_Test(&send, &other, MPI_STATUS_IGNORE);
    if (answered(kTest, other)) done(sent, "MPI_Test");
  }
  MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
  answered(kTest, flag);
  done(wanted, "MPI_Test");
  if (send == MPI_REQUEST_NULL) return;
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  done(sent, "MPI_Wait");
}

static void any_and_some(void) {
  enum { kEach = 4 };
  for (int how = 0; how < 5; ++how) {
    MPI_Request requests[2 * kEach];
    int ids[2 * kEach], left = 2 * kEach, flag, index, count, indices[2 * kEach];
    MPI_Status statuses[2 * kEach];
    for (int i = 0; i < kEach; ++i) ids[i] = irecv(10 + i, i * 1000, 1000, &requests[i]);
    if (how % 2 == 1) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kEach; ++i) ids[kEach + i] = issend(10 + i, 1000, &requests[kEach + i]);
    while (left > 0) {
      switch (how) {
        case 0:
          MPI_Waitany(2 * kEach, requests, &index, MPI_STATUS_IGNORE);
          done(ids[index], "MPI_Waitany");
          --left;
          break;
        case 1:
          MPI_Testany(2 * kEach, requests, &index, &flag, statuses);
          if (!answered(kTestany, flag)) break;
          done(ids[index], "MPI_Testany");
          --left;
          break;
        case 2:
          MPI_Waitsome(2 * kEach, requests, &count, indices, MPI_STATUSES_IGNORE);
          for (int i = 0; i < count; ++i) done(ids[indices[i]], "MPI_Waitsome");
          left -= count;
          break;
        case 3:
          MPI_Testsome(2 * kEach, requests, &count, indices, statuses);
          answered(kTestsome, count);
          for (int i = 0; i < count; ++i) done(ids[indices[i]], "MPI_Testsome");
          left -= count;
          break;
        default:
          MPI_Testall(2 * kEach, requests, &flag, statuses);
          if (!answered(kTestall, flag)) break;
          for (int i = 0; i < 2 * kEach; ++i) done(ids[i], "MPI_Testall");
          left = 0;
      }
    }
    if (how == 1)
      MPI_Testany(2 * kEach, requests, &index, &flag, statuses), answered(kTestany, flag);
    if (how == 2) MPI_Waitsome(2 * kEach, requests, &count, indices, statuses);
  }
}

static void nothing_to_wait_for(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int ids[3], flag, index;
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
  answered(kTest, flag);
  for (int i = 0; i < 2; ++i) {
    MPI_Isend(out, 9, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    ids[0] = start("MPI_Isend");
    MPI_Irecv(in, 9, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    ids[1] = start("MPI_Irecv");
    MPI_Irecv(in, 9, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[2]);
    ids[2] = start("MPI_Irecv");
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; ++k) done(ids[k], "MPI_Waitall");
  }
}

static void persistent(void) {
  MPI_Request requests[5];
  int ids[5];
  int count = 4;
#ifdef OPEN_MPI /* MPICH 4.0.2 waits for ever in a later call after it. */
  /* A receive that gets nothing takes no message of the others. */
  MPI_Recv_init(in, 100, MPI_CHAR, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[count++]);
#endif
  MPI_Send_init(out, 100, MPI_CHAR, partner, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in, 100, MPI_CHAR, partner, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Ssend_init(out, 200, MPI_CHAR, partner, 6, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(in, 200, MPI_CHAR, partner, 6, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* None is active. */
  for (int round = 0; round < kRounds; ++round) {
    MPI_Startall(count, requests);
    for (int i = 0; i < count; ++i) ids[i] = start("MPI_Startall");
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i) done(ids[i], "MPI_Waitall");
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&requests[i]);
      ids[i] = start("MPI_Start");
    }
    for (int i = 1; i >= 0; --i) {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      done(ids[i], "MPI_Wait");
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE); /* Not active any more. */
    }
  }
  for (int i = 0; i < count; ++i) MPI_Request_free(&requests[i]);
}

static void ended_otherwise(void) {
  MPI_Request request;
  int id = irecv(4711, 0, 10, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  done(id, "MPI_Wait");
  id = issend(7, 1000, &request);
  MPI_Request_free(&request);
  fprintf(said, "freed %d\n", id);
  MPI_Recv(in, 1000, MPI_CHAR, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void collectives(void) {
  MPI_Request requests[4];
  int ids[4], here = rank, sum = 0;
  MPI_Comm copy;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    ids[0] = start("MPI_Ibarrier");
    MPI_Ibcast(out, 1000, MPI_CHAR, 0, MPI_COMM_WORLD, &requests[1]);
    ids[1] = start("MPI_Ibcast");
    MPI_Iallreduce(&here, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    ids[2] = start("MPI_Iallreduce");
    MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[3]);
    ids[3] = start("MPI_Comm_idup");
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; ++i) done(ids[i], "MPI_Waitall");
    MPI_Comm_free(&copy);
  }
}

static void matched_probe(void) {
  MPI_Request send, receive;
  MPI_Message message;
  int flag = 0;
  for (int i = 0; i < 20; ++i) {
    MPI_Iprobe(partner, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    answered(kIprobe, flag);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int sent = issend(8, 500, &send);
  do {
    MPI_Iprobe(partner, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  } while (!answered(kIprobe, flag));
  do {
    MPI_Improbe(partner, 8, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  } while (!answered(kImprobe, flag));
  MPI_Imrecv(in, 500, MPI_CHAR, &message, &receive);
  const int got = start("MPI_Imrecv");
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  done(got, "MPI_Wait");
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  done(sent, "MPI_Wait");
}

static void others(void) {
  MPI_Request requests[3];
  int ids[3];
  MPI_Win window;
  static char memory[1000];
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_lock_all(0, window);
  MPI_Rput(out, 100, MPI_CHAR, partner, 0, 100, MPI_CHAR, window, &requests[0]);
  ids[0] = start("MPI_Rput");
  MPI_Rget(in, 100, MPI_CHAR, partner, 200, 100, MPI_CHAR, window, &requests[1]);
  ids[1] = start("MPI_Rget");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2; ++i) done(ids[i], "MPI_Waitall");
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);

  char name[64];
  snprintf(name, sizeof name, "written.%d", rank);
  MPI_File file;
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, 0, out, 1000, MPI_CHAR, &requests[0]);
  ids[0] = start("MPI_File_iwrite_at");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  done(ids[0], "MPI_Wait");
  MPI_File_iread_at(file, 0, in, 1000, MPI_CHAR, &requests[0]);
  ids[0] = start("MPI_File_iread_at");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  done(ids[0], "MPI_Wait");
  MPI_File_close(&file);
}

static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_CHAR, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static int release(void* state) { return (void)state, MPI_SUCCESS; }
static int cancel(void* state, int complete) { return (void)state, (void)complete, MPI_SUCCESS; }

#ifdef OPEN_MPI /* After it, MPICH 4.0.2 waits for ever in MPI_Finalize. */
static int fail(void* state, MPI_Status* status) {
  query(state, status);
  return MPI_ERR_OTHER;
}

/* Calls that fail, without statuses: MPI does not say which operation has completed. */
static void failures(void) {
  MPI_Errhandler before;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int how = 0; how < 2; ++how) {
    MPI_Request request;
    int count, index;
    MPI_Grequest_start(fail, release, cancel, NULL, &request);
    start("MPI_Grequest_start");
    MPI_Grequest_complete(request);
    if (how == 0) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    if (how == 1) MPI_Waitsome(1, &request, &count, &index, MPI_STATUSES_IGNORE);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
}
#endif

static void generalised(void) {
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  const int id = start("MPI_Grequest_start");
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  done(id, "MPI_Wait");
}

#if MPI_VERSION >= 4
static void of_version_four(void) {
  MPI_Request requests[2];
  int ids[2];
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  for (int round = 0; round < 2; ++round) {
    MPI_Start(&requests[0]);
    ids[0] = start("MPI_Start");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    done(ids[0], "MPI_Wait");
  }
  MPI_Request_free(&requests[0]);

  MPI_Psend_init(out, 4, 100, MPI_CHAR, partner, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Precv_init(in, 4, 100, MPI_CHAR, partner, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&requests[i]);
      ids[i] = start("MPI_Start");
    }
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) done(ids[i], "MPI_Waitall");
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);

  MPI_Isendrecv(out, 100, MPI_CHAR, partner, 10, in, 100, MPI_CHAR, partner, 10, MPI_COMM_WORLD,
                &requests[0]);
  ids[0] = start("MPI_Isendrecv");
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  done(ids[0], "MPI_Wait");
}
#endif

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  partner = rank ^ 1;
  char name[32];
  snprintf(name, sizeof name, "said.%d", rank);
  said = fopen(name, "w");
  if (said == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  small_messages();
  backwards();
  one_test();
  any_and_some();
  nothing_to_wait_for();
  persistent();
  ended_otherwise();
  collectives();
  matched_probe();
  others();
  generalised();
#if MPI_VERSION >= 4
  of_version_four();
#endif
#ifdef OPEN_MPI
  failures();
#endif
  for (int i = 0; i < kPolls; ++i)
    fprintf(said, "polls %s %ld %ld\n", poll_names[i], polls[i][0], polls[i][1]);
  fclose(said);
  MPI_Finalize();
  return 0;
}
