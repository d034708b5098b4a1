/* Calls every function of the capture library's table, as far as this MPI has it, and says what the
 * record of each call must have: see every_function.h. Run it on 4 ranks, in a folder of its own.
 *
 *   every_function world      all that the processes of one MPI_COMM_WORLD can do
 *   every_function threads    the same with MPI_THREAD_MULTIPLE
 *   every_function dynamic    processes that meet, and that are started
 *   every_function sessions   a process that never calls MPI_Init
 */

#include "every_function.h"

#include "calls.h"
#include "communicators.h"
#include "datatypes.h"
#include "dynamic.h"
#include "failures.h"
#include "files.h"
#include "objects.h"
#include "requests.h"
#include "scenes.h"
#include "sessions.h"
#include "tools.h"
#include "windows.h"

/* A file that is long enough for all reads. */
static void open_file(void) {
  CALL(MPI_File_open,
       (MPI_COMM_WORLD, "every.file", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
       "comm=world");
  CALL(MPI_File_write_at_all,
       (file, rank * (MPI_Offset)sizeof out, out, kRoom, MPI_INT, MPI_STATUS_IGNORE), "bytes=%zu",
       sizeof out);
  barrier();
}

static void in_a_world(bool with_threads) {
  const int dims[1] = {kRanks}, periods[1] = {0};
  static char room[1 << 16];
  void* detached;
  int bytes = 0;
  if (with_threads)
    CALL(MPI_Init_thread, (NULL, NULL, MPI_THREAD_MULTIPLE, &bytes));
  else
    CALL(MPI_Init, (NULL, NULL));
  prepare_values();
  CALL(MPI_Cart_create, (MPI_COMM_WORLD, 1, dims, periods, 0, &line), "comm=line");
  CALL(MPI_Comm_split, (MPI_COMM_WORLD, 0, -rank, &turned), "comm=turned");
  CALL(MPI_Type_contiguous, (5, MPI_INT, &five_ints));
  CALL(MPI_Type_commit, (&five_ints));
  CALL(MPI_Win_create, (in, sizeof in, sizeof(int), MPI_INFO_NULL, turned, &window), "comm=turned");
  CALL(MPI_Buffer_attach, (room, sizeof room));
  open_file();
  generated_calls();
  requests();
  communicators();
  windows();
  datatypes();
  objects();
  files();
  tools();
  sessions_in_a_world();
  failures();
  CALL(MPI_File_close, (&file));
  CALL(MPI_Buffer_detach, (&detached, &bytes));
#if MPI_VERSION >= 4
  MPI_Count bytes_c = 0;
  CALL(MPI_Buffer_attach_c, (room, sizeof room));
  CALL(MPI_Buffer_detach_c, (&detached, &bytes_c));
#endif
  CALL(MPI_Win_free, (&window), "comm=turned");
  CALL(MPI_Type_free, (&five_ints));
  CALL(MPI_Comm_free, (&turned), "comm=turned");
  CALL(MPI_Comm_free, (&line), "comm=line");
  CALL(MPI_Finalize, ());
}

int main(int count, char** arguments) {
  const char* place = getenv("PMI_RANK");
  if (place == NULL) place = getenv("OMPI_COMM_WORLD_RANK");
  char name[64];
  if (count != 2 || place == NULL) return 2;
  snprintf(name, sizeof name, "said.%s.%s", arguments[1], place);
  said = fopen(name, "w");
  if (said == NULL) return 2;
  setvbuf(said, NULL, _IOLBF, 0); /* A call that ends the process is the one after the last line. */
  const char* how = arguments[1];
  if (strcmp(how, "world") == 0) in_a_world(false);
  if (strcmp(how, "threads") == 0) in_a_world(true);
  if (strcmp(how, "sessions") == 0) with_sessions_only();
  if (strcmp(how, "dynamic") == 0) dynamic(arguments[0]);
  if (strcmp(how, "child") == 0 || strcmp(how, "multiple") == 0) child();
  return fclose(said);
}
