#pragma once

// Code for calls of the most frequent shapes (meaning.tsv), inlined into the wrappers.
//
// Without inlining, the data of a call would go through memory several times. This would cost more
// than all other work for the call. The functions of meaning_internal.h handle rare cases of these
// shapes: persistent requests, derived datatypes and matched messages. That header also defines the
// bytes and the peer of each shape.

#include <cstdint>

#include "capture/mpi/meaning_internal.h"

namespace xylem::capture {

// ---- before the real call ----

/// Tells the agent the communicator of the call, and the world rank of `rank`, the other side or
/// the root. `rank` is negative if there is none.
XYLEM_INLINE void at(const Call& call, Word comm, std::int32_t rank = kNoPeer) noexcept {
  if (call.calls == 0) return;
  const CommEntry* entry = comms.find_known(comm);
  if (entry != nullptr) publish_where(call, entry->members->world_rank(rank), entry->identity);
}

/// The same for a call on a window.
XYLEM_INLINE void at_window(const Call& call, Word window, std::int32_t rank = kNoPeer) noexcept {
  if (call.calls == 0) return;
  const CommEntry* entry = windows.find_known(window);
  if (entry != nullptr) publish_where(call, entry->members->world_rank(rank), entry->identity);
}

/// For a call with two other sides. It usually waits for the side from which it receives.
XYLEM_INLINE void at_source_or(const Call& call, Word comm, std::int32_t source,
                               std::int32_t dest) noexcept {
  at(call, comm, source >= 0 ? source : dest);
}

/// For a call that waits for one request or message. Call it after the request is claimed.
XYLEM_INLINE void at_request(const Call& call) noexcept {
  const TrackedRequest* const tracked = call.claimed.tracked;
  if (tracked != nullptr) publish_where(call, tracked->peer, tracked->comm);
}

// ---- bytes ----

/// Payload size of `count` elements, in bytes.
XYLEM_INLINE std::uint64_t payload(std::int64_t count, Word datatype) noexcept {
  // MPICH: 0x4c marks a predefined datatype, bits 8 to 15 are its size.
  constexpr Word kMpichKind = 0xff000000;
  constexpr Word kMpichPredefined = 0x4c000000;
  if (count <= 0) return 0;
  if (__builtin_expect(process.abi.size_in_handle && (datatype & kMpichKind) == kMpichPredefined,
                       1)) {
    return static_cast<std::uint64_t>(count) * (datatype >> 8 & 0xff);
  }
  return static_cast<std::uint64_t>(count) * type_size(datatype);
}

/// What a receive or a probe asks for, as flags.
XYLEM_INLINE std::uint16_t flags_of_wildcards(std::int32_t source, std::int32_t tag) noexcept {
  const int any_source = source == process.abi.any_source ? kRecordAnySource : 0;
  const int any_tag = tag < 0 ? kRecordAnyTag : 0;
  return static_cast<std::uint16_t>(any_source | any_tag);
}

/// Describes what a receive has posted: room for `count` elements, and its wildcards. A receive
/// from MPI_PROC_NULL gets nothing.
XYLEM_INLINE void describe_post(Meaning& meaning, std::int64_t count, Word datatype,
                                std::int32_t source, std::int32_t tag) noexcept {
  if (source == process.abi.proc_null) return;
  meaning.room = payload(count, datatype);
  meaning.flags |= kRecordHasBuffer;
  meaning.flags |= flags_of_wildcards(source, tag);
}

/// Returns `status`, or memory for a status if the job passed MPI_STATUS_IGNORE.
XYLEM_INLINE Word own_status(const Call& call, Word status) noexcept {
  return status == process.abi.status_ignore ? reinterpret_cast<Word>(call.thread->status) : status;
}

/// Copies a status's data into `meaning`. `members` are the members of the message's communicator,
/// or null. Does not change `meaning` if the source is MPI_PROC_NULL. If `received` is true, also
/// does not change `meaning` for a cancelled request.
XYLEM_INLINE void read_status(Meaning& meaning, const Members* members, Word status,
                              bool received) noexcept {
  const Abi& abi = process.abi;
  const auto* at = reinterpret_cast<const unsigned char*>(status);
  const std::int32_t source = status_source(abi, at);
  if (source < 0) return;  // MPI_PROC_NULL or an empty status.
  if (received && status_cancelled(abi, at)) return;
  meaning.tag = status_tag(abi, at);
  if (members != nullptr) meaning.peer = members->world_rank(source);
  if (!received) return;
  meaning.bytes = status_bytes(abi, at);
  if (meaning.peer != kNoPeer) meaning.flags |= kRecordReceive;
}

/// The handle that a call has made. 0 if it is MPI_REQUEST_NULL.
XYLEM_INLINE Word made_handle(Word request) noexcept {
  const Word handle = load_handle(request);
  return handle == process.abi.request_null ? 0 : handle;
}

/// Removes what the table still has under the handle of another request.
inline void forget(Word handle) noexcept {
  TrackedRequest* const older = requests.claim(handle, process.many_threads).tracked;
  if (older == nullptr) return;
  message_numbers.forget(older->posted);
  requests.release(older);
}

/// Tracks the plain request that the call has made.
XYLEM_INLINE void track_plain(const Call& call, Word request, Meaning& meaning) noexcept {
  const Word handle = made_handle(request);
  if (handle == 0) return;
  meaning.flags |= kRecordPosts;
  meaning.request = next_number(call);
  if (__builtin_expect(meaning.request == 0, 0)) return forget(handle);
  if (!requests.insert_plain(handle, meaning.request, process.many_threads)) meaning.request = 0;
}

/// Completes `meaning` for a call of this mode, and writes the call's record. `kind` is used for
/// persistent requests.
XYLEM_INLINE void finish(const Call& call, Mode mode, Word request, Meaning meaning,
                         RequestKind kind) noexcept {
  if (mode == Mode::kRequest) track_plain(call, request, meaning);
  if (mode == Mode::kPersistent) {
    track_persistent(made_handle(request), meaning, kind);
    if ((meaning.flags & kRecordCollective) != 0) meaning.tag = kNoTag;
    meaning.bytes = 0;  // Nothing has moved yet.
    meaning.room = 0;
    meaning.flags = 0;
  }
  note(call, meaning);
}

/// Sets communicator, peer and tag, as far as they are known.
XYLEM_INLINE void place(Meaning& meaning, const CommEntry* entry, std::int32_t rank,
                        std::int32_t tag) noexcept {
  if (entry != nullptr) {
    meaning.comm = entry->identity;
    meaning.peer = entry->members->world_rank(rank);
  }
  meaning.tag = tag >= 0 ? tag : kNoTag;
}

XYLEM_INLINE void describe_send(Meaning& meaning, const CommEntry* entry, std::int64_t count,
                                Word datatype, std::int32_t dest, std::int32_t tag) noexcept {
  place(meaning, entry, dest, tag);
  if (dest == process.abi.proc_null) return;
  meaning.bytes = payload(count, datatype);
  if (meaning.peer != kNoPeer) meaning.flags |= kRecordSend;
  if (entry == nullptr) message_numbers.give_up();  // Its channel is unknown.
}

// ---- numbers of messages ----

XYLEM_INLINE ChannelKey channel_of(const Meaning& meaning) noexcept {
  return {meaning.comm, meaning.peer, meaning.tag};
}

/// Whether messages of this communicator have numbers in this process.
XYLEM_INLINE bool has_numbers(std::uint32_t comm) noexcept {
  return comm != kNoComm && process.segment->was_disabled.load(std::memory_order_relaxed) == 0;
}

XYLEM_INLINE void set_number(Meaning& meaning, MessageNumber number) noexcept {
  if (!number.is_known) return;
  meaning.number = number.value;
  meaning.flags |= kRecordNumbered;
}

/// Numbers the message that `meaning` describes, if it describes the send of a message.
XYLEM_INLINE void number_send(Meaning& meaning) noexcept {
  if ((meaning.flags & kRecordSend) == 0 || !has_numbers(meaning.comm)) return;
  set_number(meaning, message_numbers.send(channel_of(meaning), process.many_threads));
}

/// Numbers the message that a blocking receive has got, if it has got one.
XYLEM_INLINE void number_receive(Meaning& meaning) noexcept {
  if ((meaning.flags & kRecordReceive) == 0 || !has_numbers(meaning.comm)) return;
  set_number(meaning, message_numbers.receive(channel_of(meaning), process.many_threads));
}

/// Reads the status of a receive that was posted earlier and has completed. `wanted` is what the
/// receive asked for.
XYLEM_INLINE void read_posted(Meaning& meaning, PostedReceive& posted, const Members* members,
                              const ChannelKey& wanted, Word status) noexcept {
  read_status(meaning, members, status, true);
  if (posted.state == PostedReceive::State::kNone) return;
  if ((meaning.flags & kRecordReceive) == 0) return message_numbers.cancel(posted, wanted);
  set_number(meaning, message_numbers.complete(posted, channel_of(meaning), process.many_threads));
}

/// Like read_posted(), for a tracked receive.
XYLEM_INLINE void read_tracked(Meaning& meaning, TrackedRequest& tracked, Word status) noexcept {
  meaning.comm = tracked.comm;
  const ChannelKey wanted{tracked.comm, tracked.peer, tracked.tag};
  read_posted(meaning, tracked.posted, tracked.members, wanted, status);
}

/// Notes the post of a receive. `meaning` has what it asks for.
XYLEM_INLINE PostedReceive post_receive(const Meaning& meaning) noexcept {
  if (!has_numbers(meaning.comm)) return {};
  return message_numbers.post(channel_of(meaning), process.many_threads);
}
/// The same for a receive that asks for `source`. A process of another world has no channel.
XYLEM_INLINE PostedReceive post_receive(const Meaning& meaning, std::int32_t source) noexcept {
  const bool is_foreign = source >= 0 && meaning.peer == kNoPeer;
  if (is_foreign || source == process.abi.proc_null) return {};
  return post_receive(meaning);
}

// A blocking call may last long, and other threads may send and receive meanwhile. So with several
// threads its messages are numbered before the real call, in the order in which the calls began.
// The communicator of the call may be invalid, so only a known one is used.
XYLEM_INLINE void number_early(Call& call, Word comm, std::int32_t dest,
                               std::int32_t sendtag) noexcept {
  if (__builtin_expect(!process.many_threads, 1)) return;
  const CommEntry* entry = comms.find_known(comm);
  if (entry == nullptr) return;
  call.is_numbered = true;
  Meaning meaning;
  place(meaning, entry, dest, sendtag);
  if (dest != process.abi.proc_null && meaning.peer != kNoPeer && has_numbers(meaning.comm))
    call.sent = message_numbers.send(channel_of(meaning), true);
}

XYLEM_INLINE void post_early(Call& call, Word comm, std::int32_t source,
                             std::int32_t recvtag) noexcept {
  if (__builtin_expect(!process.many_threads, 1)) return;
  const CommEntry* entry = comms.find_known(comm);
  if (entry == nullptr) return;
  call.is_numbered = true;
  Meaning meaning;
  place(meaning, entry, source, recvtag);
  call.posted = post_receive(meaning, source);
}

/// Records a call that has failed. Nobody knows whether its message was sent or received.
XYLEM_INLINE void note_failed(const Call& call) noexcept {
  message_numbers.give_up();
  note(call, Meaning{});
}

// ---- point to point ----

XYLEM_INLINE void after_send(const Call& call, Mode mode, Word request, std::int64_t count,
                             Word datatype, std::int32_t dest, std::int32_t tag, Word comm,
                             RequestKind kind = RequestKind::kPersistentSend) noexcept {
  Meaning meaning;
  if (call.result != 0) return note_failed(call);
  describe_send(meaning, comms.find(comm), count, datatype, dest, tag);
  if (call.is_numbered) {
    set_number(meaning, call.sent);
  } else if (mode != Mode::kPersistent) {
    number_send(meaning);
  }
  finish(call, mode, request, meaning, kind);
}

/// Reads what a blocking call has received on `entry`'s communicator. `source` and `tag` are what
/// it asked for.
XYLEM_INLINE void describe_receive(Meaning& meaning, Call& call, const CommEntry* entry,
                                   std::int32_t source, std::int32_t tag, Word status) noexcept {
  if (entry == nullptr) {
    read_status(meaning, nullptr, status, true);
    if (source != process.abi.proc_null) message_numbers.give_up();  // Its channel is unknown.
    return;
  }
  meaning.comm = entry->identity;
  if (__builtin_expect(call.is_numbered, 0)) {
    Meaning wanted = meaning;
    place(wanted, entry, source, tag);
    return read_posted(meaning, call.posted, entry->members, channel_of(wanted), status);
  }
  read_status(meaning, entry->members, status, true);
  number_receive(meaning);
}

XYLEM_INLINE void after_recv(Call& call, Word comm, std::int32_t source, std::int32_t tag,
                             std::int64_t count, Word datatype, Word status) noexcept {
  if (call.result != 0) return note_failed(call);
  Meaning meaning;
  describe_post(meaning, count, datatype, source, tag);
  describe_receive(meaning, call, comms.find(comm), source, tag, status);
  note(call, meaning);
}

XYLEM_INLINE void after_irecv(const Call& call, Mode mode, Word request, std::int64_t count,
                              Word datatype, std::int32_t source, std::int32_t tag, Word comm,
                              RequestKind persistent = RequestKind::kPersistentReceive) noexcept {
  if (call.result != 0) return note_failed(call);
  Meaning meaning;
  describe_post(meaning, count, datatype, source, tag);
  const CommEntry* entry = comms.find(comm);
  place(meaning, entry, source, tag);
  if (entry == nullptr) message_numbers.give_up();  // Its channel is unknown.
  // A receive from MPI_PROC_NULL gets nothing, and MPI may return the same handle many times.
  const bool is_plain = entry == nullptr || source == process.abi.proc_null;
  if (mode == Mode::kPersistent && is_plain) {
    track_persistent(made_handle(request), meaning, RequestKind::kPersistentOther);
  } else if (mode == Mode::kPersistent) {
    track_receive(made_handle(request), meaning, entry->members, persistent, {});
    meaning.room = 0;  // Nothing is posted yet.
    meaning.flags = 0;
  } else if (is_plain) {
    track_plain(call, request, meaning);
  } else {
    meaning.flags |= kRecordPosts;
    meaning.request = next_number(call);
    track_receive(made_handle(request), meaning, entry->members, RequestKind::kReceive,
                  post_receive(meaning, source));
  }
  note(call, meaning);
}

XYLEM_INLINE void after_sendrecv(Call& call, std::int64_t count, Word datatype, std::int32_t dest,
                                 std::int32_t tag, std::int64_t recvcount, Word recvtype,
                                 std::int32_t source, std::int32_t recvtag, Word comm,
                                 Word status) noexcept {
  if (call.result != 0) return note_failed(call);
  Meaning sent;
  const CommEntry* entry = comms.find(comm);
  describe_send(sent, entry, count, datatype, dest, tag);
  if (call.is_numbered) {
    set_number(sent, call.sent);
  } else {
    number_send(sent);
  }
  note(call, sent);
  Meaning received;
  describe_post(received, recvcount, recvtype, source, recvtag);
  describe_receive(received, call, entry, source, recvtag, status);
  if ((received.flags & kRecordReceive) != 0) note_completion(call, received);
}

// `flag` and `message` are 0 for functions without these arguments.
XYLEM_INLINE void after_probe(const Call& call, std::int32_t source, std::int32_t tag, Word comm,
                              Word status, Word flag, Word message) noexcept {
  Meaning meaning;
  const bool found =
      call.result == 0 && (flag == 0 || *reinterpret_cast<const std::int32_t*>(flag) != 0);
  // Of the polls that sampling leaves out, those that have found nothing are only counted.
  if (call.calls == 0 && !found) return;
  if (call.result == 0 && flag != 0) meaning.flags = found ? kRecordSucceeds : kRecordFindsNothing;
  if (call.result == 0) meaning.flags |= flags_of_wildcards(source, tag);
  const CommEntry* entry = call.result == 0 ? comms.find(comm) : nullptr;
  if (entry != nullptr) {
    meaning.comm = entry->identity;
    if (found) {
      read_status(meaning, entry->members, status, false);
      if (message != 0) track_message(message, entry->members, meaning);
    }
  } else if (found && message != 0) {
    message_numbers.give_up();  // The channel of the message is unknown.
  }
  note(call, meaning);
}

// ---- one request ----

/// Hides the request from other threads and returns the status for the real call.
XYLEM_INLINE Word before_wait(Call& call, Word request, Word status) noexcept {
  note_gaps();
  call.request = load_handle(request);
  if (call.request == process.abi.request_null) call.request = 0;
  call.claimed = requests.claim(call.request, process.many_threads);
  return call.claimed.tracked == nullptr ? status : own_status(call, status);
}

/// Whether a call has completed what it was called for. `flag` points to the answer of a test; it
/// is 0 for a wait.
XYLEM_INLINE bool has_completed(const Call& call, Word flag) noexcept {
  return call.result == 0 && (flag == 0 || *reinterpret_cast<const std::int32_t*>(flag) != 0);
}

/// Sets the answer of a test in its own record.
XYLEM_INLINE void set_answer(Meaning& meaning, const Call& call, Word flag) noexcept {
  if (flag == 0 || call.result != 0) return;
  meaning.flags |= has_completed(call, flag) ? kRecordSucceeds : kRecordFindsNothing;
}

/// Like complete(), for the most frequent kinds of requests.
XYLEM_INLINE void complete_fast(Meaning& meaning, const ClaimedRequest& claimed, Word handle,
                                Word status) noexcept {
  TrackedRequest* const tracked = claimed.tracked;
  if (tracked != nullptr && tracked->kind != RequestKind::kReceive)
    return complete(meaning, claimed, handle, status);
  meaning.request = claimed.number;
  if (tracked != nullptr || claimed.number != 0) meaning.flags |= kRecordCompletes;
  if (tracked == nullptr) return;
  read_tracked(meaning, *tracked, status);
  requests.release(tracked);
}

/// Whether the completion of one of several requests gets a record: not if the request is unknown
/// and has received nothing.
XYLEM_INLINE bool is_worth_a_record(const Meaning& meaning) noexcept {
  return (meaning.flags & (kRecordCompletes | kRecordReceive)) != 0;
}

/// `flag` is 0 for MPI_Wait.
XYLEM_INLINE void after_wait(const Call& call, Word request, Word status, Word flag) noexcept {
  Meaning meaning;
  set_answer(meaning, call, flag);
  if (has_completed(call, flag)) {
    complete_fast(meaning, call.claimed, call.request, status);
  } else {
    meaning.request = call.claimed.number;
    put_back(call.claimed, call.request, load_handle(request));
  }
  note(call, meaning);
}

// ---- several requests ----

// For MPI_Waitall and MPI_Testall. Writes the call's own record, then one record for each request
// that completed.
XYLEM_INLINE void after_waitall(const Call& call, std::int32_t, Word array, Word statuses,
                                Word flag) noexcept {
  Meaning own;
  set_answer(own, call, flag);
  note(call, own);
  const Thread& thread = *call.thread;
  const std::uint32_t count = thread.request_count;
  if (count == 0) return;
  if (!has_completed(call, flag)) return after_unfinished(call, array, statuses);
  const ClaimedRequest* const claims = thread.claims;
  for (std::uint32_t i = 0; i < count; ++i) {
    Meaning meaning;
    complete_fast(meaning, claims[i], thread.request_handles[i],
                  statuses + Word{i} * process.abi.status_bytes);
    if (is_worth_a_record(meaning)) note_completion(call, meaning);
  }
}

// ---- collectives ----

/// The communicator of a collective call. It is known only if the call succeeded.
/// Lives on the stack of the calling thread.
class Group {
 public:
  XYLEM_INLINE Group(const Call& call, Word comm, Meaning& meaning) noexcept
      : entry_(call.result == 0 ? comms.find(comm) : nullptr) {
    if (entry_ != nullptr) {
      meaning.comm = entry_->identity;
    } else {
      lose_count(comm);
    }
  }
  XYLEM_INLINE Group(const Call& call, Word comm, Meaning& meaning, std::int32_t root) noexcept
      : Group(call, comm, meaning) {
    if (entry_ != nullptr) meaning.peer = entry_->members->world_rank(root);
  }

