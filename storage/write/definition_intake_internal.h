#pragma once

// Turns definitions into rows. A repeated definition changes nothing.

#include <vector>

#include "base/ids.h"
#include "storage/sqlite_internal.h"
#include "storage/table_keys_internal.h"
#include "wire/definitions.h"

namespace xylem::storage {

/// Writes through one connection, inside a transaction that the caller began. On failure, the
/// connection keeps the failure. Called on the thread that calls the store.
class DefinitionIntake {
 public:
  explicit DefinitionIntake(Connection& connection);

  /// Stores the definitions of a process of `world`, except its call sites.
  void put(ProcessKey process, WorldId world, Rank rank, const wire::Definitions& definitions);

  /// Stores call sites, which need no world.
  void put_call_sites(const std::vector<wire::CallSiteRow>& rows);

 private:
  Statement communicator_, member_, name_, dimension_, neighbour_, call_site_, thread_,
      record_cost_, region_, region_sum_, lost_;
};

}  // namespace xylem::storage
