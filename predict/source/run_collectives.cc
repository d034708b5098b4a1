#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

#include "predict/source/run_collectives_internal.h"
#include "storage/read/inquiry.h"

namespace xylem::predict {

std::optional<CollectiveFunction> collective_function(std::string_view name) {
  constexpr std::string_view kBeginning = "MPI_";
  if (!name.starts_with(kBeginning)) return std::nullopt;
  name.remove_prefix(kBeginning.size());
  if (name.ends_with("_c")) name.remove_suffix(2);
  CollectiveFunction found;
  found.is_immediate = name.size() > 1 && name[0] == 'I' && std::islower(name[1]) != 0;
  if (found.is_immediate) name.remove_prefix(1);
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "alltoallw") lower = "alltoallv";  // Sizes are in bytes, whatever the types.
  for (std::size_t i = 0; i < kCollectives; ++i) {
    found.collective = static_cast<Collective>(i);
    if (name_of(found.collective) == lower) return found;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> RunCollectives::Members::place_of(std::uint32_t rank) const {
  const auto found = std::ranges::lower_bound(places, std::pair{rank, std::uint32_t{0}});
  if (found == places.end() || found->first != rank) return std::nullopt;
  return found->second;
}

Result<RunCollectives> RunCollectives::read(storage::RunFile& run, WorldId world,
                                            std::uint32_t ranks) {
  RunCollectives made;
  Members& all = made.add(wire::kCommWorld);
  for (std::uint32_t i = 0; i < ranks; ++i) all.ranks.push_back(i);
  storage::Inquiry inquiry(run);
  if (inquiry.has_table("communicator_member")) {
    inquiry.scan("SELECT id, rank, is_second FROM communicator_member WHERE world = " +
                     std::to_string(raw(world)) + " AND id <> 0 ORDER BY id, is_second, place",
                 [&](std::span<const storage::Value> row) {
                   Members& of = made.add(storage::id_of<CommId>(row[0]));
                   of.has_two_groups |= storage::integer_of(row[2]) != 0;
                   // A member of another world has no rank here. One beyond the world is of a
                   // damaged file.
                   const std::uint64_t rank = storage::count_of(row[1]);
                   of.has_two_groups |= storage::is_null(row[1]) || rank >= ranks;
                   of.ranks.push_back(static_cast<std::uint32_t>(rank));
                 });
  }
  if (inquiry.failure) return unexpected(*inquiry.failure);
  for (auto& [comm, of] : made.members_) {
    for (std::uint32_t place = 0; place < of.ranks.size(); ++place) {
      of.places.emplace_back(of.ranks[place], place);
    }
    std::ranges::sort(of.places);
  }
  return made;
}

void RunCollectives::learn(CollectiveFunction function, std::uint32_t rank,
                           const wire::Event& event) {
  if (!has_sizes(function.collective) || function.collective == Collective::kAlltoallv) return;
  const auto members = members_.find(event.comm);
  if (members == members_.end()) return;
  const auto place = members->second.place_of(rank);
  if (!place) return;
  std::vector<std::uint64_t>& sizes = sizes_[{event.comm, event.number}];
  sizes.resize(members->second.ranks.size());
  const bool sends =
      function.collective == Collective::kGatherv || function.collective == Collective::kAllgatherv;
  sizes[*place] = sends ? event.bytes : event.room;
}

Result<RunCollectives::Call> RunCollectives::find(CollectiveFunction function, std::uint32_t rank,
                                                  const wire::Event& event,
                                                  std::span<const Block> blocks) {
  const auto refuse = [](const char* why) { return unexpected(Code::kInvalidArgument, why); };
  const auto found = members_.find(event.comm);
  if (found == members_.end()) return refuse("the members of its communicator are not known");
  const Members& members = found->second;
  if (members.has_two_groups)
    return refuse("its communicator has two groups, or members of another world");
  const auto place = members.place_of(rank);
  if (!place) return refuse("the members of its communicator are not known");
  Call made;
  made.place = *place;
  made.communicator = {members.number, static_cast<std::uint32_t>(members.ranks.size()),
                       members.ranks};
  CollectiveCall& call = made.call;
  call.collective = function.collective;
  if (event.peer >= 0) {
    const auto root = members.place_of(static_cast<std::uint32_t>(event.peer));
    if (!root) return refuse("its root is not a member of its communicator");
    call.root = *root;
  }
  const std::uint64_t ranks = members.ranks.size();
  switch (function.collective) {
    case Collective::kBcast:
      call.bytes = std::max(event.bytes, event.room);  // At the root it sends, elsewhere it gets.
      break;
    case Collective::kAlltoall:
      call.bytes = event.bytes / ranks;
      break;
    case Collective::kScatter:
    case Collective::kReduceScatterBlock:
      call.bytes = event.room;
      break;
    default:
      call.bytes = event.bytes;
  }
  if (function.collective == Collective::kAlltoallv) {
    sent_.assign(ranks, 0);
    received_.assign(ranks, 0);
    for (const Block& it : blocks) {
      const auto peer = members.place_of(it.peer);
      if (!peer) return refuse("a block is of a rank that is not a member of its communicator");
      sent_[*peer] = it.bytes;
      received_[*peer] = it.received_bytes;
    }
    call.sizes = sent_;
    call.received_sizes = received_;
  } else if (has_sizes(function.collective)) {
    call.sizes = sizes_[{event.comm, event.number}];
    if (call.sizes.size() != ranks) return refuse("the sizes of its blocks are not known");
  }
  if (function.is_immediate) {
    // Calls that do not block may overlap others of their communicator: each has its own tag.
    const auto own = static_cast<std::uint32_t>(members_.size() + immediate_.size());
    made.communicator.number =
        immediate_.try_emplace({event.comm, event.number}, own).first->second;
  }
  return made;
}

}  // namespace xylem::predict