  bool known() const noexcept { return entry_ != nullptr; }
  /// Number of members; in an intercommunicator, of the remote group. MPI sizes almost all arrays
  /// of counts by it.
  std::int32_t size() const noexcept { return entry_->members->size; }
  /// Number of members of this rank's own group. MPI sizes the counts of reduce_scatter by it.
  std::int32_t local_size() const noexcept { return entry_->members->local_size; }
  std::int32_t rank() const noexcept { return entry_->members->rank; }
  std::uint32_t identity() const noexcept { return entry_->identity; }

  /// True if this rank provides the root's data (broadcast, scatter).
  bool is_root(std::int32_t root) const noexcept {
    return entry_->members->is_inter ? root == process.abi.root : root == rank();
  }
  /// Numbers the call that was made on this communicator.
  XYLEM_INLINE void number(Meaning& meaning) const noexcept {
    const std::uint32_t number = entry_->collectives.load(std::memory_order_relaxed);
    if (number == CommEntry::kUncertain || !has_numbers(entry_->identity)) return;
    entry_->collectives.store(number + 1, std::memory_order_relaxed);
    set_number(meaning, {number, true});
  }

  /// True if this rank exchanges data with a root: not in the root's group of an intercommunicator.
  bool faces(std::int32_t root) const noexcept { return !entry_->members->is_inter || root >= 0; }
  std::int32_t world_rank(std::int32_t member) const noexcept {
    return entry_->members->world_rank(member);
  }

