// OTF2: https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/
//
// The events are written process by process, so only the buffers of one process are in memory.
// Definitions come at the end, when all functions and communicators are known.

#include <otf2/otf2.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/quantity_text.h"
#include "exports/export_internal.h"
#include "exports/otf2_writer_internal.h"
#include "storage/call_roles.h"
#include "storage/read/held.h"
#include "storage/read/message_key.h"

namespace xylem::exports {
namespace {

using storage::CallRole;
using storage::EventReader;

/// A rank of which nothing is stored needs a location with two empty files. If a world has more of
/// them, its messages and collectives are left out instead.
constexpr std::int64_t kMaxMissingRanks = 1024;

std::optional<OTF2_CollectiveOp> collective_of(std::string_view function) {
  constexpr std::pair<std::string_view, OTF2_CollectiveOp> kOps[] = {
      {"MPI_Barrier", OTF2_COLLECTIVE_OP_BARRIER},
      {"MPI_Bcast", OTF2_COLLECTIVE_OP_BCAST},
      {"MPI_Gather", OTF2_COLLECTIVE_OP_GATHER},
      {"MPI_Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
      {"MPI_Scatter", OTF2_COLLECTIVE_OP_SCATTER},
      {"MPI_Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
      {"MPI_Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
      {"MPI_Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
      {"MPI_Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
      {"MPI_Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
      {"MPI_Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
      {"MPI_Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
      {"MPI_Reduce", OTF2_COLLECTIVE_OP_REDUCE},
      {"MPI_Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
      {"MPI_Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
      {"MPI_Scan", OTF2_COLLECTIVE_OP_SCAN},
      {"MPI_Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
  };
  if (function.ends_with("_c")) function.remove_suffix(2);
  for (const auto& [name, op] : kOps) {
    if (name == function) return op;
  }
  return std::nullopt;
}

bool has_root(OTF2_CollectiveOp op) {
  return op == OTF2_COLLECTIVE_OP_BCAST || op == OTF2_COLLECTIVE_OP_REDUCE ||
         (op >= OTF2_COLLECTIVE_OP_GATHER && op <= OTF2_COLLECTIVE_OP_SCATTERV);
}

/// One process of the run, or a rank of a world without one.
struct Member {
  std::optional<std::int64_t> process;  ///< EventReader::Process::id.
  std::string name, host;
  std::optional<WorldId> world;
  std::optional<Rank> rank;
};

class Exporter {
 public:
  /// Must live until the writer is closed, which uses its communicators.
  Exporter(storage::RunFile& run, Otf2Writer& writer) : run_(run), writer_(writer) {}

  Result<Exported> write() {
    if (auto read = read_members(); !read) return unexpected(read.error());
    auto comms = KnownComms::read(run_);
    if (!comms) return unexpected(comms.error());
    comms_ = std::move(*comms);
    writer_.set_comms(comms_);
    for (const Member& member : members_) {
      writer_.begin_process(member.name, member.host);
      if (member.process) {
        if (auto written = write_process(member); !written) return unexpected(written.error());
      }
      writer_.end_process();
    }
    for (const auto& [world, ranks] : ranks_) writer_.define_world(raw(world), ranks);
    add_remarks();
    return exported_;
  }

 private:
  // The place of a rank in a group is its rank. So each rank of a world has a location, also if
  // nothing of it is stored.
  Result<void> read_members() {
    const auto reader = run_.events({});
    if (!reader) return unexpected(reader.error());
    const auto& processes = (*reader)->processes();
    exported_.processes = processes.size();
    const auto names = names_of(processes);
    std::map<WorldId, std::map<std::uint32_t, std::uint32_t>> members;  // World, rank: location.
    for (std::uint32_t i = 0; i < processes.size(); ++i) {
      const EventReader::Process& process = processes[i];
      members_.push_back({process.id, names[i], process.host, process.world, process.rank});
      if (process.world && process.rank) members[*process.world].try_emplace(raw(*process.rank), i);
    }
    const auto worlds = run_.rows("SELECT id, size FROM world");
    if (!worlds) return unexpected(worlds.error());
    for (const auto& row : *worlds) {
      const WorldId world{static_cast<std::uint32_t>(storage::integer_of(row[0]))};
      const std::int64_t size = storage::integer_of(row[1]);
      const auto of = members.find(world);
      if (of == members.end() || size < 1) continue;
      if (size - kMaxMissingRanks > static_cast<std::int64_t>(of->second.size())) continue;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        const auto [place, is_new] =
            of->second.try_emplace(rank, static_cast<std::uint32_t>(members_.size()));
        if (is_new) members_.push_back({{}, "rank " + std::to_string(rank), "", world, {}});
        ranks_[world].push_back(place->second);
      }
    }
    writer_.reserve_locations(members_.size());
    const auto begin = run_.rows("SELECT min(begin_ns), max(end_ns) FROM event_chunk");
    if (!begin) return unexpected(begin.error());
    writer_.set_times(storage::time_of(begin->at(0)[0]), storage::time_of(begin->at(0)[1]));
    return {};
  }

  Result<void> write_process(const Member& member) {
    storage::EventQuery query;
    query.process = member.process;
    const auto reader = run_.events(query);
    if (!reader) return unexpected(reader.error());
    ranks_of_world_ = 0;
    last_comm_ = wire::kNoComm;
    if (member.world && ranks_.contains(*member.world)) {
      ranks_of_world_ = ranks_[*member.world].size();
    }
    EventReader::Item item;
    while ((*reader)->next(item)) {
      const wire::Event& event = *item.event;
      count(event, exported_);
      if (event.kind == wire::kKindCompletion) {
        add_message(member, event);
      } else {
        add_call(member, event, (*reader)->function_name(item),
                 (*reader)->functions()[raw(item.function)].role);
      }
      if (!writer_.ok()) break;
    }
    if (auto read = (*reader)->take(); !read) return read;
    return writer_.result();
  }

  void add_call(const Member& member, const wire::Event& event, const std::string& function,
                CallRole role) {
    writer_.enter(event.thread, event.begin_ns, end_of(event),
                  {function, role, event.kind == wire::kKindMpi});
    if (event.calls > 1) ++sampled_;
    if (storage::sends(event) || storage::receives(event)) return add_message(member, event);
    const auto op = collective_of(function);
    if (!op) return;
    if (ranks_of_world_ == 0 || event.comm == wire::kNoComm) {
      ++collectives_left_out_;
      return;
    }
    const KnownMembers* const members = members_of(member, event.comm);
    if (members != nullptr && members->is_inter()) {
      ++inter_left_out_;
      return;
    }
    const bool has_members =
        members != nullptr || event.comm == wire::kCommWorld || event.comm == wire::kCommSelf;
    const auto root = has_root(*op) ? place_of(member, event, members)
                                    : std::optional<std::uint32_t>(OTF2_COLLECTIVE_ROOT_NONE);
    if (!has_members || !root) {
      ++collectives_left_out_;
      return;
    }
    ++exported_.collectives;
    writer_.collective(
        event.thread, event.begin_ns,
        {*op, writer_.comm_of(raw(*member.world), event.comm), *root, event.bytes, event.room});
  }

  void add_message(const Member& member, const wire::Event& event) {
    if (!storage::sends(event) && !storage::receives(event)) return;
    const auto peer = event.comm == wire::kNoComm
                          ? std::nullopt
                          : place_of(member, event, members_of(member, event.comm));
    if (!peer) {
      ++messages_left_out_;
      return;
    }
    const Otf2Writer::Message message{*peer, writer_.comm_of(raw(*member.world), event.comm),
                                      static_cast<std::uint32_t>(event.tag), event.bytes};
    if (storage::sends(event)) {
      ++exported_.messages;
      writer_.send(event.thread, event.begin_ns, message);
    }
    if (storage::receives(event)) {
      ++exported_.messages;
      writer_.receive(event.thread, event.begin_ns, end_of(event), message);
    }
  }

  /// Null: not known, or MPI_COMM_WORLD or MPI_COMM_SELF.
  const KnownMembers* members_of(const Member& member, CommId comm) {
    if (!member.world) return nullptr;
    if (comm == last_comm_) return last_members_;
    last_comm_ = comm;
    last_members_ = comms_.members(*member.world, comm);
    return last_members_;
  }

  /// The rank in the communicator of the event's peer. If the members are not known, they are the
  /// ranks of the world.
  std::optional<std::uint32_t> place_of(const Member& member, const wire::Event& event,
                                        const KnownMembers* members) const {
    if (event.peer < 0 || static_cast<std::size_t>(event.peer) >= ranks_of_world_) return {};
    const auto peer = static_cast<std::uint32_t>(event.peer);
    if (event.comm == wire::kCommSelf) return 0;
    if (members == nullptr) return peer;
    return member.rank ? members->place_of(peer, raw(*member.rank)) : std::nullopt;
  }

  void add_remarks() {
    const auto add = [this](std::uint64_t number, const char* what) {
      if (number != 0) exported_.remarks.push_back(count_text(number) + what);
    };
    add(collectives_left_out_,
        " collective calls have only Enter and Leave: the members of their communicator or their"
        " root are not in the trace");
    add(inter_left_out_,
        " collective calls have only Enter and Leave: they are on intercommunicators");
    add(messages_left_out_,
        " sends or receives have no record: the trace lacks their communicator, the other rank, or"
        " the number of ranks");
    add(sampled_, " calls stand for several calls each, because their function was sampled");
    add(writer_.cut(),
        " calls overlap another call of their thread without being in it; they are"
        " cut");
  }

  storage::RunFile& run_;
  Otf2Writer& writer_;
  Exported exported_;
  std::vector<Member> members_;                          // By location.
  std::map<WorldId, std::vector<std::uint64_t>> ranks_;  // Locations by rank.
  KnownComms comms_;
  std::size_t ranks_of_world_ = 0;  // Of the process that is being written.
  CommId last_comm_ = wire::kNoComm;
  const KnownMembers* last_members_ = nullptr;  // Of `last_comm_`, in the world of that process.
  std::uint64_t collectives_left_out_ = 0, inter_left_out_ = 0, messages_left_out_ = 0;
  std::uint64_t sampled_ = 0;
};

Result<void> make_room(const std::string& folder, bool overwrite) {
  std::error_code failure;
  for (const char* name : {"traces.otf2", "traces.def", "traces"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (!std::filesystem::exists(std::filesystem::symlink_status(path, failure))) continue;
    if (!overwrite) {
      return unexpected(Code::kInvalidArgument,
                        path.string() + ": is there already; --overwrite takes its place");
    }
    std::filesystem::remove_all(path, failure);
    if (failure) {
      return unexpected(Code::kPermissionDenied,
                        path.string() + ": cannot be removed: " + failure.message());
    }
  }
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    return unexpected(Code::kPermissionDenied,
                      folder + ": cannot be created: " + failure.message());
  }
  return {};
}

}  // namespace

bool has_otf2() { return true; }

Result<Exported> write_otf2(storage::RunFile& run, const std::string& folder, bool overwrite) {
  if (auto room = make_room(folder, overwrite); !room) return unexpected(room.error());
  const storage::Held held(run);
  if (!held.result()) return unexpected(held.result().error());
  Result<Exported> exported = unexpected(Code::kInternal, "");
  {
    Otf2Writer writer(folder);
    Exporter exporter(run, writer);
    exported = writer.ok() ? exporter.write() : unexpected(writer.result().error());
    if (auto closed = writer.close(); exported && !closed) exported = unexpected(closed.error());
  }
  if (!exported) static_cast<void>(make_room(folder, true));
  return exported;
}

}  // namespace xylem::exports
