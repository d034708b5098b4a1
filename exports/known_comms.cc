#include <algorithm>
#include <span>
#include <string_view>

#include "exports/known_comms_internal.h"

namespace xylem::exports {
namespace {

using storage::integer_of;
using storage::Value;

/// Calls a function for each row.
template <typename Function>
class EachRow : public storage::RowSink {
 public:
  explicit EachRow(Function function) : function_(std::move(function)) {}
  void begin(std::span<const std::string>) override {}
  bool row(std::span<const Value> values) override {
    function_(values);
    return true;
  }

 private:
  Function function_;
};

template <typename Function>
Result<void> for_each_row(storage::RunFile& run, std::string_view sql, Function function) {
  EachRow sink(std::move(function));
  return run.query(sql, sink);
}

WorldId world_of(const Value& value) {
  return WorldId{static_cast<std::uint32_t>(integer_of(value))};
}

struct Group {
  std::shared_ptr<KnownMembers> members = std::make_shared<KnownMembers>();
  bool is_certain = true;
};

/// By world, and by the number that identifies a set of members in the file.
using Groups = std::map<std::pair<WorldId, std::int64_t>, Group>;

Result<Groups> read_groups(storage::RunFile& run) {
  std::map<WorldId, std::int64_t> sizes;
  auto read = for_each_row(run, "SELECT id, size FROM world", [&](std::span<const Value> row) {
    sizes[world_of(row[0])] = integer_of(row[1]);
  });
  if (!read) return unexpected(read.error());
  Groups groups;
  // The rows of a group come by place. So the next one has the place behind the last one, unless a
  // member is missing, or two ranks have one place.
  read = for_each_row(run,
                      "SELECT world, members, is_second, place, rank FROM comm_member"
                      " ORDER BY world, members, is_second, place",
                      [&](std::span<const Value> row) {
                        Group& group = groups[{world_of(row[0]), integer_of(row[1])}];
                        auto& members =
                            integer_of(row[2]) != 0 ? group.members->second : group.members->first;
                        const std::int64_t place = integer_of(row[3]), rank = integer_of(row[4]);
                        if (place != static_cast<std::int64_t>(members.size()) || rank < 0 ||
                            rank >= sizes[world_of(row[0])]) {
                          group.is_certain = false;
                        }
                        if (group.is_certain) members.push_back(static_cast<std::uint32_t>(rank));
                      });
  if (!read) return unexpected(read.error());
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
  const auto table = run.rows("SELECT 1 FROM sqlite_schema WHERE name = 'comm_member'");
  if (!table) return unexpected(table.error());
  if (table->empty()) return known;
  const auto groups = read_groups(run);
  if (!groups) return unexpected(groups.error());
  auto read = for_each_row(
      run,
      "SELECT world, id, members, size, second_size FROM comm WHERE id > 1 AND NOT is_ambiguous",
      [&](std::span<const Value> row) {
        const auto group = groups->find({world_of(row[0]), integer_of(row[2])});
        if (group == groups->end()) return;
        const KnownMembers& members = *group->second.members;
        const bool is_whole =
            static_cast<std::int64_t>(members.first.size()) == integer_of(row[3]) &&
            static_cast<std::int64_t>(members.second.size()) == integer_of(row[4]);
        const CommId comm{static_cast<std::uint32_t>(integer_of(row[1]))};
        if (is_whole) known.members_.emplace(Key{world_of(row[0]), comm}, group->second.members);
      });
  if (!read) return unexpected(read.error());
  read = for_each_row(run, "SELECT world, id, name FROM comm_name WHERE name <> ''",
                      [&](std::span<const Value> row) {
                        const CommId comm{static_cast<std::uint32_t>(integer_of(row[1]))};
                        known.names_[{world_of(row[0]), comm}] = storage::text_of(row[2]);
                      });
  if (!read) return unexpected(read.error());
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
