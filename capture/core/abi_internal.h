#pragma once

// The differences between MPI libraries: handles, special values and the layout of a status in
// memory.
//
// Wrappers take every argument as a machine word. So one capture library works with the ABI of
// MPICH (also Intel MPI) and with the ABI of Open MPI. To add another ABI, add an Abi value in
// abi.cc.

#include <cstdint>

#include "capture/core/ring.h"

namespace xylem::capture {

/// An argument or result, as passed in a register. The upper half of an int is undefined.
using Word = std::uintptr_t;

/// The values of one MPI library. They are determined when capture starts, and then stay constant.
struct Abi {
  Word handle_mask = 0;  ///< Mask of the bits of a word that belong to the handle: 32 or 64 bits.
  unsigned handle_bytes = 0;    ///< Size of an element in an array of handles.
  bool size_in_handle = false;  ///< The handle of a predefined datatype contains the size (MPICH).

  Word comm_world = 0;
  Word comm_self = 0;
  Word comm_null = 0;
  Word byte = 0;  ///< MPI_BYTE.
  Word request_null = 0;
  Word message_no_proc = 0;

  int proc_null = 0;
  int any_source = 0;
  int root = 0;
  int undefined = 0;
  int cartesian = 0;  ///< This value and the next two are results of MPI_Topo_test.
  int graph = 0;
  int dist_graph = 0;
  int error_in_status = 0;
  int error_other = 0;

  Word status_ignore = 0;
  Word statuses_ignore = 0;
  Word in_place = 0;
  /// Handles of MPI's operations, by ReduceOperation. MPICH's handles contain this number.
  Word operations[kReduceOperations] = {};

  unsigned status_bytes = 0;  ///< Size of an element in an array of statuses.
  unsigned source_at = 0;     ///< This value and the next two are byte offsets in a status.
  unsigned tag_at = 0;
  unsigned error_at = 0;
};

/// At least the size of a status of any ABI. The library passes a buffer of this size to MPI if the
/// program passed MPI_STATUS_IGNORE.
constexpr unsigned kLargestStatus = 32;

/// Which of MPI's operations a handle is.
ReduceOperation find_operation(const Abi& abi, Word handle) noexcept;
inline ReduceOperation operation_of(const Abi& abi, Word handle) noexcept {
  constexpr Word kMpichOperation = 0x58000000;
  if (abi.handle_bytes != 4) return find_operation(abi, handle);
  const Word number = (handle & abi.handle_mask) - kMpichOperation;
  return static_cast<ReduceOperation>(number < kReduceOperations ? number : 0);
}

/// Returns the ABI of the MPI library in this process. This is Open MPI's ABI if the symbol of Open
/// MPI's world communicator exists, else MPICH's ABI. `library` is a dlopen handle to search after
/// the global scope, or null.
Abi find_abi(void* library) noexcept;

// The functions below read a received status. They only read memory and cannot fail.

/// A field of a status; `at` is its offset in bytes.
template <class T>
inline T status_field(const unsigned char* status, unsigned at) noexcept {
  T value;
  __builtin_memcpy(&value, status + at, sizeof value);
  return value;
}
inline int status_source(const Abi& abi, const unsigned char* status) noexcept {
  return status_field<int>(status, abi.source_at);
}
inline int status_tag(const Abi& abi, const unsigned char* status) noexcept {
  return status_field<int>(status, abi.tag_at);
}
inline int status_error(const Abi& abi, const unsigned char* status) noexcept {
  return status_field<int>(status, abi.error_at);
}

constexpr unsigned kMpichCountLow = 0;
constexpr unsigned kMpichCountHighAndCancelled = 4;
constexpr unsigned kOpenMpiCancelled = 12;
constexpr unsigned kOpenMpiCount = 16;

inline bool status_cancelled(const Abi& abi, const unsigned char* status) noexcept {
  if (abi.handle_bytes == 8) return status_field<int>(status, kOpenMpiCancelled) != 0;
  return (status_field<std::uint32_t>(status, kMpichCountHighAndCancelled) & 1) != 0;
}

/// Size of the received payload in bytes, for any datatype.
inline std::uint64_t status_bytes(const Abi& abi, const unsigned char* status) noexcept {
  if (abi.handle_bytes == 8) return status_field<std::uint64_t>(status, kOpenMpiCount);
  const std::uint64_t high = status_field<std::uint32_t>(status, kMpichCountHighAndCancelled) >> 1;
  return high << 32 | status_field<std::uint32_t>(status, kMpichCountLow);
}

}  // namespace xylem::capture
