#pragma once

// Functions for the shapes in meaning.tsv. A wrapper calls after_SHAPE when the real function has
// returned. Some calls destroy data that the record needs. In their wrappers, before_SHAPE saves
// this data before the real function is called. Shapes that matter for speed are in
// hot_shapes_internal.h.
//
// Each function writes the call's records. The call's own record comes first. Completion records
// for further payload follow. The record of a failed call has no bytes.
//
// Bytes: for sends and collectives the payload that *this rank* provides, for receives the payload
// that has arrived. A size is count times type size, in bytes.
//   send, psend, sendrecv     the size sent; 0 if the target is MPI_PROC_NULL. A persistent send
//                             counts the size at each start.
//   recv, mrecv               the size received, from the status
//   wait, test                the same if the request was a receive that completed, else 0. With
//                             several requests, each request that completed has a completion
//                             record, with its size if it was a receive.
//   probes, barrier           0
//   bcast, scatter(v)         at the root: the size sent; for scatter(v), the sum over all ranks,
//                             the root included. At other ranks: 0.
//   gather, allgather         the size of the send block. With MPI_IN_PLACE: the size of this
//                             rank's block in the receive buffer.
//   gatherv, allgatherv       the size of the send block. With MPI_IN_PLACE: the size that this
//                             rank's receive count gives.
//   alltoall                  the block's size times the number of members. alltoallv, alltoallw:
//                             the sum over the members. With MPI_IN_PLACE the receive counts are
//                             used.
//   reduce, allreduce, scan, exscan, reduce_local   the size of `count` elements, also with
//                             MPI_IN_PLACE
//   reduce_scatter            the sum over the receive counts. reduce_scatter_block: the receive
//                             block's size times the number of members.
//   neighbor_allgather(v)     the size of the send block, counted once
//   neighbor_alltoall         the block's size times the number of out-neighbours.
//                             neighbor_alltoallv, neighbor_alltoallw: the sum over them.
// Room: for receives, and for the starts of receives, the size of the buffer. For collectives the
// payload that this rank *receives*, its own block included, also if it is in place:
//   bcast                     at all ranks but the root: the size
//   gather(v)                 at the root: the sum over all ranks. At other ranks: 0.
//   scatter(v)                the size of the receive block. With MPI_IN_PLACE: the size of this
//                             rank's block in the send buffer.
//   allgather(v), alltoall(v, w)   the sum over the members
//   reduce                    at the root: the size of `count` elements. At other ranks: 0.
//   allreduce, scan, exscan   the size of `count` elements; in MPI_Exscan also on rank 0, which
//                             receives nothing
//   reduce_scatter(_block)    the size of this rank's receive block
//   neighbor_...              the sum over the in-neighbours. Places beyond the border of a
//   Cartesian
//                             grid do not count, here and in the bytes.
// One-sided communication: the bytes that move, in either direction. They count at the call that
// starts them.
//   put, get, accumulate      the size of the origin's buffer
//   get_accumulate, fetch_and_op, compare_and_swap   the size of the result
// Files: the bytes that the status reports. Calls that only start a transfer (MPI_File_iread,
// MPI_File_read_all_begin): the size of the buffer.
//
// The blocks of a persistent collective follow the call that makes its request.
// The collectives gatherv, scatterv, allgatherv, alltoallv and alltoallw have a block for each
// member (kRecordBlock), at the ranks that give MPI an array of counts.
//
// In an intercommunicator, the members are those of the remote group, but for reduce_scatter and
// reduce_scatter_block those of the local group. In the group of the root, only the root provides
// data in bcast and scatter, and nobody in gather and reduce.
//
// Peer: the world rank of the other side; in rooted collectives, the world rank of the root; in
// one-sided communication, the world rank of the target.

#include <cstdint>

#include "capture/core/comm_map_internal.h"
#include "capture/core/process_internal.h"
#include "capture/core/request_table_internal.h"

