#pragma once

/* The interface for tools, MPI_T_*. Its records have no columns. */

#include "every_function.h"

enum { kText = 4096 };

static void categories(void) {
  int number = 0, ints[64], lengths[2] = {kText, kText}, counts[3];
  static char name[kText], text[kText];
  CALL(MPI_T_category_changed, (&number));
  CALL(MPI_T_category_get_num, (&number));
  TRY(MPI_T_category_get_info,
      (0, name, &lengths[0], text, &lengths[1], &counts[0], &counts[1], &counts[2]));
  TRY(MPI_T_category_get_index, (name, &number));
  TRY(MPI_T_category_get_cvars, (0, 1, ints));
  TRY(MPI_T_category_get_pvars, (0, 1, ints));
  TRY(MPI_T_category_get_categories, (0, 1, ints));
  TRY(MPI_T_category_get_num_events, (0, &number));
  TRY(MPI_T_category_get_events, (0, 1, ints));
}

/* The first variable that is one int of no object, and the first one with names for its values. */
static void control_variables(void) {
  int number = 0, index = 0, verbosity = 0, binding = 0, scope = 0, count = 0, value = 0,
      chosen = -1;
  bool has_names = false;
  int lengths[2] = {kText, kText};
  static char name[kText], text[kText], chosen_name[kText];
  MPI_Datatype type;
  MPI_T_enum of_values;
  MPI_T_cvar_handle handle;
  CALL(MPI_T_cvar_get_num, (&number));
  for (index = 0; index < number && (chosen < 0 || !has_names); ++index) {
    lengths[0] = lengths[1] = kText;
    CALL(MPI_T_cvar_get_info, (index, name, &lengths[0], &verbosity, &type, &of_values, text,
                               &lengths[1], &binding, &scope));
    const bool is_plain = type == MPI_INT && binding == MPI_T_BIND_NO_OBJECT;
    if (is_plain && scope != MPI_T_SCOPE_CONSTANT && scope != MPI_T_SCOPE_READONLY && chosen < 0) {
      chosen = index;
      strcpy(chosen_name, name);
    }
    if (type != MPI_INT || of_values == MPI_T_ENUM_NULL || has_names) continue;
    has_names = true;
    lengths[0] = kText;
    TRY(MPI_T_enum_get_info, (of_values, &count, name, &lengths[0]));
    lengths[0] = kText;
    TRY(MPI_T_enum_get_item, (of_values, 0, &value, name, &lengths[0]));
  }
  CALL(MPI_T_cvar_get_index, (chosen_name, &index));
  CALL(MPI_T_cvar_handle_alloc, (index, NULL, &handle, &count));
  CALL(MPI_T_cvar_read, (handle, &value));
  TRY(MPI_T_cvar_write, (handle, &value));
  CALL(MPI_T_cvar_handle_free, (&handle));
}

/* The first variable without an object that can be read. The library may have none. */
static void performance_variables(void) {
  int number = 0, index = 0, class = 0, verbosity = 0, binding = -1, is_constant = 0,
      is_continuous = 0, is_atomic = 0, count = 0;
  int lengths[2] = {kText, kText};
  static char name[kText], text[kText];
  static long long values[kText];
  MPI_Datatype type;
  MPI_T_enum of_values;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  CALL(MPI_T_pvar_get_num, (&number));
  CALL(MPI_T_pvar_session_create, (&session));
  for (index = 0;
       index < number && binding != MPI_T_BIND_NO_OBJECT && binding != MPI_T_BIND_MPI_COMM;
       ++index) {
    lengths[0] = lengths[1] = kText;
    TRY(MPI_T_pvar_get_info, (index, name, &lengths[0], &verbosity, &class, &type, &of_values, text,
                              &lengths[1], &binding, &is_constant, &is_continuous, &is_atomic));
  }
  MPI_Comm of = MPI_COMM_WORLD;
  TRY(MPI_T_pvar_get_index, (name, class, &index));
  if (binding != -1) /* MPICH 4.0.2 has no variables, and does not check the index. */
    TRY(MPI_T_pvar_handle_alloc,
        (session, index, binding == MPI_T_BIND_MPI_COMM ? &of : NULL, &handle, &count));
  if (handle != MPI_T_PVAR_HANDLE_NULL && count <= kText) {
    TRY(MPI_T_pvar_start, (session, handle));
    TRY(MPI_T_pvar_read, (session, handle, values));
    TRY(MPI_T_pvar_readreset, (session, handle, values));
    TRY(MPI_T_pvar_write, (session, handle, values));
    TRY(MPI_T_pvar_reset, (session, handle));
    TRY(MPI_T_pvar_stop, (session, handle));
    TRY(MPI_T_pvar_handle_free, (session, &handle));
  }
  CALL(MPI_T_pvar_session_free, (&session));
}

#if MPI_VERSION >= 4
static void events(void) {
  int number = 0, verbosity = 0, count = 1, binding = 0, lengths[2] = {kText, kText};
  static char name[kText], text[kText];
  MPI_Datatype elements[1];
  MPI_Aint places[1];
  MPI_T_enum of_values;
  MPI_Info info;
  MPI_Count ticks = 0, most = 0;
  MPI_T_source_order order;
  CALL(MPI_T_event_get_num, (&number));
  CALL(MPI_T_source_get_num, (&number));
  /* MPICH 4.0.2 has no events and no sources. */
  TRY(MPI_T_event_get_index, ("no event", &number));
  TRY(MPI_T_event_get_info, (0, name, &lengths[0], &verbosity, elements, places, &count, &of_values,
                             &info, text, &lengths[1], &binding));
  TRY(MPI_T_source_get_info,
      (0, name, &lengths[0], text, &lengths[1], &order, &ticks, &most, &info));
  TRY(MPI_T_source_get_timestamp, (0, &ticks));
}
#else
static void events(void) {}
#endif

static void tools(void) {
  int provided = 0;
  CALL(MPI_T_init_thread, (MPI_THREAD_SINGLE, &provided));
  categories();
  control_variables();
  performance_variables();
  events();
  CALL(MPI_T_finalize, ());
}
