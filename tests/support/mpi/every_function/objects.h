#pragma once

/* Functions about groups, attributes, handlers of errors, infos, operations, and about the library.
 * Their records have no columns. */

#include "every_function.h"

static void groups(void) {
  MPI_Group all, some, other, made;
  int two[2] = {0, 1}, range[1][3] = {{0, 1, 1}}, answer = 0, ranks[2];
  CALL(MPI_Comm_group, (MPI_COMM_WORLD, &all));
  CALL(MPI_Group_size, (all, &answer));
  CALL(MPI_Group_rank, (all, &answer));
  CALL(MPI_Group_incl, (all, 2, two, &some));
  CALL(MPI_Group_excl, (all, 2, two, &other));
  CALL(MPI_Group_translate_ranks, (some, 2, two, all, ranks));
  CALL(MPI_Group_compare, (some, other, &answer));
  CALL(MPI_Group_union, (some, other, &made));
  CALL(MPI_Group_free, (&made));
  CALL(MPI_Group_intersection, (all, some, &made));
  CALL(MPI_Group_free, (&made));
  CALL(MPI_Group_difference, (all, some, &made));
  CALL(MPI_Group_free, (&made));
  CALL(MPI_Group_range_incl, (all, 1, range, &made));
  CALL(MPI_Group_free, (&made));
  CALL(MPI_Group_range_excl, (all, 1, range, &made));
  CALL(MPI_Group_free, (&made));
  CALL(MPI_Group_free, (&some));
  CALL(MPI_Group_free, (&other));
  CALL(MPI_Group_free, (&all));
}

