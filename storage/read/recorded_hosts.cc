#include "storage/read/recorded_hosts.h"

#include <algorithm>
#include <optional>

#include "storage/read/host_value.h"

namespace xylem::storage {
namespace {

/// The time at which a run was placed with facts about its hosts; nullopt: it was placed without.
Result<std::optional<std::int64_t>> placed_at(RunFile& run, const std::string& table) {
  const auto found = run.rows("SELECT max(at_ns) FROM " + table + " WHERE name = 'processes'");
  if (!found) return unexpected(found.error());
  const auto* at_ns = std::get_if<std::int64_t>(&found->front()[0]);
  return at_ns == nullptr ? std::nullopt : std::optional(*at_ns);
}

/// Leaf, name and processes of each host: of the placement if there was one, else of all agents.
std::string query_of_hosts(const std::string& table, std::optional<std::int64_t> placed) {
  if (placed) {
    return "SELECT h.leaf, h.name, CAST(f.value AS INTEGER) FROM host h JOIN " + table +
           " f ON f.leaf = h.leaf WHERE f.name = 'processes' AND f.at_ns = " +
           std::to_string(*placed) + " ORDER BY h.leaf";
  }
  return "SELECT h.leaf, h.name, (SELECT count(*) FROM rank r WHERE r.leaf = h.leaf) FROM host h "
         "WHERE h.leaf IN (SELECT leaf FROM node WHERE role = 'back_end') ORDER BY h.leaf";
}

/// Leaf, name and newest value of each measurement.
std::string query_of_values(const std::string& table, std::optional<std::int64_t> placed) {
  const std::string when = placed ? " AND at_ns = " + std::to_string(*placed) : "";
  return "SELECT leaf, name, value, max(at_ns) FROM " + table + " WHERE name <> 'processes'" +
         when + " GROUP BY leaf, name ORDER BY leaf, name";
}

}  // namespace

Result<RecordedHosts> read_recorded_hosts(RunFile& run) {
  const auto table = host_value_table(run);
  if (!table) return unexpected(table.error());
  const auto placed = placed_at(run, *table);
  if (!placed) return unexpected(placed.error());
  const auto hosts = run.rows(query_of_hosts(*table, *placed));
  if (!hosts) return unexpected(hosts.error());
  const auto front_end = run.rows("SELECT host FROM run");
  if (!front_end) return unexpected(front_end.error());
  const auto values = run.rows(query_of_values(*table, *placed));
  if (!values) return unexpected(values.error());
  RecordedHosts recorded;
  if (!front_end->empty()) recorded.front_end_host = text_of(front_end->front()[0]);
  std::vector<std::int64_t> leaves;
  for (const auto& row : *hosts) {
    leaves.push_back(integer_of(row[0]));
    recorded.hosts.push_back({text_of(row[1]), static_cast<std::uint64_t>(integer_of(row[2])), {}});
  }
  for (const auto& row : *values) {
    const auto leaf = std::ranges::lower_bound(leaves, integer_of(row[0]));
    if (leaf == leaves.end() || *leaf != integer_of(row[0])) continue;
    recorded.hosts[static_cast<std::size_t>(leaf - leaves.begin())].values.emplace_back(
        text_of(row[1]), real_of(row[2]));
  }
  return recorded;
}

}  // namespace xylem::storage
