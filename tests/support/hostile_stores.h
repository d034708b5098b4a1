#pragma once

// Stores as a stranger may make them: copies of real ones in which any cell, row, table, view or
// byte may have been changed.
//
//   HostileStores stores(folder);
//   std::cout << stores.write(seed, folder + "/run.db");   // What was done to it.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::testing {

/// Makes hostile stores from two small real ones, which it writes first: a run of traces of which a
/// host was lost, and one of windows with summaries, samples, links and facts. Both have alerts and
/// streams. The same seed gives the same store.
class HostileStores {
 public:
  /// `folder` is for the originals and outlives this.
  explicit HostileStores(const std::string& folder);

  /// Writes the store of this seed over whatever is at `path`. Returns what was changed, a line for
  /// each change.
  std::string write(std::uint64_t seed, const std::string& path) const;

  /// Names of all tables and views that an unharmed store has.
  const std::vector<std::string>& tables_and_views() const { return names_; }

 private:
  std::vector<std::string> originals_;  ///< Their bytes.
  std::vector<std::string> names_;
};

}  // namespace xylem::testing
