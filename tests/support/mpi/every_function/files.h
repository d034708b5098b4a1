#pragma once

/* Functions about files that move no data. Their records have no columns. */

#include "every_function.h"

static int extent_of(MPI_Datatype type, MPI_Aint* extent, void* state) {
  (void)type, (void)state;
  *extent = 4;
  return MPI_SUCCESS;
}

static void files(void) {
  MPI_Offset bytes = 0;
  MPI_Aint extent = 0;
  MPI_Count extent_c = 0;
  MPI_Group group;
  MPI_Datatype elements, filetype;
  MPI_File own;
  char name[64], representation[MPI_MAX_DATAREP_STRING];
  int number = 0;
  /* A file of one rank: on one of several ranks, MPI_File_set_size of Open MPI 4.1.4 waits for ever
   * once in some forty runs, without xylem too. */
  snprintf(name, sizeof name, "own.%d", rank);
  CALL(MPI_File_open, (MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &own),
       "comm=self");
  CALL(MPI_File_write, (own, out, 5, MPI_INT, MPI_STATUS_IGNORE), "bytes=20");
  CALL(MPI_File_get_amode, (own, &number));
  CALL(MPI_File_get_atomicity, (own, &number));
  CALL(MPI_File_set_atomicity, (own, 0));
  CALL(MPI_File_seek, (own, 4, MPI_SEEK_SET));
  CALL(MPI_File_get_position, (own, &bytes));
  CALL(MPI_File_seek_shared, (own, 8, MPI_SEEK_SET));
  CALL(MPI_File_get_position_shared, (own, &bytes));
  CALL(MPI_File_get_byte_offset, (own, 4, &bytes));
  CALL(MPI_File_get_size, (own, &bytes));
  CALL(MPI_File_preallocate, (own, bytes));
  CALL(MPI_File_set_size, (own, bytes));
  CALL(MPI_File_sync, (own));
  CALL(MPI_File_get_group, (own, &group));
  CALL(MPI_Group_free, (&group));
  CALL(MPI_File_get_type_extent, (own, MPI_INT, &extent));
  CALL(MPI_File_get_type_extent_c, (own, MPI_INT, &extent_c));
  CALL(MPI_File_set_view, (own, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CALL(MPI_File_get_view, (own, &bytes, &elements, &filetype, representation));
  CALL(MPI_File_close, (&own));
  CALL(MPI_File_delete, (name, MPI_INFO_NULL));
  /* Open MPI 4.1.4 refuses it. */
  TRY(MPI_Register_datarep,
      ("every", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL));
#if MPI_VERSION >= 4
  CALL(MPI_Register_datarep_c,
       ("every_c", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, NULL));
#endif
}
