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

// What a received status says. All are plain reads: no call, no failure.

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

/// Payload that arrived, whatever its type.
inline std::uint64_t status_bytes(const Abi& abi, const unsigned char* status) noexcept {
  if (abi.handle_bytes == 8) return status_field<std::uint64_t>(status, kOpenMpiCount);
  const std::uint64_t high = status_field<std::uint32_t>(status, kMpichCountHighAndCancelled) >> 1;
  return high << 32 | status_field<std::uint32_t>(status, kMpichCountLow);
}

}  // namespace xylem::capture
