#include <algorithm>
#include <span>

#include "exports/known_comms_internal.h"
#include "storage/read/inquiry.h"

namespace xylem::exports {
namespace {

using storage::id_of;
using storage::integer_of;
using storage::Value;

struct Group {
  std::shared_ptr<KnownMembers> members = std::make_shared<KnownMembers>();
  bool is_certain = true;
};

/// By world, and by the number that identifies a set of members in the file.
using Groups = std::map<std::pair<WorldId, std::int64_t>, Group>;

Groups read_groups(storage::Inquiry& inquiry) {
  std::map<WorldId, std::int64_t> sizes;
  inquiry.scan("SELECT id, size FROM world", [&](std::span<const Value> row) {
    sizes[id_of<WorldId>(row[0])] = integer_of(row[1]);
  });
  Groups groups;
  // The rows of a group come by place. So the next one has the place behind the last one, unless a
  // member is missing, or two ranks have one place.
  inquiry.scan(
      "SELECT world, members, is_second, place, rank FROM comm_member"
      " ORDER BY world, members, is_second, place",
      [&](std::span<const Value> row) {
        const WorldId world = id_of<WorldId>(row[0]);
        Group& group = groups[{world, integer_of(row[1])}];
        auto& members = integer_of(row[2]) != 0 ? group.members->second : group.members->first;
        const std::int64_t place = integer_of(row[3]), rank = integer_of(row[4]);
        if (place != static_cast<std::int64_t>(members.size()) || rank < 0 ||
            rank >= sizes[world]) {
          group.is_certain = false;
        }
        if (group.is_certain) members.push_back(static_cast<std::uint32_t>(rank));
      });
  std::erase_if(groups, [](auto& entry) {
    return !entry.second.is_certain || !entry.second.members->index();
  });
  return groups;
}

}  // namespace

bool KnownMembers::index() {
  places_.clear();
  places_.reserve(first.size() + second.size());
  for (std::uint32_t i = 0; i < first.size(); ++i) places_.push_back({first[i], i, false});
  for (std::uint32_t i = 0; i < second.size(); ++i) places_.push_back({second[i], i, true});
  std::ranges::sort(places_, {}, &Place::rank);
  return std::ranges::adjacent_find(places_, {}, &Place::rank) == places_.end();
}

const KnownMembers::Place* KnownMembers::find(std::uint32_t rank) const {
  const auto place = std::ranges::lower_bound(places_, rank, {}, &Place::rank);
  return place != places_.end() && place->rank == rank ? &*place : nullptr;
}

std::optional<std::uint32_t> KnownMembers::place_of(std::uint32_t peer, std::uint32_t self) const {
  const Place *const theirs = find(peer), *const own = find(self);
  if (theirs == nullptr || own == nullptr) return std::nullopt;
  if (is_inter() && theirs->is_second == own->is_second) return std::nullopt;
  return theirs->place;
}

Result<KnownComms> KnownComms::read(storage::RunFile& run) {
  KnownComms known;
  storage::Inquiry inquiry(run);
  if (inquiry.has_table("comm_member")) {
    const Groups groups = read_groups(inquiry);
    inquiry.scan(
        "SELECT world, id, members, size, second_size FROM comm WHERE id > 1 AND NOT is_ambiguous",
        [&](std::span<const Value> row) {
          const Key key{id_of<WorldId>(row[0]), id_of<CommId>(row[1])};
          const auto group = groups.find({key.first, integer_of(row[2])});
          if (group == groups.end()) return;
          const KnownMembers& members = *group->second.members;
          const bool is_whole =
              static_cast<std::int64_t>(members.first.size()) == integer_of(row[3]) &&
              static_cast<std::int64_t>(members.second.size()) == integer_of(row[4]);
          if (is_whole) known.members_.emplace(key, group->second.members);
        });
    inquiry.scan(
        "SELECT world, id, name FROM comm_name WHERE name <> ''", [&](std::span<const Value> row) {
          known.names_[{id_of<WorldId>(row[0]), id_of<CommId>(row[1])}] = storage::text_of(row[2]);
        });
  }
  if (inquiry.failure) return unexpected(*inquiry.failure);
  return known;
}

const KnownMembers* KnownComms::members(WorldId world, CommId comm) const {
  const auto found = members_.find({world, comm});
  return found == members_.end() ? nullptr : found->second.get();
}

const std::string* KnownComms::name(WorldId world, CommId comm) const {
  const auto found = names_.find({world, comm});
  return found == names_.end() ? nullptr : &found->second;
}

}  // namespace xylem::exports
