#include <utility>

#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {
namespace {

// MPICH has the class of an error in the low bits of its code. In Open MPI, the code is the class.
constexpr std::int32_t kErrorClassBits = 0x7f;

// Returns whether the request is a receive that was started.
bool is_receive(const TrackedRequest& tracked) {
  const bool is_persistent = tracked.kind == RequestKind::kPersistentReceive ||
                             tracked.kind == RequestKind::kPartitionedReceive;
  return tracked.kind == RequestKind::kReceive || (is_persistent && tracked.active);
}

void put_back(const Thread& thread, std::uint32_t i, Word array) {
  xylem::capture::put_back(thread.claims[i], thread.request_handles[i], load_handle(array, i));
}

// Ends the tracking of request `i`, which completed with `status`, and writes its record.
void complete(const Call& call, std::uint32_t i, Word status) {
  Thread& thread = *call.thread;
  Meaning meaning;
  complete_fast(meaning, std::exchange(thread.claims[i], {}), thread.request_handles[i], status);
  if (is_worth_a_record(meaning)) note_completion(call, meaning);
}

Word status_at(Word statuses, std::uint32_t i) {
  return statuses + Word{i} * process.abi.status_bytes;
}

// Returns whether the request with status `i` completed without an error. If the call failed with
// another class than MPI_ERR_IN_STATUS, or if the program wants no statuses, there is no status,
// and the result is false.
bool is_fine(const Call& call, Word statuses, std::uint32_t i) {
  if (call.result == 0) return true;
  if ((call.result & kErrorClassBits) != process.abi.error_in_status) return false;
  if (statuses == process.abi.statuses_ignore) return false;
  const Word status = status_at(statuses, i);
  return status_error(process.abi, reinterpret_cast<const unsigned char*>(status)) == 0;
}

}  // namespace

void complete(Meaning& meaning, const ClaimedRequest& claimed, Word handle, Word status) noexcept {
  TrackedRequest& tracked = *claimed.tracked;
  meaning.comm = tracked.comm;
  meaning.request = claimed.number;
  const bool is_persistent =
      tracked.kind != RequestKind::kReceive && tracked.kind != RequestKind::kNewComm;
  if (!is_persistent || tracked.active) meaning.flags |= kRecordCompletes;
  if (is_receive(tracked)) read_tracked(meaning, tracked, status);
  if (tracked.kind == RequestKind::kNewComm) add_completed_comm(tracked);
  tracked.active = false;
  tracked.number = 0;
  if (is_persistent) {
    requests.publish(&tracked, handle);
  } else {
    requests.release(&tracked);
  }
}

Word before_completion(const Call& call, std::int32_t count, Word array, Word statuses,
                       Word ignore) noexcept {
  Thread& thread = *call.thread;
  thread.request_count = 0;
  if (count <= 0 || array == 0) return statuses;
  const auto wanted = static_cast<std::uint32_t>(count);
  note_gaps();
  if (!make_request_room(thread, wanted)) {
    count_untracked();
    requests.give_up();  // The completions are not seen.
    return statuses;
  }
  const TrackedRequest* one = nullptr;
  std::uint32_t found = 0;
  ClaimedRequest* const claims = thread.claims;
  Word* const handles = thread.request_handles;
  for (std::uint32_t i = 0; i < wanted; ++i) {
    handles[i] = load_handle(array, i);
    claims[i] = handles[i] == process.abi.request_null
                    ? ClaimedRequest{}
                    : requests.claim(handles[i], process.many_threads);
    if (claims[i].tracked == nullptr) continue;
    one = claims[i].tracked;
    ++found;
  }
  thread.request_count = wanted;
  // If there are several receives, the agent gets no peer: any of them may be the late one.
  if (found == 1) publish_where(call, one->peer, one->comm);
  return found != 0 && statuses == ignore ? reinterpret_cast<Word>(thread.statuses) : statuses;
}

void after_unfinished(const Call& call, Word array, Word statuses) noexcept {
  const Thread& thread = *call.thread;
  for (std::uint32_t i = 0; i < thread.request_count; ++i) {
    if (call.result == 0 || !is_fine(call, statuses, i)) {
      put_back(thread, i, array);
    } else {
      complete(call, i, status_at(statuses, i));
    }
  }
}

void after_waitany(const Call& call, std::int32_t, Word array, Word index, Word status,
                   Word flag) noexcept {
  Meaning own;
  set_answer(own, call, flag);
  note(call, own);
  Thread& thread = *call.thread;
  const std::int32_t chosen = has_completed(call, flag)
                                  ? *reinterpret_cast<const std::int32_t*>(index)
                                  : process.abi.undefined;
  for (std::uint32_t i = 0; i < thread.request_count; ++i) {
    if (static_cast<std::int32_t>(i) != chosen) {
      put_back(thread, i, array);
      continue;
    }
    complete(call, i, status);
  }
}

void after_waitsome(const Call& call, std::int32_t, Word array, Word outcount, Word indices,
                    Word statuses, bool is_test) noexcept {
  Meaning own;
  // The count is MPI_UNDEFINED, below 0, if there was no active request.
  if (is_test && call.result == 0) {
    own.flags = *reinterpret_cast<const std::int32_t*>(outcount) != 0 ? kRecordSucceeds
                                                                      : kRecordFindsNothing;
  }
  note(call, own);
  Thread& thread = *call.thread;
  const bool in_status = (call.result & kErrorClassBits) == process.abi.error_in_status;
  const std::int32_t completed = call.result == 0 || in_status
                                     ? *reinterpret_cast<const std::int32_t*>(outcount)
                                     : process.abi.undefined;
  for (std::int32_t k = 0; k < completed; ++k) {
    const std::int32_t i = reinterpret_cast<const std::int32_t*>(indices)[k];
    const auto at = static_cast<std::uint32_t>(k);
    if (i < 0 || static_cast<std::uint32_t>(i) >= thread.request_count) continue;
    if (!is_fine(call, statuses, at)) continue;
    complete(call, static_cast<std::uint32_t>(i), status_at(statuses, at));
  }
  // Those that have completed are not claimed any more.
  for (std::uint32_t i = 0; i < thread.request_count; ++i) put_back(thread, i, array);
}

void before_request_free(Call& call, Word request) noexcept {
  call.claimed = requests.claim(load_handle(request), process.many_threads);
  TrackedRequest* const tracked = call.claimed.tracked;
  if (tracked == nullptr) return;
  // MPI still completes the receive, but the program cannot learn when, or from which sender.
  if (is_receive(*tracked)) count_untracked();
  message_numbers.forget(tracked->posted);
  requests.release(tracked);
}

void after_request_free(const Call& call) noexcept {
  Meaning meaning;
  meaning.request = call.claimed.number;
  note(call, meaning);
}

void after_new_request(const Call& call, Mode mode, Word request) noexcept {
  if (call.result != 0) return note(call, Meaning{});
  finish(call, mode, request, Meaning{}, RequestKind::kPlain);
}

void after_request(const Call& call, Word handle, Word flag) noexcept {
  Meaning meaning;
  set_answer(meaning, call, flag);
  note_gaps();
  meaning.request = requests.number_of(handle & process.abi.handle_mask, process.many_threads);
  note(call, meaning);
}

}  // namespace xylem::capture
