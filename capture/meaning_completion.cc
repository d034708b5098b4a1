#include "capture/meaning_internal.h"

namespace xylem::capture {
namespace {

// MPICH keeps the class of an error in the low bits of its code; Open MPI's codes are classes.
constexpr std::int32_t kErrorClassBits = 0x7f;

bool is_true(Word flag) { return flag == 0 || *reinterpret_cast<const std::int32_t*>(flag) != 0; }

// The call did not complete request `i`, or did so with an error: MPI says which by the handle.
void put_back(const Thread& thread, std::uint32_t i, Word array) {
  TrackedRequest* tracked = thread.requests[i];
  if (tracked == nullptr) return;
  if (load_handle(array, i) == thread.request_handles[i]) {
    requests.publish(tracked, thread.request_handles[i]);
  } else {
    requests.release(tracked);
  }
}

// Request `i` completed with `status`. Says what was received; true when something was.
bool complete(Thread& thread, std::uint32_t i, Word status, Meaning& meaning) {
  TrackedRequest* tracked = thread.requests[i];
  meaning.request = thread.request_handles[i];
  if (tracked == nullptr) return false;
  thread.requests[i] = nullptr;
  const bool receives = tracked->kind == RequestKind::kReceive ||
                        (tracked->kind == RequestKind::kPersistentReceive && tracked->active);
  meaning.comm = tracked->comm;
  if (receives) read_status(meaning, tracked->members, status, true);
  if (tracked->kind == RequestKind::kNewComm)
    comms.add(load_handle(reinterpret_cast<Word>(tracked->new_comm)));
  tracked->active = false;
  const bool lives_on =
      tracked->kind != RequestKind::kReceive && tracked->kind != RequestKind::kNewComm;
  if (lives_on) {
    requests.publish(tracked, meaning.request);
  } else {
    requests.release(tracked);
  }
  return (meaning.flags & kRecordReceive) != 0;
}

Word status_at(Word statuses, std::uint32_t i) {
  return statuses + Word{i} * process.abi.status_bytes;
}

// Of a call on several requests that returned an error: whether the i-th status is without one.
bool is_fine(const Call& call, Word status) {
  if (call.result == 0) return true;
  if ((call.result & kErrorClassBits) != process.abi.error_in_status) return false;
  return status_error(process.abi, reinterpret_cast<const unsigned char*>(status)) == 0;
}

}  // namespace

Word before_completion(const Call& call, std::int32_t count, Word array, Word statuses,
                       Word ignore) noexcept {
  Thread& thread = *call.thread;
  thread.request_count = 0;
  if (count <= 0 || array == 0) return statuses;
  const auto wanted = static_cast<std::uint32_t>(count);
  if (!make_request_room(thread, wanted)) {
    count_untracked();
    return statuses;
  }
  bool any = false;
  for (std::uint32_t i = 0; i < wanted; ++i) {
    const Word handle = load_handle(array, i);
    thread.request_handles[i] = handle;
    thread.requests[i] = handle == process.abi.request_null ? nullptr : requests.claim(handle);
    any = any || thread.requests[i] != nullptr;
  }
  thread.request_count = wanted;
  return any && statuses == ignore ? reinterpret_cast<Word>(thread.statuses) : statuses;
}

void after_wait(const Call& call, Word request, Word status, Word flag) noexcept {
  Meaning meaning;
  Thread& thread = *call.thread;
  if (thread.request_count != 0) {
    if (thread.request_handles[0] != process.abi.request_null)
      meaning.request = thread.request_handles[0];
    if (thread.requests[0] != nullptr) {
      if (call.result == 0 && is_true(flag)) {
        complete(thread, 0, status, meaning);
      } else {
        put_back(thread, 0, request);
      }
    }
  }
  note(call, meaning);
}

void after_waitall(const Call& call, std::int32_t, Word array, Word statuses, Word flag) noexcept {
  note(call, Meaning{});
  Thread& thread = *call.thread;
  const bool completed = call.result != 0 || is_true(flag);
  for (std::uint32_t i = 0; i < thread.request_count; ++i) {
    if (thread.requests[i] == nullptr) continue;
    const Word status = status_at(statuses, i);
    if (!completed || !is_fine(call, status)) {
      put_back(thread, i, array);
      continue;
    }
    Meaning meaning;
    if (complete(thread, i, status, meaning)) note_completion(call, meaning);
  }
}

void after_waitany(const Call& call, std::int32_t, Word array, Word index, Word status,
                   Word flag) noexcept {
  note(call, Meaning{});
  Thread& thread = *call.thread;
  const std::int32_t chosen = call.result == 0 && is_true(flag)
                                  ? *reinterpret_cast<const std::int32_t*>(index)
                                  : process.abi.undefined;
  for (std::uint32_t i = 0; i < thread.request_count; ++i) {
    if (static_cast<std::int32_t>(i) != chosen) {
      put_back(thread, i, array);
      continue;
    }
    Meaning meaning;
    if (complete(thread, i, status, meaning)) note_completion(call, meaning);
  }
}

void after_waitsome(const Call& call, std::int32_t, Word array, Word outcount, Word indices,
                    Word statuses) noexcept {
  note(call, Meaning{});
  Thread& thread = *call.thread;
  const bool in_status = (call.result & kErrorClassBits) == process.abi.error_in_status;
  const std::int32_t completed = call.result == 0 || in_status
                                     ? *reinterpret_cast<const std::int32_t*>(outcount)
                                     : process.abi.undefined;
  for (std::int32_t k = 0; k < completed; ++k) {
    const std::int32_t i = reinterpret_cast<const std::int32_t*>(indices)[k];
    const Word status = status_at(statuses, static_cast<std::uint32_t>(k));
    if (i < 0 || static_cast<std::uint32_t>(i) >= thread.request_count) continue;
    if (thread.requests[i] == nullptr || !is_fine(call, status)) continue;
    Meaning meaning;
    if (complete(thread, static_cast<std::uint32_t>(i), status, meaning))
      note_completion(call, meaning);
  }
  for (std::uint32_t i = 0; i < thread.request_count; ++i) put_back(thread, i, array);
}

void before_request_free(const Call& call, Word request) noexcept {
  before_completion(call, 1, request, 0, 1);
  Thread& thread = *call.thread;
  if (thread.request_count == 0 || thread.requests[0] == nullptr) return;
  TrackedRequest& tracked = *thread.requests[0];
  // MPI will still receive into it, and nobody will ever learn when and from whom.
  if (tracked.kind == RequestKind::kReceive ||
      (tracked.kind == RequestKind::kPersistentReceive && tracked.active)) {
    count_untracked();
  }
  requests.release(&tracked);
}

void after_request_free(const Call& call) noexcept {
  Meaning meaning;
  if (call.thread->request_count != 0) meaning.request = call.thread->request_handles[0];
  note(call, meaning);
}

void after_request(const Call& call, Word handle) noexcept {
  Meaning meaning;
  meaning.request = handle & process.abi.handle_mask;
  note(call, meaning);
}

}  // namespace xylem::capture
