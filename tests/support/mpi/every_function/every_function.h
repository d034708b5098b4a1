#pragma once

/* What the parts of every_function.c share: the macro that makes a call and says it, and the values
 * of the calls.
 *
 *   CALL(MPI_Send, (out, 5, MPI_INT, right, 7, MPI_COMM_WORLD), "peer=%d tag=7 bytes=20", right);
 *
 * makes the call, and writes what its record must have into the file said.HOW.RANK: columns of the
 * table `event`. Columns that are not named must be NULL, or 0 bytes. Nothing happens if this MPI
 * does not have the function. PART writes the same for a further row of the call before it (table
 * `completion`). TRY makes a call that fails, or that fails with some versions of MPI: its record
 * has its result. COUNTED makes a call in a callback of MPI, which is counted without a record.
 * Every call of MPI is made in these ways.
 *
 * A word stands for a value that is not known here, and must have the same value wherever it
 * stands: `comm` is a name for a communicator, the same on all of its ranks, and `request` the
 * number of an operation, counted from 1.
 */

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exists.h"

#ifdef BY_PROFILING_NAME
#define NAMED(function) P##function
#else
#define NAMED(function) function
#endif
#define CALL(function, arguments, ...) CALL_##function(function, arguments, __VA_ARGS__)
#define CALL_IT(function, arguments, ...) \
  (NAMED(function) arguments, say("call " #function " " __VA_ARGS__))
/* Conversions of handles are not counted by their profiling names: MPI's Fortran libraries make
 * several for each call. */
#define CALL_CONVERSION(function, arguments, ...) \
  (function arguments, say("call " #function " " __VA_ARGS__))
#define CALL_NOTHING(function, arguments, ...) ((void)0)
#define TRY(function, arguments, ...) TRY_##function(function, arguments, __VA_ARGS__)
#define TRY_IT(function, arguments, ...)                       \
  do {                                                         \
    const int result_ = NAMED(function) arguments;             \
    say("call " #function " result=%d " __VA_ARGS__, result_); \
  } while (false)
#define TRY_NOTHING(function, arguments, ...) ((void)0)
#define COUNTED(function, arguments) CALL_##function(function, arguments, "counted=1")
#define PART(...) say("part - " __VA_ARGS__)

enum { kRanks = 4, kRoom = 1 << 16 };

static FILE* said;
static int last_id;

/* The ring of all ranks, and the line of them, whose ends have one neighbour. */
static int rank, size, left, right, root = 1;
static bool is_root, has_left, has_right;
static int neighbours;
static MPI_Comm line;

/* All ranks in reverse order. Arrays of counts and places are in its order. */
static MPI_Comm turned;
static int place;
static MPI_Datatype five_ints;

static int buffer[kRoom], out[kRoom], in[kRoom];
static MPI_Win window;
static MPI_File file;

/* Counts and places of arrays, for ranks or neighbours: as int, and with _c as MPI_Count and
 * MPI_Aint. */
static int all_shares, all_to_each, all_from_each;
static int shares[kRanks], share_places[kRanks], to_each[kRanks], from_each[kRanks],
    wide_places[kRanks];
static int byte_places[kRanks], from_line[2], two_and_three[2] = {2, 3}, three_and_two[2] = {3, 2};
static MPI_Count shares_c[kRanks], to_each_c[kRanks], from_each_c[kRanks], from_line_c[2];
static MPI_Count two_and_three_c[2] = {2, 3}, three_and_two_c[2] = {3, 2};
static MPI_Aint share_places_c[kRanks], wide_places_c[kRanks], byte_places_c[kRanks];
static MPI_Datatype types[kRanks];

__attribute__((format(printf, 1, 2))) static inline void say(const char* columns, ...) {
  va_list values;
  va_start(values, columns);
  vfprintf(said, columns, values);
  va_end(values);
  fputc('\n', said);
}

/* The rank in MPI_COMM_WORLD of a rank of `turned`, and the other way round. */
static inline int turn(int of) { return size - 1 - of; }

/* Asked before each further test: lets the other ranks go on if there are fewer processors than
 * ranks. */
static inline bool is_true(int flag) {
  if (!flag) usleep(200);
  return flag;
}

/* A number for the operation that the call has started. */
static inline int next_id(void) { return ++last_id; }

/* Waits for the operation that was started last. */
#define complete(request_at, columns, ...)                                                \
  CALL(MPI_Wait, (request_at, MPI_STATUS_IGNORE), "request=%d stage=completion " columns, \
       last_id __VA_OPT__(, ) __VA_ARGS__)

static inline void barrier(void) {
  CALL(MPI_Barrier, (MPI_COMM_WORLD), "received_bytes=0 comm=world number=collective");
}

/* After MPI_Init: what the calls need. */
static inline void prepare_values(void) {
  CALL(MPI_Comm_rank, (MPI_COMM_WORLD, &rank));
  CALL(MPI_Comm_size, (MPI_COMM_WORLD, &size));
  if (size != kRanks) MPI_Abort(MPI_COMM_WORLD, 2);
  left = (rank + size - 1) % size;
  right = (rank + 1) % size;
  place = turn(rank);
  is_root = rank == root;
  has_left = rank > 0;
  has_right = rank < size - 1;
  neighbours = has_left + has_right;
  for (int r = 0; r < size; ++r) {
    shares[r] = r + 1, share_places[r] = all_shares, all_shares += shares[r];
    to_each[r] = place + 2 * r + 1, all_to_each += to_each[r];
    from_each[r] = r + 2 * place + 1, all_from_each += from_each[r];
    wide_places[r] = 100 * r, byte_places[r] = 400 * r, types[r] = MPI_INT;
    shares_c[r] = shares[r], share_places_c[r] = share_places[r], to_each_c[r] = to_each[r];
    from_each_c[r] = from_each[r];
    wide_places_c[r] = wide_places[r], byte_places_c[r] = byte_places[r];
  }
  from_line[0] = rank, from_line[1] = rank + 2;
  from_line_c[0] = rank, from_line_c[1] = rank + 2;
}
