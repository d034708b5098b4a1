#include <bit>

#include "storage/read/event_functions_internal.h"

namespace xylem::storage {
namespace {

constexpr std::size_t kFunctionIds = std::size_t{1} << 16;

}  // namespace

void EventFunctions::refresh(Connection& connection) {
  Statement rows(connection, "SELECT id, name, class FROM function");
  for (bool more = rows.first(); more; more = rows.next()) {
    const FunctionIndex next{static_cast<std::uint32_t>(list_.size())};
    const auto [known, is_new] = by_key_.try_emplace(FunctionKey{rows.integer(0)}, next);
    if (!is_new && list_[raw(known->second)].name == rows.text(1)) continue;
    known->second = next;
    list_.push_back({rows.text(1), role_of(rows.text(1), rows.text(2))});
  }
  aliases_.clear();
  Statement aliases(connection, "SELECT leaf, id, function FROM function_alias");
  for (bool more = aliases.first(); more; more = aliases.next()) {
    const LeafId leaf{static_cast<std::uint32_t>(aliases.integer(0))};
    aliases_[leaf][aliases.integer(1)] = FunctionKey{aliases.integer(2)};
  }
  tables_.clear();
  if (!has_row(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'callsite'")) return;
  // Ids count from 1, and no call site is ever removed.
  Statement sites(connection, "SELECT site, id FROM callsite WHERE id > ?");
  for (bool more = sites.first(call_sites_.size()); more; more = sites.next()) {
    call_sites_.emplace(CallSiteId{std::bit_cast<std::uint64_t>(sites.integer(0))},
                        sites.integer(1));
  }
}

std::optional<std::int64_t> EventFunctions::call_site(CallSiteId site) const {
  const auto found = call_sites_.find(site);
  return found == call_sites_.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<FunctionIndex>* EventFunctions::table_of(LeafId leaf) {
  const auto own = aliases_.find(leaf);
  const auto [place, is_new] =
      tables_.try_emplace(own == aliases_.end() ? std::nullopt : std::optional(leaf));
  std::vector<FunctionIndex>& table = place->second;
  if (!is_new) return &table;
  const auto put = [&](std::int64_t id, FunctionKey key) {
    const auto known = by_key_.find(key);
    if (id < 0 || id >= static_cast<std::int64_t>(kFunctionIds) || known == by_key_.end()) return;
    const auto at = static_cast<std::size_t>(id);
    if (table.size() <= at) table.resize(at + 1);
    table[at] = known->second;
  };
  for (const auto& [key, index] : by_key_) put(raw(key), key);
  if (own != aliases_.end()) {
    for (const auto& [id, key] : own->second) put(id, key);
  }
  return &table;
}

const std::string& EventFunctions::name(LeafId leaf, FunctionId function) {
  const std::vector<FunctionIndex>& table = *table_of(leaf);
  const std::size_t id = raw(function);
  if (id < table.size() && table[id] != FunctionIndex{}) return list_[raw(table[id])].name;
  FunctionKey key = key_of(function);
  if (const auto own = aliases_.find(leaf); own != aliases_.end()) {
    const auto alias = own->second.find(static_cast<std::int64_t>(id));
    if (alias != own->second.end()) key = alias->second;
  }
  const auto [place, is_new] = unnamed_.try_emplace(key);
  if (is_new) place->second = "function " + std::to_string(raw(key));
  return place->second;
}

Error damaged_chunk(std::int64_t chunk, std::optional<std::int64_t> world,
                    std::optional<std::int64_t> rank, const Error& why) {
  const auto or_unknown = [](std::optional<std::int64_t> v) {
    return v ? std::to_string(*v) : "unknown";
  };
  return {why.code, "chunk " + std::to_string(chunk) + " of world " + or_unknown(world) +
                        ", rank " + or_unknown(rank) + " is damaged: " + why.message};
}

}  // namespace xylem::storage
