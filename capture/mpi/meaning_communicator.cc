#include "capture/core/definition_writer_internal.h"
#include "capture/mpi/hot_shapes_internal.h"

namespace xylem::capture {
namespace {

// Tags of Origin for functions whose communicators are numbered by their members.
constexpr std::uint64_t kCreateGroupTag = 1ull << 32;
constexpr std::uint64_t kIntercommTag = 2ull << 32;
constexpr std::uint64_t kJoinTag = 3ull << 32;
constexpr std::uint64_t kTextTag = 4ull << 32;

std::uint64_t hash_of(const char* text) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (; *text != 0; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  return hash;
}

// Follows the request of MPI_Comm_idup until it completes.
void track_new_comm(Word request, std::uint64_t number, const Origin& origin, Word newcomm) {
  TrackedRequest* tracked = requests.insert(request, process.many_threads);
  if (tracked == nullptr) {
    comms.lose_unseen();
    return count_untracked();
  }
  message_numbers.forget(tracked->posted);  // That of an older request with this handle.
  *tracked = TrackedRequest{.members = origin.members,
                            .bytes = origin.number,
                            .new_comm = reinterpret_cast<Word*>(newcomm),
                            .comm = origin.parent,
                            .peer = kNoPeer,
                            .tag = static_cast<std::int32_t>(origin.kind),
                            .kind = RequestKind::kNewComm,
                            .way = tracked->way,
                            .posted = {},
                            .number = number,
                            .later = tracked->later};
  requests.publish(tracked, request);
}

// Records a call that has made, or will make, a communicator.
void note_new(const Call& call, Mode mode, Word request, const Origin& origin, Word newcomm) {
  Meaning meaning;
  if (mode == Mode::kRequest) {
    if (call.thread != nullptr) {
      meaning.flags = kRecordPosts;
      meaning.request = next_number(call);
      track_new_comm(load_handle(request), meaning.request, origin, newcomm);
    } else {
      comms.lose_unseen();  // Nobody may see the completion.
    }
  } else {
    const Word made = load_handle(newcomm);
    comms.add(made, origin);
    if (const CommEntry* entry = comms.find_known(made)) meaning.comm = entry->identity;
  }
  note(call, meaning);
}

void note_failed_new(const Call& call) {
  comms.lose_unseen();
  note(call, Meaning{});
}

}  // namespace

void add_completed_comm(const TrackedRequest& tracked) noexcept {
  // The request may have completed unseen, for example while capture was off. Then this is another
  // request with the same handle, and the address may not be valid any more.
  if (comms.has_unseen_completion() ||
      process.segment->was_disabled.load(std::memory_order_relaxed) != 0) {
    return comms.lose_unseen();
  }
  const Origin origin{static_cast<Origin::Kind>(tracked.tag), tracked.comm,
                      static_cast<std::uint32_t>(tracked.bytes), 0, tracked.members};
  comms.add(load_handle(reinterpret_cast<Word>(tracked.new_comm)), origin);
}

void after_comm_new(const Call& call, Mode mode, Word request, Word parent, Word newcomm) noexcept {
  if (call.result != 0) {
    comms.lose_children(parent);
    return note(call, Meaning{});
  }
  note_new(call, mode, request, comms.next_child(parent), newcomm);
}

void after_comm_dup(const Call& call, Mode mode, Word request, Word parent, Word newcomm) noexcept {
  if (call.result != 0) return after_comm_new(call, mode, request, parent, newcomm);
  Origin origin = comms.next_child(parent);
  if (const CommEntry* entry = comms.find_known(parent)) origin.members = entry->members;
  note_new(call, mode, request, origin, newcomm);
}

void after_comm_new_by_group(const Call& call, Mode mode, Word request, Word parent,
                             std::int32_t tag, Word newcomm) noexcept {
  if (call.result != 0) return note_failed_new(call);
  Origin origin{Origin::Kind::kByMembers};
  if (const CommEntry* entry = comms.find(parent)) origin.parent = entry->identity;
  if (origin.parent == kNoComm) origin.kind = Origin::Kind::kUnknown;
  origin.tag =
      (kCreateGroupTag | static_cast<std::uint32_t>(tag)) + origin.parent * 0x9e3779b97f4a7c15u;
  note_new(call, mode, request, origin, newcomm);
}

void after_comm_new_from_group(const Call& call, Mode mode, Word request, Word tag,
                               Word newcomm) noexcept {
  if (call.result != 0) return note_failed_new(call);
  const std::uint64_t text = hash_of(reinterpret_cast<const char*>(tag));
  note_new(call, mode, request, {Origin::Kind::kByMembers, kNoComm, 0, kTextTag ^ text, nullptr},
           newcomm);
}

void after_intercomm_new(const Call& call, Mode mode, Word request, std::int32_t tag,
                         Word newcomm) noexcept {
  if (call.result != 0) return note_failed_new(call);
  const std::uint64_t its_tag = kIntercommTag | static_cast<std::uint32_t>(tag);
  note_new(call, mode, request, {Origin::Kind::kByMembers, kNoComm, 0, its_tag, nullptr}, newcomm);
}

void after_comm_join(const Call& call, Mode mode, Word request, Word newcomm) noexcept {
  // If it fails here, the other side has no communicator either.
  if (call.result != 0) return note(call, Meaning{});
  note_new(call, mode, request, {Origin::Kind::kByMembers, kNoComm, 0, kJoinTag, nullptr}, newcomm);
}

void after_comm_set_name(const Call& call, Word comm, Word name) noexcept {
  Meaning meaning;
  const CommEntry* entry = call.result == 0 ? comms.find(comm) : nullptr;
  if (entry != nullptr) {
    meaning.comm = entry->identity;
    if (meaning.comm != kNoComm)
      definitions.name(meaning.comm, reinterpret_cast<const char*>(name));
  }
  note(call, meaning);
}

void before_comm_free(Call& call, Word comm) noexcept {
  const Word handle = load_handle(comm);
  const CommEntry* entry = handle == 0 ? nullptr : comms.find_known(handle);
  call.freed_comm = entry == nullptr ? kNoComm : entry->identity;
  // This happens before the real call. Right after it, MPI may give the handle to a new
  // communicator of another thread.
  if (handle != process.abi.comm_world) comms.forget(handle);
}

void after_comm_free(const Call& call) noexcept {
  Meaning meaning;
  meaning.comm = call.freed_comm;
  if (call.result != 0) comms.lose_unseen();  // It lives on, and its next use finds it unknown.
  note(call, meaning);
}

}  // namespace xylem::capture
