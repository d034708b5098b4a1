#pragma once

/* Functions about datatypes and packed data. Their records have no columns. */

#include "every_function.h"

static MPI_Datatype made_type;

/* Calls a function that makes made_type, and frees the type. */
#define MAKE_TYPE(function, arguments)                    \
  do {                                                    \
    made_type = MPI_DATATYPE_NULL;                        \
    CALL(function, arguments);                            \
    if (made_type != MPI_DATATYPE_NULL) free_made_type(); \
  } while (false)

static void free_made_type(void) { CALL(MPI_Type_free, (&made_type)); }

static int sizes[1] = {8}, parts[1] = {2}, starts[1] = {1},
           distributions[1] = {MPI_DISTRIBUTE_BLOCK};
static int arguments_of_blocks[1] = {MPI_DISTRIBUTE_DFLT_DARG}, processes[1] = {kRanks},
           lengths[2] = {1, 2}, gaps[2] = {0, 4};
static MPI_Aint byte_gaps[2] = {0, 16};
static MPI_Datatype two_types[2];
static MPI_Count sizes_c[1] = {8}, parts_c[1] = {2}, starts_c[1] = {1}, lengths_c[2] = {1, 2},
                 gaps_c[2] = {0, 4};
static MPI_Count byte_gaps_c[2] = {0, 16};

