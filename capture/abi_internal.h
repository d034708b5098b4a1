#pragma once

// What differs between MPI libraries in memory: handles, special values, the shape of a status.
//
// Wrappers take every argument as a machine word, so one library serves MPICH's ABI (also Intel
// MPI) and Open MPI's. A further ABI is one more Abi value in abi.cc.

#include <cstdint>

namespace xylem::capture {

/// An argument or result as it stands in a register. The upper half of an int is undefined.
using Word = std::uintptr_t;

/// One MPI's values. Found once, when the process starts MPI; constant from then on.
struct Abi {
  Word handle_mask = 0;         ///< The bits of a word that are the handle: 32 or 64.
  unsigned handle_bytes = 0;    ///< Of one element in an array of handles.
  bool size_in_handle = false;  ///< A predefined datatype's handle tells its size (MPICH).

  Word comm_world = 0;
  Word comm_self = 0;
  Word comm_null = 0;
  Word byte = 0;  ///< MPI_BYTE.
  Word request_null = 0;
  Word message_no_proc = 0;

  int proc_null = 0;
  int root = 0;
  int undefined = 0;
  int cartesian = 0;  ///< MPI_Topo_test's answers.
  int graph = 0;
  int dist_graph = 0;
  int error_in_status = 0;
  int error_other = 0;

  Word status_ignore = 0;
  Word statuses_ignore = 0;
  Word in_place = 0;

  unsigned status_bytes = 0;  ///< From one status to the next in an array.
  unsigned source_at = 0;     ///< Byte offsets inside a status.
  unsigned tag_at = 0;
  unsigned error_at = 0;
};

/// The largest status of any ABI: room to give to an MPI that was passed MPI_STATUS_IGNORE.
constexpr unsigned kLargestStatus = 32;

/// The ABI of the MPI in this process: Open MPI's when its world communicator is there, else
/// MPICH's. `library` is a dlopen handle in which to look after the global scope, or null.
Abi find_abi(void* library) noexcept;

/// What a received status says. All are plain reads: no call, no failure.
int status_source(const Abi& abi, const unsigned char* status) noexcept;
int status_tag(const Abi& abi, const unsigned char* status) noexcept;
int status_error(const Abi& abi, const unsigned char* status) noexcept;
bool status_cancelled(const Abi& abi, const unsigned char* status) noexcept;
/// Payload that arrived, whatever its type.
std::uint64_t status_bytes(const Abi& abi, const unsigned char* status) noexcept;

}  // namespace xylem::capture