static void attributes(void) {
  int key = MPI_KEYVAL_INVALID, flag = 0;
  void* value = NULL;
  MPI_Datatype type;
  CALL(MPI_Comm_create_keyval, (MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  CALL(MPI_Comm_set_attr, (MPI_COMM_SELF, key, in));
  CALL(MPI_Comm_get_attr, (MPI_COMM_SELF, key, &value, &flag));
  CALL(MPI_Comm_delete_attr, (MPI_COMM_SELF, key));
  CALL(MPI_Comm_free_keyval, (&key));
  CALL(MPI_Keyval_create, (MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, NULL));
  CALL(MPI_Attr_put, (MPI_COMM_SELF, key, in));
  CALL(MPI_Attr_get, (MPI_COMM_SELF, key, &value, &flag));
  CALL(MPI_Attr_delete, (MPI_COMM_SELF, key));
  CALL(MPI_Keyval_free, (&key));
  CALL(MPI_Type_dup, (MPI_INT, &type));
  CALL(MPI_Type_create_keyval, (MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  CALL(MPI_Type_set_attr, (type, key, in));
  CALL(MPI_Type_get_attr, (type, key, &value, &flag));
  CALL(MPI_Type_delete_attr, (type, key));
  CALL(MPI_Type_free_keyval, (&key));
  CALL(MPI_Type_free, (&type));
  CALL(MPI_Win_create_keyval, (MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
  CALL(MPI_Win_set_attr, (window, key, in));
  CALL(MPI_Win_get_attr, (window, key, &value, &flag));
  CALL(MPI_Win_delete_attr, (window, key));
  CALL(MPI_Win_free_keyval, (&key));
}

static void on_comm_error(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code; }
static void on_file_error(MPI_File* of, int* code, ...) { (void)of, (void)code; }
static void on_window_error(MPI_Win* of, int* code, ...) { (void)of, (void)code; }

static void handlers_of_errors(void) {
  MPI_Errhandler made, before;
  int code = 0, class = 0, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  CALL(MPI_Comm_create_errhandler, (on_comm_error, &made));
  CALL(MPI_Comm_get_errhandler, (MPI_COMM_SELF, &before));
  CALL(MPI_Comm_set_errhandler, (MPI_COMM_SELF, made));
  CALL(MPI_Comm_call_errhandler, (MPI_COMM_SELF, MPI_ERR_OTHER));
  CALL(MPI_Comm_set_errhandler, (MPI_COMM_SELF, before));
  CALL(MPI_Errhandler_free, (&before));
  CALL(MPI_Errhandler_free, (&made));
  CALL(MPI_Errhandler_create, (on_comm_error, &made));
  CALL(MPI_Errhandler_get, (MPI_COMM_SELF, &before));
  CALL(MPI_Errhandler_set, (MPI_COMM_SELF, made));
  CALL(MPI_Errhandler_set, (MPI_COMM_SELF, before));
  CALL(MPI_File_create_errhandler, (on_file_error, &made));
  CALL(MPI_File_get_errhandler, (file, &before));
  CALL(MPI_File_set_errhandler, (file, made));
  CALL(MPI_File_call_errhandler, (file, MPI_ERR_OTHER));
  CALL(MPI_File_set_errhandler, (file, before));
  CALL(MPI_Win_create_errhandler, (on_window_error, &made));
  CALL(MPI_Win_get_errhandler, (window, &before));
  CALL(MPI_Win_set_errhandler, (window, made));
  CALL(MPI_Win_call_errhandler, (window, MPI_ERR_OTHER));
  CALL(MPI_Win_set_errhandler, (window, before));
  CALL(MPI_Add_error_class, (&class));
  CALL(MPI_Add_error_code, (class, &code));
  CALL(MPI_Add_error_string, (code, "of every_function"));
  CALL(MPI_Error_class, (code, &length));
  CALL(MPI_Error_string, (code, text, &length));
  CALL(MPIX_Delete_error_string, (code));
  CALL(MPIX_Delete_error_code, (code));
  CALL(MPIX_Delete_error_class, (class));
}

static void infos(void) {
  MPI_Info info, copy;
  int keys = 0, length = sizeof(int), flag = 0;
  char key[MPI_MAX_INFO_KEY + 1], value[64];
  CALL(MPI_Info_create, (&info));
  CALL(MPI_Info_set, (info, "key", "value"));
  CALL(MPI_Info_get_nkeys, (info, &keys));
  CALL(MPI_Info_get_nthkey, (info, 0, key));
  CALL(MPI_Info_get_valuelen, (info, "key", &length, &flag));
  CALL(MPI_Info_get, (info, "key", 5, value, &flag));
  length = sizeof value;
  CALL(MPI_Info_get_string, (info, "key", &length, value, &flag));
  CALL(MPI_Info_dup, (info, &copy));
  CALL(MPI_Info_delete, (info, "key"));
  CALL(MPI_Comm_set_info, (MPI_COMM_SELF, info));
  CALL(MPI_Win_set_info, (window, info));
  CALL(MPI_File_set_info, (file, info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_Info_free, (&copy));
  CALL(MPI_Comm_get_info, (MPI_COMM_SELF, &info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_Win_get_info, (window, &info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_File_get_info, (file, &info));
  CALL(MPI_Info_free, (&info));
  CALL(MPI_Info_create_env, (0, NULL, &info));
}

static void add(void* from, void* to, int* count, MPI_Datatype* type) {
  (void)from, (void)to, (void)count, (void)type;
}

static void operations(void) {
  MPI_Op made;
  int flag = 0;
  CALL(MPI_Op_create, (add, 1, &made));
  CALL(MPI_Op_commutative, (made, &flag));
  CALL(MPI_Allreduce, (MPI_IN_PLACE, in, 5, MPI_INT, made, MPI_COMM_WORLD),
       "bytes=20 received_bytes=20 comm=world operation=user in_place=1 number=collective");
  CALL(MPI_Op_free, (&made));
#if MPI_VERSION >= 4
  CALL(MPI_Op_create_c, ((MPI_User_function_c*)add, 1, &made));
  CALL(MPI_Op_free, (&made));
#endif
}

static void questions(void) {
  MPI_Comm parent;
  MPI_Group group;
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int number = 0, other = 0, dims[1] = {0};
  CALL(MPI_Initialized, (&number));
  CALL(MPI_Finalized, (&number));
  CALL(MPI_Query_thread, (&number));
  CALL(MPI_Is_thread_main, (&number));
  CALL(MPI_Get_version, (&number, &other));
  CALL(MPI_Get_library_version, (text, &number));
  CALL(MPI_Get_processor_name, (text, &number));
  CALL(MPI_Wtime, ());
  CALL(MPI_Wtick, ());
  CALL(MPI_Pcontrol, (1));
  CALL(MPI_Dims_create, (4, 1, dims));
  CALL(MPI_Comm_compare, (MPI_COMM_WORLD, MPI_COMM_SELF, &number));
  CALL(MPI_Comm_test_inter, (MPI_COMM_WORLD, &number));
  CALL(MPI_Comm_get_name, (MPI_COMM_WORLD, text, &number));
  CALL(MPI_Comm_get_parent, (&parent));
  CALL(MPI_Win_set_name, (window, "window"));
  CALL(MPI_Win_get_name, (window, text, &number));
  CALL(MPI_Win_get_group, (window, &group));
  CALL(MPI_Group_free, (&group));
  CALL(MPIX_GPU_query_support, (0, &number));
  CALL(MPIX_Query_cuda_support, ());
  CALL(MPIX_Query_hip_support, ());
  CALL(MPIX_Query_ze_support, ());
}

/* Handles between C and Fortran: functions in Open MPI, mostly macros in MPICH. */
static void conversions(void) {
  MPI_Status status;
  MPI_Fint fortran[16];
  CALL(MPI_File_c2f, (file));
  CALL(MPI_File_f2c, (0));
  memset(&status, 0, sizeof status);
  CALL(MPI_Status_c2f, (&status, fortran));
  CALL(MPI_Status_f2c, (fortran, &status));
#ifdef OPEN_MPI
#define CONVERT(name, handle) \
  CALL(name##_c2f, (handle)); \
  CALL(name##_f2c, (0))
  CONVERT(MPI_Comm, MPI_COMM_WORLD);
  CONVERT(MPI_Errhandler, MPI_ERRORS_RETURN);
  CONVERT(MPI_Group, MPI_GROUP_EMPTY);
  CONVERT(MPI_Info, MPI_INFO_NULL);
  CONVERT(MPI_Message, MPI_MESSAGE_NULL);
  CONVERT(MPI_Op, MPI_SUM);
  CONVERT(MPI_Request, MPI_REQUEST_NULL);
  CONVERT(MPI_Type, MPI_INT);
  CONVERT(MPI_Win, window);
#endif
}

static void objects(void) {
  groups();
  attributes();
  handlers_of_errors();
  infos();
  operations();
  questions();
  conversions();
}
