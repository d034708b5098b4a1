// Sources of the values: both mpi.h headers, offsetof and sizeof of compiled programs, and MPICH's
// published ABI (status: count_lo, count_hi_and_cancelled, source, tag, error).

#include <dlfcn.h>

#include "capture/core/abi_internal.h"
#include "capture/core/system_internal.h"

namespace xylem::capture {
namespace {

Abi mpich() {
  Abi abi;
  abi.handle_mask = 0xffffffff;
  abi.handle_bytes = 4;
  abi.size_in_handle = true;
  abi.comm_world = 0x44000000;
  abi.comm_self = 0x44000001;
  abi.comm_null = 0x04000000;
  abi.byte = 0x4c00010d;
  abi.request_null = 0x2c000000;
  abi.message_no_proc = 0x6c000000;
  abi.proc_null = -1;
  abi.any_source = -2;
  abi.root = -3;
  abi.undefined = -32766;
  abi.graph = 1;
  abi.cartesian = 2;
  abi.dist_graph = 3;
  abi.error_in_status = 17;
  abi.error_other = 15;
  abi.status_ignore = 1;
  abi.statuses_ignore = 1;
  abi.in_place = static_cast<Word>(-1);
  abi.status_bytes = 20;
  abi.source_at = 8;
  abi.tag_at = 12;
  abi.error_at = 16;
  return abi;
}

// Searches the global scope first: a program that is not position-independent has copies of the
// library's objects, and the addresses of these copies are the handles.
Word object(void* library, const char* name) {
  void* found = find_symbol(RTLD_DEFAULT, name);
  if (found == nullptr && library != nullptr) found = find_symbol(library, name);
  return reinterpret_cast<Word>(found);
}

Abi open_mpi(void* library) {
  Abi abi;
  abi.handle_mask = ~Word{0};
  abi.handle_bytes = 8;
  abi.comm_world = object(library, "ompi_mpi_comm_world");
  abi.comm_self = object(library, "ompi_mpi_comm_self");
  abi.comm_null = object(library, "ompi_mpi_comm_null");
  abi.byte = object(library, "ompi_mpi_byte");
  abi.request_null = object(library, "ompi_request_null");
  abi.message_no_proc = object(library, "ompi_message_no_proc");
  abi.proc_null = -2;
  abi.any_source = -1;
  abi.root = -4;
  abi.undefined = -32766;
  abi.graph = 2;
  abi.cartesian = 1;
  abi.dist_graph = 3;
  abi.error_in_status = 18;
  abi.error_other = 16;
  abi.status_ignore = 0;
  abi.statuses_ignore = 0;
  abi.in_place = 1;
  abi.status_bytes = 24;
  abi.source_at = 0;
  abi.tag_at = 4;
  abi.error_at = 8;
  constexpr const char* kOperations[kReduceOperations] = {nullptr,
                                                          "ompi_mpi_op_max",
                                                          "ompi_mpi_op_min",
                                                          "ompi_mpi_op_sum",
                                                          "ompi_mpi_op_prod",
                                                          "ompi_mpi_op_land",
                                                          "ompi_mpi_op_band",
                                                          "ompi_mpi_op_lor",
                                                          "ompi_mpi_op_bor",
                                                          "ompi_mpi_op_lxor",
                                                          "ompi_mpi_op_bxor",
                                                          "ompi_mpi_op_minloc",
                                                          "ompi_mpi_op_maxloc",
                                                          "ompi_mpi_op_replace",
                                                          "ompi_mpi_op_no_op"};
  for (unsigned i = 1; i < kReduceOperations; ++i)
    abi.operations[i] = object(library, kOperations[i]);
  return abi;
}

}  // namespace

ReduceOperation find_operation(const Abi& abi, Word handle) noexcept {
  for (unsigned i = 1; i < kReduceOperations; ++i) {
    if (handle == abi.operations[i]) return static_cast<ReduceOperation>(i);
  }
  return ReduceOperation::kUser;
}

Abi find_abi(void* library) noexcept {
  return object(library, "ompi_mpi_comm_world") != 0 ? open_mpi(library) : mpich();
}

}  // namespace xylem::capture
