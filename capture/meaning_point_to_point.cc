#include "capture/meaning_internal.h"

namespace xylem::capture {

CommMap comms;
RequestTable requests;

namespace {

// Messages and requests may have equal handles; messages get keys of their own.
constexpr Word kMessageBit = Word{1} << 63;

// MPICH: 0x4c marks a predefined datatype, bits 8 to 15 are its size.
constexpr Word kMpichKind = 0xff000000;
constexpr Word kMpichPredefined = 0x4c000000;

void place(Meaning& meaning, const CommEntry* entry, std::int32_t rank, std::int32_t tag) {
  if (entry != nullptr) {
    meaning.comm = entry->identity;
    meaning.peer = entry->members->world_rank(rank);
  }
  meaning.tag = tag >= 0 ? tag : kNoTag;
}

void describe_send(Meaning& meaning, std::int64_t count, Word datatype, std::int32_t dest,
                   std::int32_t tag, Word comm) {
  place(meaning, comms.find(comm), dest, tag);
  if (dest == process.abi.proc_null) return;
  meaning.bytes = payload(count, datatype);
  if (meaning.peer != kNoPeer) meaning.flags = kRecordSend;
}

// A tracked request for the handle in `meaning`; null, and counted, when there is no room.
TrackedRequest* track(Word key, const Meaning& meaning, RequestKind kind) {
  TrackedRequest* tracked = requests.insert(key, process.many_threads);
  if (tracked == nullptr) {
    count_untracked();
    return nullptr;
  }
  tracked->members = nullptr;
  tracked->bytes = meaning.bytes;
  tracked->new_comm = nullptr;
  tracked->comm = meaning.comm;
  tracked->peer = meaning.peer;
  tracked->tag = meaning.tag;
  tracked->kind = kind;
  tracked->active = false;
  return tracked;
}

void track_receive(const Meaning& meaning, const Members* members, RequestKind kind) {
  if (meaning.request == 0 || members == nullptr) return;
  TrackedRequest* tracked = track(meaning.request, meaning, kind);
  if (tracked == nullptr) return;
  tracked->members = members;
  requests.publish(tracked, meaning.request);
}

// What a start moves, or null when the request is not a persistent one that moves payload.
bool start_one(Word handle, Meaning& meaning) {
  TrackedRequest* tracked = requests.find(handle);
  meaning.request = handle;
  if (tracked == nullptr) return false;
  tracked->active = true;
  meaning.comm = tracked->comm;
  meaning.peer = tracked->peer;
  meaning.tag = tracked->tag;
  if (tracked->kind == RequestKind::kPersistentReceive) return false;
  meaning.bytes = tracked->bytes;
  if (tracked->kind == RequestKind::kPersistentSend && meaning.peer != kNoPeer)
    meaning.flags = kRecordSend;
  return true;
}

}  // namespace

Word load_handle(Word at, std::uint32_t i) noexcept {
  if (at == 0) return 0;
  if (process.abi.handle_bytes == 4) return reinterpret_cast<const std::uint32_t*>(at)[i];
  return reinterpret_cast<const Word*>(at)[i];
}

std::uint64_t payload(std::int64_t count, Word datatype) noexcept {
  if (count <= 0) return 0;
  if (process.abi.size_in_handle && (datatype & kMpichKind) == kMpichPredefined)
    return static_cast<std::uint64_t>(count) * (datatype >> 8 & 0xff);
  std::int64_t size = 0;
  if (call_mpi(kMPI_Type_size_x, datatype, &size) != 0 || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

void read_status(Meaning& meaning, const Members* members, Word status, bool received) noexcept {
  const Abi& abi = process.abi;
  const auto* at = reinterpret_cast<const unsigned char*>(status);
  const std::int32_t source = status_source(abi, at);
  if (source < 0) return;  // MPI_PROC_NULL, or the empty status of nothing at all.
  if (received && status_cancelled(abi, at)) return;
  meaning.tag = status_tag(abi, at);
  if (members != nullptr) meaning.peer = members->world_rank(source);
  if (!received) return;
  meaning.bytes = status_bytes(abi, at);
  if (meaning.peer != kNoPeer) meaning.flags |= kRecordReceive;
}

void finish(const Call& call, Mode mode, Word request, Meaning meaning, RequestKind kind) noexcept {
  if (mode != Mode::kBlocking) meaning.request = load_handle(request);
  if (mode == Mode::kPersistent) {
    if (meaning.request != 0) {
      if (TrackedRequest* tracked = track(meaning.request, meaning, kind))
        requests.publish(tracked, meaning.request);
    }
    meaning.bytes = 0;  // Nothing has moved yet.
    meaning.flags = 0;
  }
  note(call, meaning);
}

void after_send(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                std::int32_t dest, std::int32_t tag, Word comm) noexcept {
  Meaning meaning;
  if (call.result != 0) return note(call, meaning);
  describe_send(meaning, count, datatype, dest, tag, comm);
  finish(call, mode, request, meaning, RequestKind::kPersistentSend);
}

void after_psend(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t dest, std::int32_t tag,
                 Word comm) noexcept {
  after_send(call, mode, request, partitions * count, datatype, dest, tag, comm);
}

void after_recv(const Call& call, Word comm, Word status) noexcept {
  Meaning meaning;
  if (call.result == 0) {
    const CommEntry* entry = comms.find(comm);
    if (entry != nullptr) meaning.comm = entry->identity;
    read_status(meaning, entry == nullptr ? nullptr : entry->members, status, true);
  }
  note(call, meaning);
}

void after_irecv(const Call& call, Mode mode, Word request, std::int32_t source, std::int32_t tag,
                 Word comm) noexcept {
  Meaning meaning;
  if (call.result == 0) {
    const CommEntry* entry = comms.find(comm);
    place(meaning, entry, source, tag);
    meaning.request = load_handle(request);
    // From MPI_PROC_NULL nothing comes, and MPI may give the same request many times.
    if (source != process.abi.proc_null) {
      track_receive(
          meaning, entry == nullptr ? nullptr : entry->members,
          mode == Mode::kPersistent ? RequestKind::kPersistentReceive : RequestKind::kReceive);
    }
  }
  note(call, meaning);
}

void after_sendrecv(const Call& call, std::int64_t count, Word datatype, std::int32_t dest,
                    std::int32_t tag, Word comm, Word status) noexcept {
  Meaning sent;
  if (call.result != 0) return note(call, sent);
  describe_send(sent, count, datatype, dest, tag, comm);
  note(call, sent);
  const CommEntry* entry = comms.find(comm);
  Meaning received;
  received.comm = sent.comm;
  read_status(received, entry == nullptr ? nullptr : entry->members, status, true);
  if ((received.flags & kRecordReceive) != 0) note_completion(call, received);
}

// The receiving half is not followed: MPICH 4.0.2, the only MPI here that has the call, leaves the
// status of its completion as it was.
void after_isendrecv(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t dest, std::int32_t tag, std::int32_t source, Word comm) noexcept {
  if (call.result == 0 && source != process.abi.proc_null) count_untracked();
  after_send(call, mode, request, count, datatype, dest, tag, comm);
}

void before_mrecv(const Call& call, Word message) noexcept {
  Thread& thread = *call.thread;
  if (!make_request_room(thread, 1)) return;
  const Word handle = load_handle(message);
  thread.requests[0] = handle == 0 ? nullptr : requests.claim(handle | kMessageBit);
}

void after_mrecv(const Call& call, Word status) noexcept {
  Meaning meaning;
  TrackedRequest* message = call.thread->request_room == 0 ? nullptr : call.thread->requests[0];
  if (message != nullptr) {
    meaning.comm = message->comm;
    if (call.result == 0) read_status(meaning, message->members, status, true);
    requests.release(message);
  }
  note(call, meaning);
}

void after_imrecv(const Call& call, Word request) noexcept {
  Meaning meaning;
  TrackedRequest* message = call.thread->request_room == 0 ? nullptr : call.thread->requests[0];
  if (message != nullptr) {
    meaning.comm = message->comm;
    meaning.peer = message->peer;
    meaning.tag = message->tag;
    meaning.request = load_handle(request);
    if (call.result == 0) track_receive(meaning, message->members, RequestKind::kReceive);
    requests.release(message);
  }
  note(call, meaning);
}

void after_probe(const Call& call, Word comm, Word status, Word flag, Word message) noexcept {
  Meaning meaning;
  const bool found =
      call.result == 0 && (flag == 0 || *reinterpret_cast<const std::int32_t*>(flag) != 0);
  // A probe that found nothing and has no record is not worth a look at its communicator.
  if (call.calls == 0 && !(found && message != 0)) return;
  const CommEntry* entry = call.result == 0 ? comms.find(comm) : nullptr;
  if (entry != nullptr) {
    meaning.comm = entry->identity;
    if (found) read_status(meaning, entry->members, status, false);
    const Word handle = found ? load_handle(message) : 0;
    if (handle != 0 && handle != process.abi.message_no_proc) {
      if (TrackedRequest* tracked = track(handle | kMessageBit, meaning, RequestKind::kMessage)) {
        tracked->members = entry->members;
        requests.publish(tracked, handle | kMessageBit);
      }
    }
  }
  note(call, meaning);
}

void after_start(const Call& call, Word request) noexcept {
  Meaning meaning;
  if (call.result == 0) start_one(load_handle(request), meaning);
  note(call, meaning);
}

void after_startall(const Call& call, std::int32_t count, Word array) noexcept {
  note(call, Meaning{});
  if (call.result != 0) return;
  for (std::int32_t i = 0; i < count; ++i) {
    Meaning meaning;
    if (start_one(load_handle(array, static_cast<std::uint32_t>(i)), meaning))
      note_completion(call, meaning);
  }
}

}  // namespace xylem::capture
