#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "exports/otf2_writer_internal.h"
#include "wire/chunk.h"

namespace xylem::exports {
namespace {

using wire::kCommSelf;
using wire::kCommWorld;

OTF2_FlushType flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }
// Without a function for the end of a flush, no record says that a buffer was written.
constexpr OTF2_FlushCallbacks kFlush = {flush, nullptr};

/// A location keeps this many chunks of events (1 MiB) in memory. By itself, the library would keep
/// up to 128 MiB.
constexpr std::size_t kMaxChunksOfEvents = 4;
using Chunks = std::vector<std::unique_ptr<std::byte[]>>;

void* allocate(void*, OTF2_FileType type, OTF2_LocationRef, void** of_buffer, std::uint64_t size) {
  if (*of_buffer == nullptr) *of_buffer = std::make_unique<Chunks>().release();
  Chunks& chunks = *static_cast<Chunks*>(*of_buffer);
  // Without a chunk, the library writes its buffer to the file.
  if (type == OTF2_FILETYPE_EVENTS && chunks.size() >= kMaxChunksOfEvents) return nullptr;
  chunks.push_back(std::make_unique<std::byte[]>(size));
  return chunks.back().get();
}

void free_all(void*, OTF2_FileType, OTF2_LocationRef, void** of_buffer, bool is_last) {
  const auto chunks = static_cast<Chunks*>(*of_buffer);
  if (chunks == nullptr) return;
  chunks->clear();
  if (!is_last) return;
  const std::unique_ptr<Chunks> owned(chunks);
  *of_buffer = nullptr;
}

constexpr OTF2_MemoryCallbacks kMemory = {allocate, free_all};

OTF2_RegionRole role_in_otf2(storage::CallRole role) {
  using storage::CallRole;
  switch (role) {
    case CallRole::kPost:
    case CallRole::kBlockingSend:
    case CallRole::kBlockingReceive:
    case CallRole::kSendReceive:
    case CallRole::kProbe:
      return OTF2_REGION_ROLE_POINT2POINT;
    case CallRole::kSynchronising:
      return OTF2_REGION_ROLE_COLL_ALL2ALL;
    case CallRole::kFromRoot:
      return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case CallRole::kToRoot:
      return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case CallRole::kOtherCollective:
      return OTF2_REGION_ROLE_COLL_OTHER;
    default:
      return OTF2_REGION_ROLE_FUNCTION;
  }
}

}  // namespace

// ---- the archive ----

Otf2Writer::Otf2Writer(const std::string& folder) : folder_(folder) {
  former_ = OTF2_Error_RegisterCallback(keep_error, this);
  archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE,
                               OTF2_CHUNK_SIZE_EVENTS_DEFAULT, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                               OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive_ == nullptr) {
    check(OTF2_ERROR_FILE_INTERACTION);
    return;
  }
  check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
  check(OTF2_Archive_SetMemoryCallbacks(archive_, &kMemory, nullptr));
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  check(OTF2_Archive_SetCreator(archive_, "xylem"));
  check(OTF2_Archive_OpenEvtFiles(archive_));
  definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (definitions_ == nullptr) check(OTF2_ERROR_FILE_INTERACTION);
}

Otf2Writer::~Otf2Writer() {
  if (archive_ != nullptr) OTF2_Archive_Close(archive_);
  OTF2_Error_RegisterCallback(former_, nullptr);
}

// The library's own text says most, and would otherwise be printed.
OTF2_ErrorCode Otf2Writer::keep_error(void* writer, const char*, std::uint64_t, const char*,
                                      OTF2_ErrorCode code, const char*, va_list) {
  static_cast<Otf2Writer*>(writer)->check(code);
  return code;
}

void Otf2Writer::check(OTF2_ErrorCode code) {
  if (code == OTF2_SUCCESS || !result_) return;
  result_ = unexpected(Code::kInternal, folder_ + ": the OTF2 library cannot write the archive: " +
                                            OTF2_Error_GetDescription(code));
}

void Otf2Writer::set_times(Nanos begin, Nanos end) {
  begin_ = begin;
  end_ = std::max(begin, end);
}

// ---- events ----

void Otf2Writer::begin_process(const std::string& name, const std::string& host) {
  processes_.push_back({name, host});
}

Otf2Writer::Thread& Otf2Writer::thread_of(ThreadIndex index) {
  const auto [place, is_new] = threads_.try_emplace(index);
  Thread& thread = place->second;
  if (!is_new) return thread;
  thread.group = processes_.size() - 1;
  thread.location = raw(index) == 0 ? thread.group : next_location_++;
  thread.name = "thread " + std::to_string(raw(index));
  if (ok()) thread.writer = OTF2_Archive_GetEvtWriter(archive_, thread.location);
  if (thread.writer == nullptr) check(OTF2_ERROR_FILE_INTERACTION);
  return thread;
}

