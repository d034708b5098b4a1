#pragma once

/* Sessions, and communicators of their groups. */

#include "every_function.h"

#if MPI_VERSION >= 4
static void on_session_error(MPI_Session* session, int* code, ...) { (void)session, (void)code; }

static void questions_about(MPI_Session session) {
  MPI_Errhandler handler;
  MPI_Info info;
  int number = 0, length = 0;
  char name[MPI_MAX_PSET_NAME_LEN];
  CALL(MPI_Session_get_num_psets, (session, MPI_INFO_NULL, &number));
  length = sizeof name;
  CALL(MPI_Session_get_nth_pset, (session, MPI_INFO_NULL, 0, &length, name));
  CALL(MPI_Session_get_pset_info, (session, "mpi://WORLD", &info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_Session_get_info, (session, &info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_Session_create_errhandler, (on_session_error, &handler));
  CALL(MPI_Session_set_errhandler, (session, handler));
  CALL(MPI_Session_get_errhandler, (session, &handler));
  CALL(MPI_Session_call_errhandler, (session, MPI_ERR_OTHER));
}

static void in_a_session(bool has_world) {
  MPI_Session session;
  MPI_Group all;
  MPI_Comm comm;
  const char* known = has_world ? "comm=from_group" : "";
  CALL(MPI_Session_init, (MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
  questions_about(session);
  CALL(MPI_Group_from_session_pset, (session, "mpi://WORLD", &all));
  CALL(MPI_Comm_create_from_group,
       (all, "every_function", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm), "%s", known);
  CALL(MPI_Barrier, (comm), "%s",
       has_world ? "received_bytes=0 comm=from_group number=collective" : "");
  CALL(MPI_Comm_free, (&comm), "%s", known);
  CALL(MPI_Group_free, (&all));
  CALL(MPI_Session_finalize, (&session));
}

/* An intercommunicator between the first two ranks and the last two. */
static void between_groups(void) {
  MPI_Group all, groups[2];
  MPI_Comm made;
  int ranges[2][1][3] = {{{0, 1, 1}}, {{2, 3, 1}}};
  const int half = rank / 2;
  CALL(MPI_Comm_group, (MPI_COMM_WORLD, &all));
  for (int g = 0; g < 2; ++g) CALL(MPI_Group_range_incl, (all, 1, ranges[g], &groups[g]));
  CALL(MPI_Intercomm_create_from_groups,
       (groups[half], 0, groups[!half], 0, "between", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made),
       "comm=between_groups");
  CALL(MPI_Comm_free, (&made), "comm=between_groups");
  for (int g = 0; g < 2; ++g) CALL(MPI_Group_free, (&groups[g]));
  CALL(MPI_Group_free, (&all));
}

static void sessions_in_a_world(void) {
  in_a_session(true);
  between_groups();
}
static void with_sessions_only(void) { in_a_session(false); }
#else
static void sessions_in_a_world(void) {}
static void with_sessions_only(void) {}
#endif
