#include "capture/mpi/meaning_internal.h"

namespace xylem::capture {

void after_comm_new(const Call& call, Mode mode, Word request, Word newcomm) noexcept {
  Meaning meaning;
  if (call.result != 0) return note(call, meaning);
  if (mode == Mode::kRequest) {
    meaning.request = load_handle(request);
    TrackedRequest* tracked = requests.insert(meaning.request, process.many_threads);
    if (tracked == nullptr) {
      count_untracked();
    } else {
      tracked->members = nullptr;
      tracked->bytes = 0;
      tracked->tag = kNoTag;
      tracked->active = false;
      tracked->kind = RequestKind::kNewComm;
      tracked->comm = kNoComm;
      tracked->peer = kNoPeer;
      tracked->new_comm = reinterpret_cast<Word*>(newcomm);
      requests.publish(tracked, meaning.request);
    }
  } else {
    const Word made = load_handle(newcomm);
    comms.add(made);
    if (const CommEntry* entry = comms.find(made)) meaning.comm = entry->identity;
  }
  note(call, meaning);
}

void before_comm_free(const Call& call, Word comm) noexcept {
  const Word handle = load_handle(comm);
  const CommEntry* entry = handle == 0 ? nullptr : comms.find(handle);
  call.thread->freed_comm = entry == nullptr ? kNoComm : entry->identity;
  // This happens before the real call. Right after it, MPI may give the handle to a new
  // communicator of another thread.
  if (handle != process.abi.comm_world) comms.forget(handle);
}

void after_comm_free(const Call& call) noexcept {
  Meaning meaning;
  meaning.comm = call.thread->freed_comm;
  note(call, meaning);
}

}  // namespace xylem::capture