void Otf2Writer::leave(Thread& thread) {
  const OpenCall& call = thread.open.back();
  const OTF2_TimeStamp at = time_of(call.end);
  for (const Message& message : call.received) write_received(thread, call.end, message);
  if (call.is_collective) {
    const Collective& of = call.collective;
    check(OTF2_EvtWriter_MpiCollectiveEnd(thread.writer, nullptr, at, of.op, of.comm, of.root,
                                          of.bytes, of.received_bytes));
  }
  check(OTF2_EvtWriter_Leave(thread.writer, nullptr, at, call.region));
  thread.open.pop_back();
}

void Otf2Writer::leave_until(Thread& thread, Nanos time) {
  while (ok() && !thread.open.empty() && thread.open.back().end <= time) leave(thread);
}

void Otf2Writer::enter(ThreadIndex index, Nanos begin, Nanos end, const Function& function) {
  if (!ok()) return;
  Thread& thread = thread_of(index);
  leave_until(thread, begin);
  if (!thread.open.empty() && end > thread.open.back().end) {
    end = thread.open.back().end;
    ++cut_;
  }
  OpenCall& call = thread.open.emplace_back();
  call.begin = begin;
  call.end = end;
  call.region = region_of(function);
  if (ok()) check(OTF2_EvtWriter_Enter(thread.writer, nullptr, time_of(begin), call.region));
}

void Otf2Writer::send(ThreadIndex index, Nanos at, const Message& message) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiSend(thread_of(index).writer, nullptr, time_of(at), message.peer,
                               message.comm, message.tag, message.bytes));
}

void Otf2Writer::receive(ThreadIndex index, Nanos begin, Nanos end, const Message& message) {
  if (!ok()) return;
  Thread& thread = thread_of(index);
  if (!thread.open.empty() && thread.open.back().begin == begin && thread.open.back().end == end) {
    thread.open.back().received.push_back(message);
    return;
  }
  leave_until(thread, begin);
  if (ok()) write_received(thread, begin, message);
}

void Otf2Writer::write_received(const Thread& thread, Nanos at, const Message& message) {
  check(OTF2_EvtWriter_MpiRecv(thread.writer, nullptr, time_of(at), message.peer, message.comm,
                               message.tag, message.bytes));
}

void Otf2Writer::collective(ThreadIndex index, Nanos at, const Collective& collective) {
  if (!ok()) return;
  Thread& thread = thread_of(index);
  thread.open.back().is_collective = true;
  thread.open.back().collective = collective;
  check(OTF2_EvtWriter_MpiCollectiveBegin(thread.writer, nullptr, time_of(at)));
}

void Otf2Writer::end_process() {
  if (!ok()) return;
  thread_of(ThreadIndex{0});  // Each process has a location, also without events.
  for (auto& [index, thread] : threads_) {
    if (!ok()) return;
    leave_until(thread, std::numeric_limits<Nanos>::max());
    std::uint64_t events = 0;
    check(OTF2_EvtWriter_GetNumberOfEvents(thread.writer, &events));
    check(OTF2_Archive_CloseEvtWriter(archive_, thread.writer));
    locations_.push_back({thread.location, static_cast<std::uint32_t>(thread.group),
                          std::move(thread.name), events});
  }
  threads_.clear();
}

// ---- definitions ----

OTF2_StringRef Otf2Writer::string(const std::string& text) {
  const auto [place, is_new] =
      strings_.try_emplace(text, static_cast<OTF2_StringRef>(strings_.size()));
  if (is_new && ok()) {
    check(OTF2_GlobalDefWriter_WriteString(definitions_, place->second, text.c_str()));
  }
  return place->second;
}

OTF2_RegionRef Otf2Writer::region_of(const Function& function) {
  const auto [place, is_new] = regions_.try_emplace(function.name);
  if (!is_new) return place->second;
  place->second = static_cast<OTF2_RegionRef>(regions_.size() - 1);
  const OTF2_StringRef name = string(function.name), none = string("");
  if (!ok()) return place->second;
  check(OTF2_GlobalDefWriter_WriteRegion(
      definitions_, place->second, name, name, none, role_in_otf2(function.role),
      function.is_mpi ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, none, 0, 0));
  return place->second;
}

OTF2_CommRef Otf2Writer::comm_of(std::uint32_t world, CommId comm) {
  const auto [place, is_new] =
      comm_refs_.try_emplace({world, comm}, static_cast<OTF2_CommRef>(comms_.size()));
  if (is_new) comms_.emplace_back(world, comm);
  return place->second;
}

void Otf2Writer::define_world(std::uint32_t world, const std::vector<std::uint64_t>& locations) {
  worlds_[world] = locations;
  comm_of(world, kCommWorld);
}

