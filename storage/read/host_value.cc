#include "storage/read/host_value.h"

namespace xylem::storage {

Result<std::string> newest_host_values(RunFile& run, const std::string& leaves, Nanos until_ns) {
  auto table = host_value_table(run);
  if (!table) return table;
  const auto index =
      run.rows(std::string("SELECT 1 FROM sqlite_schema WHERE name = '") + kHostValueIndex + "'");
  if (!index) return unexpected(index.error());
  const std::string until = std::to_string(until_ns);
  if (index->empty()) {
    // SQLite takes the bare columns of a max() from the row that has it.
    return "SELECT leaf, name, value, max(at_ns) FROM " + *table + " WHERE at_ns <= " + until +
           " AND leaf IN (" + leaves + ") GROUP BY leaf, name";
  }
  // From name to name: DISTINCT would go through all rows of the index. UNION without ALL ends at a
  // name that was there before, as a damaged index may give it.
  return "WITH RECURSIVE named(leaf, name) AS (SELECT l.leaf, (SELECT min(v.name) FROM host_value v"
         " WHERE v.leaf = l.leaf) FROM (" +
         leaves +
         ") l UNION SELECT n.leaf, (SELECT min(v.name) FROM host_value v WHERE v.leaf = n.leaf"
         " AND v.name > n.name) FROM named n WHERE n.name IS NOT NULL)"
         " SELECT n.leaf AS leaf, n.name AS name, v.value AS value FROM named n CROSS JOIN"
         " host_value v ON v.rowid = (SELECT w.rowid FROM host_value w WHERE w.leaf = n.leaf"
         " AND w.name = n.name AND w.at_ns <= " +
         until + " ORDER BY w.at_ns DESC, w.rowid DESC LIMIT 1)";
}

}  // namespace xylem::storage