static void constructors(void) {
  two_types[0] = MPI_INT, two_types[1] = MPI_DOUBLE;
  MAKE_TYPE(MPI_Type_contiguous, (2, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_vector, (2, 1, 2, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_indexed, (2, lengths, gaps, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_dup, (MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_darray, (kRanks, rank, 1, sizes, distributions, arguments_of_blocks,
                                     processes, MPI_ORDER_C, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hindexed, (2, lengths, byte_gaps, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hindexed_block, (2, 1, byte_gaps, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hvector, (2, 1, 16, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_indexed_block, (2, 1, gaps, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_resized, (MPI_INT, 0, 16, &made_type));
  MAKE_TYPE(MPI_Type_create_struct, (2, lengths, byte_gaps, two_types, &made_type));
  MAKE_TYPE(MPI_Type_create_subarray, (1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made_type));
  CALL(MPI_Type_create_f90_complex, (6, 30, &made_type)); /* Predefined types must not be freed. */
  CALL(MPI_Type_create_f90_integer, (6, &made_type));
  CALL(MPI_Type_create_f90_real, (6, 30, &made_type));
  CALL(MPI_Type_match_size, (MPI_TYPECLASS_REAL, 8, &made_type));
  /* The old names. */
  MAKE_TYPE(MPI_Type_hindexed, (2, lengths, byte_gaps, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_hvector, (2, 1, 16, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_struct, (2, lengths, byte_gaps, two_types, &made_type));
  MAKE_TYPE(MPI_Type_contiguous_c, (2, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_vector_c, (2, 1, 2, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_indexed_c, (2, lengths_c, gaps_c, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_darray_c, (kRanks, rank, 1, sizes_c, distributions, arguments_of_blocks,
                                       processes, MPI_ORDER_C, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hindexed_c, (2, lengths_c, byte_gaps_c, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hindexed_block_c, (2, 1, byte_gaps_c, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_hvector_c, (2, 1, 16, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_indexed_block_c, (2, 1, gaps_c, MPI_INT, &made_type));
  MAKE_TYPE(MPI_Type_create_resized_c, (MPI_INT, 0, 16, &made_type));
  MAKE_TYPE(MPI_Type_create_struct_c, (2, lengths_c, byte_gaps_c, two_types, &made_type));
  MAKE_TYPE(MPI_Type_create_subarray_c,
            (1, sizes_c, parts_c, starts_c, MPI_ORDER_C, MPI_INT, &made_type));
}

static void questions_about_types(void) {
  MPI_Datatype type, contents[1];
  MPI_Aint low = 0, extent = 0, addresses[1];
  MPI_Count low_c = 0, extent_c = 0, count_c = 0, ints_c = 0, others_c = 0, large_c = 0, many_c[4];
  int ints[4], count = 0, others = 0, large = 0, combiner = 0, length = 0;
  char name[MPI_MAX_OBJECT_NAME];
  CALL(MPI_Type_vector, (2, 1, 2, MPI_INT, &type));
  CALL(MPI_Type_commit, (&type));
  CALL(MPI_Type_set_name, (type, "vector"));
  CALL(MPI_Type_get_name, (type, name, &length));
  CALL(MPI_Type_size, (type, &count));
  CALL(MPI_Type_size_c, (type, &count_c));
  CALL(MPI_Type_size_x, (type, &count_c));
  CALL(MPI_Type_get_extent, (type, &low, &extent));
  CALL(MPI_Type_get_extent_c, (type, &low_c, &extent_c));
  CALL(MPI_Type_get_extent_x, (type, &low_c, &extent_c));
  CALL(MPI_Type_get_true_extent, (type, &low, &extent));
  CALL(MPI_Type_get_true_extent_c, (type, &low_c, &extent_c));
  CALL(MPI_Type_get_true_extent_x, (type, &low_c, &extent_c));
  CALL(MPI_Type_extent, (type, &extent));
  CALL(MPI_Type_lb, (type, &low));
  CALL(MPI_Type_ub, (type, &extent));
  CALL(MPI_Type_get_envelope, (type, &count, &others, &large, &combiner));
  CALL(MPI_Type_get_contents, (type, 3, 0, 1, ints, addresses, contents));
  CALL(MPI_Type_get_envelope_c, (type, &ints_c, &others_c, &large_c, &count_c, &combiner));
  CALL(MPI_Type_get_contents_c, (type, 3, 0, 0, 1, ints, addresses, many_c, contents));
  CALL(MPI_Type_free, (&type));
}

static void packed(void) {
  char packed[256];
  int at = 0, bytes = 0;
  MPI_Aint external_at = 0, external_bytes = 0;
  MPI_Count at_c = 0, bytes_c = 0;
  CALL(MPI_Pack_size, (4, MPI_INT, MPI_COMM_WORLD, &bytes));
  CALL(MPI_Pack, (out, 4, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD));
  bytes = at, at = 0;
  CALL(MPI_Unpack, (packed, bytes, &at, in, 4, MPI_INT, MPI_COMM_WORLD));
  CALL(MPI_Pack_external_size, ("external32", 4, MPI_INT, &external_bytes));
  CALL(MPI_Pack_external, ("external32", out, 4, MPI_INT, packed, sizeof packed, &external_at));
  external_bytes = external_at, external_at = 0;
  CALL(MPI_Unpack_external, ("external32", packed, external_bytes, &external_at, in, 4, MPI_INT));
  CALL(MPI_Pack_size_c, (4, MPI_INT, MPI_COMM_WORLD, &bytes_c));
  CALL(MPI_Pack_c, (out, 4, MPI_INT, packed, sizeof packed, &at_c, MPI_COMM_WORLD));
  bytes_c = at_c, at_c = 0;
  CALL(MPI_Unpack_c, (packed, bytes_c, &at_c, in, 4, MPI_INT, MPI_COMM_WORLD));
  at_c = 0;
  CALL(MPI_Pack_external_size_c, ("external32", 4, MPI_INT, &bytes_c));
  CALL(MPI_Pack_external_c, ("external32", out, 4, MPI_INT, packed, sizeof packed, &at_c));
  bytes_c = at_c, at_c = 0;
  CALL(MPI_Unpack_external_c, ("external32", packed, bytes_c, &at_c, in, 4, MPI_INT));
}

static void addresses_and_counts(void) {
  MPI_Aint address = 0;
  MPI_Status status;
  MPI_Count count_c = 0;
  int count = 0;
  void* memory = NULL;
  memset(&status, 0, sizeof status);
  CALL(MPI_Get_address, (in, &address));
  CALL(MPI_Address, (in, &address));
#ifndef OPEN_MPI /* There, these are macros. */
  CALL(MPI_Aint_add, (address, 8));
  CALL(MPI_Aint_diff, (address, address));
#endif
  CALL(MPI_Status_set_elements, (&status, MPI_INT, 3));
  CALL(MPI_Status_set_elements_x, (&status, MPI_INT, 3));
  CALL(MPI_Status_set_cancelled, (&status, 0));
  CALL(MPI_Test_cancelled, (&status, &count));
  CALL(MPI_Get_count, (&status, MPI_INT, &count));
  CALL(MPI_Get_elements, (&status, MPI_INT, &count));
  CALL(MPI_Get_elements_x, (&status, MPI_INT, &count_c));
  CALL(MPI_Get_count_c, (&status, MPI_INT, &count_c));
  CALL(MPI_Get_elements_c, (&status, MPI_INT, &count_c));
  CALL(MPI_Alloc_mem, (64, MPI_INFO_NULL, &memory));
  CALL(MPI_Free_mem, (memory));
}

static void datatypes(void) {
  constructors();
  questions_about_types();
  packed();
  addresses_and_counts();
}
