#pragma once

// What the shapes of meaning.tsv do: one after_SHAPE per shape, run by a wrapper when the real
// function has returned, and before_SHAPE where something must be kept before the call consumes it.
// Those that matter for speed stand in hot_shapes_internal.h.
//
// Each writes the call's records: first the call's own, then completion records for what else it
// moved. When the call failed, its record tells nothing but times and result.
//
// Bytes, always the payload that *this rank* puts in, count times type size:
//   send, psend, sendrecv     what is sent; nothing to MPI_PROC_NULL; persistent: at each start
//   recv, mrecv, completions  what arrived, from the status
//   probes, waits, barrier    0
//   bcast, scatter(v)         at the root: what it gives (scatter: to all, itself included); else 0
//   gather, allgather         the send block; MPI_IN_PLACE: this rank's block of the receive buffer
//   gatherv, allgatherv       the same, with this rank's receive count for MPI_IN_PLACE
//   alltoall                  block times members; v, w: the sum; MPI_IN_PLACE: from receive counts
//   reduce, allreduce, scan, exscan, reduce_local   count (MPI_IN_PLACE or not)
//   reduce_scatter            sum of the receive counts; block: receive count times members
//   neighbor_allgather(v)     the send block, once; neighbor_alltoall: block times out-neighbours,
//                             v and w: the sum over them
// In intercommunicators "members" is the remote group, and only the root group's root gives.
//
// Peer: the other side's world rank; for rooted collectives the root's.

#include <cstdint>

#include "capture/core/comm_map_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/request_table_internal.h"

namespace xylem::capture {

/// When the payload that a function describes moves.
enum class Mode : std::uint8_t { kBlocking, kRequest, kPersistent };

/// An array of counts: int in the classic functions, MPI_Count in their _c twins.
struct Counts {
  Word at;
  bool wide;
  std::int64_t operator[](std::int32_t i) const noexcept {
    return wide ? reinterpret_cast<const std::int64_t*>(at)[i]
                : reinterpret_cast<const std::int32_t*>(at)[i];
  }
};

/// Arguments out of registers.
inline std::int32_t to_int(Word word) noexcept { return static_cast<std::int32_t>(word); }
inline std::int64_t to_count(Word word) noexcept { return static_cast<std::int64_t>(word); }

/// The handle that `at` points to, or element `i` of an array of handles. 0 for a null pointer.
XYLEM_INLINE Word load_handle(Word at, std::uint32_t i = 0) noexcept {
  if (at == 0) return 0;
  if (process.abi.handle_bytes == 4) return reinterpret_cast<const std::uint32_t*>(at)[i];
  return reinterpret_cast<const Word*>(at)[i];
}

/// Bytes of one element, as MPI says; 0 when it does not.
std::uint64_t type_size(Word datatype) noexcept;

/// Follows a receive to its completion. Counts it as untracked when there is no room.
void track_receive(Word request, const Members* members, std::uint32_t comm, std::int32_t peer,
                   std::int32_t tag, RequestKind kind) noexcept;
/// Follows a persistent request; what it moves at each start is in `meaning`.
void track_persistent(Meaning meaning, RequestKind kind) noexcept;
/// Follows a message that a probe has matched, from where `message` points to.
void track_message(Word message, const Members* members, Meaning meaning) noexcept;

/// A call has not completed `tracked`, which had the handle `before`, or completed it with an
/// error: MPI says which by the handle `now`.
inline void put_back(TrackedRequest* tracked, Word before, Word now) noexcept {
  if (now == before) {
    requests.publish(tracked, before);
  } else {
    requests.release(tracked);
  }
}
/// `tracked` has completed with `status`. Says what was received.
Meaning complete(TrackedRequest* tracked, Word request, Word status) noexcept;

// Point to point.
void after_psend(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t dest, std::int32_t tag,
                 Word comm) noexcept;
void after_isendrecv(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t dest, std::int32_t tag, std::int32_t source, Word comm) noexcept;
void before_mrecv(Call& call, Word message) noexcept;
void after_mrecv(const Call& call, Word status) noexcept;
void after_imrecv(const Call& call, Word request) noexcept;
void after_start(const Call& call, Word request) noexcept;
void after_startall(const Call& call, std::int32_t count, Word array) noexcept;

// Wait and test of several requests. before_completion takes the requests out of sight and gives
// the status array for the real call; `ignore` is the value that means none is wanted.
Word before_completion(const Call& call, std::int32_t count, Word array, Word statuses,
                       Word ignore) noexcept;
/// After a waitall that returned an error, or a testall without result: puts the requests back but
/// those that completed nevertheless.
void after_unfinished(const Call& call, Word array, Word statuses) noexcept;
void after_waitany(const Call& call, std::int32_t count, Word array, Word index, Word status,
                   Word flag) noexcept;
void after_waitsome(const Call& call, std::int32_t count, Word array, Word outcount, Word indices,
                    Word statuses) noexcept;
void before_request_free(Call& call, Word request) noexcept;
void after_request_free(const Call& call) noexcept;
void after_request(const Call& call, Word handle) noexcept;  ///< Names the request, no more.

// Collectives. `comm` first, then as in the table above.
void after_gather(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                  Word sendbuf, std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                  Word recvtype) noexcept;
void after_gatherv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   Word sendbuf, std::int64_t sendcount, Word sendtype, Counts recvcounts,
                   Word recvtype) noexcept;
void after_scatter(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   std::int64_t sendcount, Word sendtype) noexcept;
void after_scatterv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                    Counts sendcounts, Word sendtype) noexcept;
void after_allgather(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                     Word recvtype) noexcept;
void after_allgatherv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                      std::int64_t sendcount, Word sendtype, Counts recvcounts,
                      Word recvtype) noexcept;
void after_alltoall(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                    std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                    Word recvtype) noexcept;
void after_alltoallv(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtype, Counts recvcounts, Word recvtype) noexcept;
void after_alltoallw(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                     Counts sendcounts, Word sendtypes, Counts recvcounts, Word recvtypes) noexcept;
void after_reduce_local(const Call& call, std::int64_t count, Word datatype) noexcept;
void after_reduce_scatter(const Call& call, Mode mode, Word request, Word comm, Counts recvcounts,
                          Word datatype) noexcept;
void after_reduce_scatter_block(const Call& call, Mode mode, Word request, Word comm,
                                std::int64_t recvcount, Word datatype) noexcept;
void after_neighbor_allgather(const Call& call, Mode mode, Word request, Word comm,
                              std::int64_t sendcount, Word sendtype) noexcept;
void after_neighbor_alltoall(const Call& call, Mode mode, Word request, Word comm,
                             std::int64_t sendcount, Word sendtype) noexcept;
void after_neighbor_alltoallv(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtype) noexcept;
void after_neighbor_alltoallw(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtypes) noexcept;

// Communicators. The record names the communicator that was made or freed.
void after_comm_new(const Call& call, Mode mode, Word request, Word newcomm) noexcept;
void before_comm_free(const Call& call, Word comm) noexcept;
void after_comm_free(const Call& call) noexcept;

}  // namespace xylem::capture
