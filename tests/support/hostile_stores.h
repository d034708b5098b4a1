#pragma once

// Stores that an attacker may make: copies of real stores in which any cell, row, table, view or
// byte may have been changed.
//
//   HostileStores stores(folder);
//   std::cout << stores.write(seed, folder + "/run.db");   // What was done to it.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::testing {

/// Makes hostile stores from two small real stores, which it writes first. One is a run with traces
/// and a lost host. The other is a run with windows, summaries, samples, links and facts. Both have
/// alerts and streams. The same seed gives the same store.
class HostileStores {
 public:
  /// `folder` is for the original stores. It must exist as long as this object.
  explicit HostileStores(const std::string& folder);

  /// Writes the store of this seed to `path` and replaces an existing file. Returns a line for each
  /// change.
  std::string write(std::uint64_t seed, const std::string& path) const;

  /// Names of all tables and views of an unchanged store.
  const std::vector<std::string>& tables_and_views() const { return names_; }

 private:
  std::vector<std::string> originals_;  ///< The bytes of the original stores.
  std::vector<std::string> names_;
};

}  // namespace xylem::testing