 private:
  const CommEntry* entry_;
};

XYLEM_INLINE void finish_collective(const Call& call, Mode mode, Word request, const Group& group,
                                    Meaning& meaning) noexcept {
  if (call.result != 0) return note(call, Meaning{});
  if (group.known()) meaning.flags |= kRecordCollective;
  if (group.known() && mode != Mode::kPersistent) group.number(meaning);
  finish(call, mode, request, meaning, RequestKind::kPersistentOther);
}

XYLEM_INLINE void mark_in_place(Meaning& meaning, Word buffer) noexcept {
  if (buffer == process.abi.in_place) meaning.flags |= kRecordInPlace;
}

XYLEM_INLINE void set_operation(Meaning& meaning, Word operation) noexcept {
  meaning.tag = static_cast<std::int32_t>(operation_of(process.abi, operation));
}

XYLEM_INLINE void after_barrier(const Call& call, Mode mode, Word request, Word comm) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  finish_collective(call, mode, request, group, meaning);
}

XYLEM_INLINE void after_bcast(const Call& call, Mode mode, Word request, Word comm,
                              std::int32_t root, std::int64_t count, Word datatype) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known()) {
    const std::uint64_t size = payload(count, datatype);
    if (group.is_root(root)) {
      meaning.bytes = size;
    } else if (group.faces(root)) {
      meaning.room = size;
    }
  }
  finish_collective(call, mode, request, group, meaning);
}

XYLEM_INLINE void after_reduce(const Call& call, Mode mode, Word request, Word comm,
                               std::int32_t root, Word sendbuf, std::int64_t count, Word datatype,
                               Word operation) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning, root);
  if (group.known()) {
    const std::uint64_t size = payload(count, datatype);
    if (group.faces(root)) meaning.bytes = size;
    if (group.is_root(root)) meaning.room = size;
    mark_in_place(meaning, sendbuf);
    set_operation(meaning, operation);
  }
  finish_collective(call, mode, request, group, meaning);
}

XYLEM_INLINE void after_allreduce(const Call& call, Mode mode, Word request, Word comm,
                                  Word sendbuf, std::int64_t count, Word datatype,
                                  Word operation) noexcept {
  Meaning meaning;
  const Group group(call, comm, meaning);
  if (group.known()) {
    meaning.bytes = meaning.room = payload(count, datatype);
    mark_in_place(meaning, sendbuf);
    set_operation(meaning, operation);
  }
  finish_collective(call, mode, request, group, meaning);
}

}  // namespace xylem::capture