namespace xylem::capture {

/// The time at which a call moves its payload: before it returns, with a request, or at each start
/// of a persistent request.
enum class Mode : std::uint8_t { kBlocking, kRequest, kPersistent };

/// An array of counts. The elements are MPI_Count in MPI functions whose names end in _c, and int
/// in all others.
struct Counts {
  Word at;
  bool wide;
  std::int64_t operator[](std::int32_t i) const noexcept {
    return wide ? reinterpret_cast<const std::int64_t*>(at)[i]
                : reinterpret_cast<const std::int32_t*>(at)[i];
  }
};

/// Convert arguments from register words.
inline std::int32_t to_int(Word word) noexcept { return static_cast<std::int32_t>(word); }
inline std::int64_t to_count(Word word) noexcept { return static_cast<std::int64_t>(word); }

/// The handle that `at` points to, or element `i` of an array of handles. 0 for a null pointer.
XYLEM_INLINE Word load_handle(Word at, std::uint32_t i = 0) noexcept {
  if (at == 0) return 0;
  if (process.abi.handle_bytes == 4) return reinterpret_cast<const std::uint32_t*>(at)[i];
  return reinterpret_cast<const Word*>(at)[i];
}

/// Size of one element in bytes, according to MPI; 0 if MPI reports no size.
std::uint64_t type_size(Word datatype) noexcept;

/// Gives numbers of requests up if capture was switched off: operations may have completed unseen.
XYLEM_INLINE void note_gaps() noexcept {
  if (__builtin_expect(process.segment->was_disabled.load(std::memory_order_relaxed) != 0, 0))
    requests.give_up();
}

/// Gives the operation that the call has started a number. The result is 0, and no operation after
/// it has a number, if the process may have missed completions. Then nobody can tell which
/// operation a handle means.
XYLEM_INLINE std::uint64_t next_number(const Call& call) noexcept {
  note_gaps();
  if (__builtin_expect(requests.has_given_up(), 0)) return 0;
  Thread& thread = *call.thread;
  return request_number(thread.number, ++thread.started);
}

/// Tracks a receive until its completion. `meaning` has its number and what it asks for. If the
/// request table has no room for it, counts the receive as untracked.
void track_receive(Word handle, const Meaning& meaning, const Members* members, RequestKind kind,
                   PostedReceive posted) noexcept;
/// Tracks a persistent request. `meaning` describes the payload of each start.
void track_persistent(Word handle, const Meaning& meaning, RequestKind kind) noexcept;
/// Tracks a message that a probe has matched, and numbers it. `message` points to its handle.
void track_message(Word message, const Members* members, Meaning meaning) noexcept;

/// Handles a request that a call did not complete, or that it completed with an error. `before` and
/// `now` are the request's handles before and after the call. If they are equal, the request stays
/// tracked.
inline void put_back(const ClaimedRequest& claimed, Word before, Word now) noexcept {
  if (claimed.tracked == nullptr) {
    // If the number is not known any more, nothing is left to follow.
    const bool is_followed = claimed.number != 0 && now == before;
    if (is_followed) requests.insert_plain(before, claimed.number, process.many_threads);
  } else if (now == before) {
    requests.publish(claimed.tracked, before);
  } else {
    message_numbers.forget(claimed.tracked->posted);
    requests.release(claimed.tracked);
  }
}
/// Handles the completion of a claimed request with `status`. If a message was received, `meaning`
/// gets its description, too.
void complete(Meaning& meaning, const ClaimedRequest& claimed, Word handle, Word status) noexcept;

// Point to point.
void after_psend(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t dest, std::int32_t tag,
                 Word comm) noexcept;
void after_isendrecv(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t dest, std::int32_t tag, std::int32_t source, std::int32_t recvtag,
                     Word comm) noexcept;
void after_precv(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t source, std::int32_t tag,
                 Word comm) noexcept;
void before_mrecv(Call& call, Word message) noexcept;
void after_mrecv(const Call& call, std::int64_t count, Word datatype, Word status) noexcept;
void after_imrecv(const Call& call, std::int64_t count, Word datatype, Word request) noexcept;
void after_start(const Call& call, Word request) noexcept;
void after_startall(const Call& call, std::int32_t count, Word array) noexcept;

// Wait and test of several requests. before_completion() hides the requests from other threads and
// returns the status array for the real call. `ignore` is the value that `statuses` has if the
// program does not want statuses.
Word before_completion(const Call& call, std::int32_t count, Word array, Word statuses,
                       Word ignore) noexcept;
/// Call it after a failed waitall, or after a testall that completed nothing. Puts back all
/// requests that have not completed, and writes a completion record for each one that has, if the
/// program wants statuses: otherwise MPI does not say which.
void after_unfinished(const Call& call, Word array, Word statuses) noexcept;
void after_waitany(const Call& call, std::int32_t count, Word array, Word index, Word status,
                   Word flag) noexcept;
void after_waitsome(const Call& call, std::int32_t count, Word array, Word outcount, Word indices,
                    Word statuses, bool is_test) noexcept;
void before_request_free(Call& call, Word request) noexcept;
void after_request_free(const Call& call) noexcept;
void after_new_request(const Call& call, Mode mode, Word request) noexcept;
/// Records only the request. `flag` points to the answer of a function that asks about the request.
void after_request(const Call& call, Word handle, Word flag = 0) noexcept;

/// A collective call on `comm` failed, or `comm` is unknown. So this process and others may count
/// later collectives differently: their numbers are unknown.
[[gnu::cold]] void lose_count(Word comm) noexcept;

// Collectives. The list at the beginning of this file says which bytes they count.
void after_gather(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                  Word sendbuf, std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                  Word recvtype) noexcept;
void after_gatherv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   Word sendbuf, std::int64_t sendcount, Word sendtype, Counts recvcounts,
                   Word recvtype) noexcept;
