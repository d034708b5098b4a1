// One-sided communication and files.

#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {
namespace {

// A window is known by the communicator that it was made of.
Meaning on_window(Word window, std::int32_t target = kNoPeer) noexcept {
  Meaning meaning;
  place(meaning, windows.find_known(window), target, kNoTag);
  return meaning;
}

// A call that sampling leaves out still moves its bytes.
void note_transfer(const Call& call, const Meaning& meaning) noexcept {
  if (call.calls == 0 && meaning.bytes != 0) return note_left_out(call, meaning);
  note(call, meaning);
}

}  // namespace

void after_one_sided(const Call& call, Mode mode, Word request, std::int64_t count, Word datatype,
                     std::int32_t target, Word window) noexcept {
  Meaning meaning = on_window(window, target);
  if (call.result == 0) {
    if (target != process.abi.proc_null) meaning.bytes = payload(count, datatype);
    if (mode == Mode::kRequest) track_plain(call, request, meaning);
  }
  note_transfer(call, meaning);
}

void after_window(const Call& call, std::int32_t target, Word window) noexcept {
  note(call, on_window(window, target));
}

void after_window_new(const Call& call, Word comm, Word window) noexcept {
  Meaning meaning;
  if (call.result == 0) {
    const CommEntry* const of = comms.find(comm);
    if (of != nullptr) windows.add_window(load_handle(window), *of);
    place(meaning, of, kNoPeer, kNoTag);
  }
  note(call, meaning);
}

void before_window_free(Call& call, Word window) noexcept {
  const Word handle = load_handle(window);
  const CommEntry* entry = handle == 0 ? nullptr : windows.find_known(handle);
  call.freed_comm = entry == nullptr ? kNoComm : entry->identity;
  if (entry != nullptr) windows.forget(handle);  // As before_comm_free().
}

void after_window_free(const Call& call) noexcept {
  Meaning meaning;
  meaning.comm = call.freed_comm;
  note(call, meaning);
}

void after_file_open(const Call& call, Word comm) noexcept {
  Meaning meaning;
  if (call.result == 0) place(meaning, comms.find(comm), kNoPeer, kNoTag);
  note(call, meaning);
}

void after_file_transfer(const Call& call, Word status) noexcept {
  Meaning meaning;
  if (call.result == 0)
    meaning.bytes = status_bytes(process.abi, reinterpret_cast<const unsigned char*>(status));
  note_transfer(call, meaning);
}

void after_file_start(const Call& call, Mode mode, Word request, std::int64_t count,
                      Word datatype) noexcept {
  Meaning meaning;
  if (call.result == 0) {
    meaning.bytes = payload(count, datatype);
    if (mode == Mode::kRequest) track_plain(call, request, meaning);
  }
  note_transfer(call, meaning);
}

}  // namespace xylem::capture
