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
  MPI_File other;
  char name[64];
  int number = 0;
  CALL(MPI_File_get_amode, (file, &number));
  CALL(MPI_File_get_atomicity, (file, &number));
  CALL(MPI_File_set_atomicity, (file, 0));
  CALL(MPI_File_seek, (file, 4, MPI_SEEK_SET));
  CALL(MPI_File_get_position, (file, &bytes));
  CALL(MPI_File_seek_shared, (file, 8, MPI_SEEK_SET));
  CALL(MPI_File_get_position_shared, (file, &bytes));
  CALL(MPI_File_get_byte_offset, (file, 4, &bytes));
  CALL(MPI_File_get_size, (file, &bytes));
  CALL(MPI_File_preallocate, (file, bytes));
  CALL(MPI_File_set_size, (file, bytes));
  CALL(MPI_File_sync, (file));
  CALL(MPI_File_get_group, (file, &group));
  CALL(MPI_Group_free, (&group));
  CALL(MPI_File_get_type_extent, (file, MPI_INT, &extent));
  CALL(MPI_File_get_type_extent_c, (file, MPI_INT, &extent_c));
  CALL(MPI_File_set_view, (file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CALL(MPI_File_get_view, (file, &bytes, &elements, &filetype, name));
  /* Open MPI 4.1.4 refuses it. */
  TRY(MPI_Register_datarep,
      ("every", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL));
#if MPI_VERSION >= 4
  CALL(MPI_Register_datarep_c,
       ("every_c", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, extent_of, NULL));
#endif
  /* A file of one rank. */
  snprintf(name, sizeof name, "deleted.%d", rank);
  CALL(MPI_File_open,
       (MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &other),
       "comm=self");
  CALL(MPI_File_write, (other, out, 5, MPI_INT, MPI_STATUS_IGNORE), "bytes=20");
  CALL(MPI_File_close, (&other));
  CALL(MPI_File_delete, (name, MPI_INFO_NULL));
}