void after_scatter(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                   std::int64_t sendcount, Word sendtype, Word recvbuf, std::int64_t recvcount,
                   Word recvtype) noexcept;
void after_scatterv(const Call& call, Mode mode, Word request, Word comm, std::int32_t root,
                    Counts sendcounts, Word sendtype, Word recvbuf, std::int64_t recvcount,
                    Word recvtype) noexcept;
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
void after_reduce_scatter(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                          Counts recvcounts, Word datatype, Word operation) noexcept;
void after_reduce_scatter_block(const Call& call, Mode mode, Word request, Word comm, Word sendbuf,
                                std::int64_t recvcount, Word datatype, Word operation) noexcept;
void after_neighbor_allgather(const Call& call, Mode mode, Word request, Word comm,
                              std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                              Word recvtype) noexcept;
void after_neighbor_allgatherv(const Call& call, Mode mode, Word request, Word comm,
                               std::int64_t sendcount, Word sendtype, Counts recvcounts,
                               Word recvtype) noexcept;
void after_neighbor_alltoall(const Call& call, Mode mode, Word request, Word comm,
                             std::int64_t sendcount, Word sendtype, std::int64_t recvcount,
                             Word recvtype) noexcept;
void after_neighbor_alltoallv(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtype, Counts recvcounts,
                              Word recvtype) noexcept;
void after_neighbor_alltoallw(const Call& call, Mode mode, Word request, Word comm,
                              Counts sendcounts, Word sendtypes, Counts recvcounts,
                              Word recvtypes) noexcept;

// One-sided communication and files. Calls on a window have the communicator of which it was made.
void after_one_sided(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t target, Word window) noexcept;
/// A call that synchronizes with `target`, or with all members if it is kNoPeer.
void after_window(const Call& call, std::int32_t target, Word window) noexcept;
/// Also called while capture is switched off, as after_comm_new().
void after_window_new(const Call& call, Word comm, Word window) noexcept;
void before_window_free(Call& call, Word window) noexcept;
void after_window_free(const Call& call) noexcept;
void after_file_open(const Call& call, Word comm) noexcept;
void after_file_transfer(const Call& call, Word status) noexcept;
void after_file_start(const Call& call, Mode mode, Word request, std::int64_t count,
                      Word datatype) noexcept;

// Communicators. The record has the identity of the communicator that was made, named or freed.
// These functions are also called for calls without a record (`call.calls` is 0), and while capture
// is switched off. Then `call.thread` may be null.
void after_comm_new(const Call& call, Mode mode, Word request, Word parent, Word newcomm) noexcept;
/// The new communicator has the members of `parent`.
void after_comm_dup(const Call& call, Mode mode, Word request, Word parent, Word newcomm) noexcept;
/// All members of the new communicator call it with the same tag. Other members of `parent` do not.
void after_comm_new_by_group(const Call& call, Mode mode, Word request, Word parent,
                             std::int32_t tag, Word newcomm) noexcept;
/// The same for functions without a common parent. `tag` is a text.
void after_comm_new_from_group(const Call& call, Mode mode, Word request, Word tag,
                               Word newcomm) noexcept;
void after_intercomm_new(const Call& call, Mode mode, Word request, std::int32_t tag,
                         Word newcomm) noexcept;
void after_comm_join(const Call& call, Mode mode, Word request, Word newcomm) noexcept;
/// The request of a new communicator has completed.
void add_completed_comm(const TrackedRequest& tracked) noexcept;
void after_comm_set_name(const Call& call, Word comm, Word name) noexcept;
void before_comm_free(Call& call, Word comm) noexcept;
void after_comm_free(const Call& call) noexcept;

}  // namespace xylem::capture
