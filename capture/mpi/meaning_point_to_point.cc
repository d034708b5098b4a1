#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {

namespace {

// A message and a request may have equal handles. This bit makes their keys differ.
constexpr Word kMessageBit = Word{1} << 63;

// Returns a tracked request for the handle `key`. If there is no room, counts the request as
// untracked and returns null.
TrackedRequest* track(Word key, const Members* members, const Meaning& meaning, RequestKind kind,
                      PostedReceive posted = {}) {
  TrackedRequest* tracked = requests.insert(key, process.many_threads);
  if (tracked == nullptr) {
    count_untracked();
    message_numbers.forget(posted);
    return nullptr;
  }
  message_numbers.forget(tracked->posted);  // That of an older request with this handle.
  tracked->members = members;
  tracked->bytes = meaning.bytes;
  tracked->room = meaning.room;
  tracked->comm = meaning.comm;
  tracked->peer = meaning.peer;
  tracked->tag = meaning.tag;
  tracked->kind = kind;
  tracked->active = false;
  tracked->start_flags = static_cast<std::uint8_t>(meaning.flags >> 8);
  tracked->posted = posted;
  tracked->number = meaning.request;
  requests.publish(tracked, key);
  return tracked;
}

// Marks a persistent request as started and fills `meaning`. Returns false for an unknown request.
bool start_one(const Call& call, Word handle, Meaning& meaning) {
  TrackedRequest* tracked = requests.find(handle);
  if (tracked == nullptr || tracked->kind == RequestKind::kPlain) return false;
  tracked->active = true;
  tracked->number = next_number(call);
  meaning.request = tracked->number;
  meaning.comm = tracked->comm;
  meaning.peer = tracked->peer;
  meaning.tag = tracked->tag;
  meaning.room = tracked->room;
  meaning.flags = static_cast<std::uint16_t>(kRecordPosts | tracked->start_flags << 8);
  if (tracked->kind == RequestKind::kPartitionedReceive) return true;
  if (tracked->kind == RequestKind::kPersistentReceive) {
    tracked->posted = post_receive(meaning);
    return true;
  }
  meaning.bytes = tracked->bytes;
  const bool is_send = tracked->kind == RequestKind::kPersistentSend;
  const bool is_partitioned = tracked->kind == RequestKind::kPartitionedSend;
  if ((is_send || is_partitioned) && meaning.peer != kNoPeer) meaning.flags |= kRecordSend;
  if (is_send) number_send(meaning);
  return true;
}

}  // namespace

std::uint64_t type_size(Word datatype) noexcept {
  std::int64_t size = 0;
  if (call_mpi(kMPI_Type_size_x, datatype, &size) != 0 || size < 0) return 0;
  return static_cast<std::uint64_t>(size);
}

void track_receive(Word handle, const Meaning& meaning, const Members* members, RequestKind kind,
                   PostedReceive posted) noexcept {
  if (handle == 0) return message_numbers.forget(posted);
  track(handle, members, meaning, kind, posted);
}

void track_persistent(Word handle, const Meaning& meaning, RequestKind kind) noexcept {
  if (handle != 0) track(handle, nullptr, meaning, kind);
}

void track_message(Word message, const Members* members, Meaning meaning) noexcept {
  const Word handle = load_handle(message);
  if (handle == 0 || handle == process.abi.message_no_proc) return;
  PostedReceive posted;
  if (meaning.peer != kNoPeer && has_numbers(meaning.comm)) {
    const MessageNumber number = message_numbers.receive(channel_of(meaning), process.many_threads);
    posted.number = number.value;
    posted.state =
        number.is_known ? PostedReceive::State::kNumbered : PostedReceive::State::kUncertain;
  }
  track(handle | kMessageBit, members, meaning, RequestKind::kMessage, posted);
}

void after_psend(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t dest, std::int32_t tag,
                 Word comm) noexcept {
  after_send(call, mode, request, partitions * count, datatype, dest, tag, comm,
             RequestKind::kPartitionedSend);
}

void after_precv(const Call& call, Mode mode, Word request, std::int32_t partitions,
                 std::int64_t count, Word datatype, std::int32_t source, std::int32_t tag,
                 Word comm) noexcept {
  after_irecv(call, mode, request, partitions * count, datatype, source, tag, comm,
              RequestKind::kPartitionedReceive);
}

// Only the send is tracked, not the receive: in MPICH 4.0.2, the only tested MPI with this call,
// the completion does not write the status of the receive.
void after_isendrecv(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t dest, std::int32_t tag, std::int32_t source, std::int32_t recvtag,
                     Word comm) noexcept {
  if (call.result == 0 && source != process.abi.proc_null) {
    count_untracked();
    Meaning received;
    place(received, comms.find(comm), source, recvtag);
    PostedReceive posted = post_receive(received, source);
    message_numbers.forget(posted);
  }
  after_send(call, mode, request, count, datatype, dest, tag, comm);
}

void before_mrecv(Call& call, Word message) noexcept {
  const Word handle = load_handle(message);
  call.claimed = {};
  if (handle != 0) call.claimed = requests.claim(handle | kMessageBit, process.many_threads);
}

void after_mrecv(const Call& call, std::int64_t count, Word datatype, Word status) noexcept {
  Meaning meaning;
  if (TrackedRequest* const message = call.claimed.tracked) {
    meaning.comm = message->comm;
    if (call.result == 0) {
      meaning.room = payload(count, datatype);
      meaning.flags |= kRecordHasBuffer;
      read_tracked(meaning, *message, status);
    } else {
      message_numbers.forget(message->posted);
    }
    requests.release(message);
  }
  note(call, meaning);
}

void after_imrecv(const Call& call, std::int64_t count, Word datatype, Word request) noexcept {
  Meaning meaning;
  if (TrackedRequest* const message = call.claimed.tracked) {
    meaning.comm = message->comm;
    meaning.peer = message->peer;
    meaning.tag = message->tag;
    if (call.result == 0) {
      meaning.flags = kRecordPosts | kRecordHasBuffer;
      meaning.room = payload(count, datatype);
      meaning.request = next_number(call);
      track_receive(made_handle(request), meaning, message->members, RequestKind::kReceive,
                    message->posted);
    }
    message->posted = {};
    requests.release(message);
  } else if (call.result == 0) {
    track_plain(call, request, meaning);  // MPI_MESSAGE_NO_PROC, or an unknown message.
  }
  note(call, meaning);
}

void after_start(const Call& call, Word request) noexcept {
  Meaning meaning;
  if (call.result == 0) start_one(call, load_handle(request), meaning);
  note(call, meaning);
}

void after_startall(const Call& call, std::int32_t count, Word array) noexcept {
  note(call, Meaning{});
  if (call.result != 0) return;
  for (std::int32_t i = 0; i < count; ++i) {
    Meaning meaning;
    if (start_one(call, load_handle(array, static_cast<std::uint32_t>(i)), meaning))
      note_completion(call, meaning);
  }
}

}  // namespace xylem::capture