void Otf2Writer::define_locations() {
  const OTF2_StringRef machine = string("machine"), node = string("node"), run = string("run");
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, run, machine,
                                                 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  std::map<std::string, OTF2_SystemTreeNodeRef> hosts;
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    const auto [host, is_new] = hosts.try_emplace(
        processes_[i].host, static_cast<OTF2_SystemTreeNodeRef>(hosts.size() + 1));
    const OTF2_StringRef host_name = string(processes_[i].host), name = string(processes_[i].name);
    if (is_new) {
      check(
          OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, host->second, host_name, node, 0));
    }
    check(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, i, name,
                                                  OTF2_LOCATION_GROUP_TYPE_PROCESS, host->second,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
  }
  for (const Location& location : locations_) {
    const OTF2_StringRef name = string(location.name);
    check(OTF2_GlobalDefWriter_WriteLocation(definitions_, location.location, name,
                                             OTF2_LOCATION_TYPE_CPU_THREAD, location.events,
                                             location.group));
  }
}

OTF2_GroupRef Otf2Writer::define_group(OTF2_GroupType type,
                                       const std::vector<std::uint64_t>& ranks) {
  const OTF2_StringRef none = string("");
  check(OTF2_GlobalDefWriter_WriteGroup(definitions_, groups_, none, type, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE,
                                        static_cast<std::uint32_t>(ranks.size()), ranks.data()));
  return groups_++;
}

void Otf2Writer::define_comms() {
  std::map<std::uint32_t, WorldGroups> groups;  // By world.
  std::vector<std::uint64_t> locations;         // All ranks, world by world.
  for (const auto& [world, of] : worlds_) {
    groups[world].first_rank = locations.size();
    locations.insert(locations.end(), of.begin(), of.end());
  }
  define_group(OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
  const OTF2_GroupRef self = define_group(OTF2_GROUP_TYPE_COMM_SELF, {});
  for (const auto& [world, of] : worlds_) {
    std::vector<std::uint64_t> ranks(of.size());
    std::iota(ranks.begin(), ranks.end(), groups[world].first_rank);
    groups[world].all = define_group(OTF2_GROUP_TYPE_COMM_GROUP, ranks);
    groups[world].self = self;
  }
  for (OTF2_CommRef ref = 0; ref < comms_.size(); ++ref) {
    define_comm(ref, groups[comms_[ref].first]);
  }
}

std::string Otf2Writer::name_of(std::uint32_t world, CommId comm) const {
  const std::string* const given = known_ == nullptr ? nullptr : known_->name(WorldId{world}, comm);
  std::string name = given != nullptr     ? *given
                     : comm == kCommWorld ? "MPI_COMM_WORLD"
                     : comm == kCommSelf  ? "MPI_COMM_SELF"
                                          : "communicator " + std::to_string(raw(comm));
  return worlds_.size() > 1 ? name + " of world " + std::to_string(world) : name;
}

void Otf2Writer::define_comm(OTF2_CommRef ref, const WorldGroups& groups) {
  const auto [world, comm] = comms_[ref];
  const KnownMembers* const members =
      known_ == nullptr ? nullptr : known_->members(WorldId{world}, comm);
  const auto group_of = [&](std::span<const std::uint32_t> of) {
    std::vector<std::uint64_t> ranks;
    for (const std::uint32_t rank : of) ranks.push_back(groups.first_rank + rank);
    return define_group(OTF2_GROUP_TYPE_COMM_GROUP, ranks);
  };
  const OTF2_StringRef name = string(name_of(world, comm));
  if (members != nullptr && members->is_inter()) {
    const OTF2_GroupRef first = group_of(members->first), second = group_of(members->second);
    check(OTF2_GlobalDefWriter_WriteInterComm(definitions_, ref, name, first, second,
                                              OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    return;
  }
  const OTF2_GroupRef group = comm == kCommSelf    ? groups.self
                              : members != nullptr ? group_of(members->first)
                                                   : groups.all;
  check(OTF2_GlobalDefWriter_WriteComm(definitions_, ref, name, group, OTF2_UNDEFINED_COMM,
                                       OTF2_COMM_FLAG_NONE));
}

Result<void> Otf2Writer::close() {
  if (!ok()) return result_;
  check(OTF2_Archive_CloseEvtFiles(archive_));
  // A reader expects the definitions of each location, even if there are none.
  check(OTF2_Archive_OpenDefFiles(archive_));
  for (const Location& location : locations_) {
    if (!ok()) return result_;
    OTF2_DefWriter* const own = OTF2_Archive_GetDefWriter(archive_, location.location);
    if (own == nullptr) check(OTF2_ERROR_FILE_INTERACTION);
    if (ok()) check(OTF2_Archive_CloseDefWriter(archive_, own));
  }
  check(OTF2_Archive_CloseDefFiles(archive_));
  check(OTF2_GlobalDefWriter_WriteClockProperties(
      definitions_, static_cast<std::uint64_t>(kSecond), 0,
      static_cast<std::uint64_t>(end_) - static_cast<std::uint64_t>(begin_) + 1,
      OTF2_UNDEFINED_TIMESTAMP));
  define_locations();
  define_comms();
  check(OTF2_Archive_Close(std::exchange(archive_, nullptr)));
  return result_;
}

}  // namespace xylem::exports
