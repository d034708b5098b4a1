#pragma once

// Decides when the tree can be placed. In a run each rank reports the size of its world: gathering
// is complete when all worlds seen so far are complete, or `settle` after the last new host or
// process. A tool's tree may wait for a number of leaves instead. Pure.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "base/settings.h"
#include "wire/registration.h"

namespace xylem::frontend {

struct GatheringOptions {
  Nanos settle = 2 * kSecond;  ///< Maximum wait after the last new host or process.
  /// Number of hosts to wait for, however long it takes; 0: complete as described above.
  std::size_t expected = 0;
  bool operator==(const GatheringOptions&) const = default;
};

/// The setting of a run: `settle`.
const Section<GatheringOptions>& gathering_section();

/// Hosts and processes that have registered so far. Not thread-safe.
class Gathering {
 public:
  explicit Gathering(const GatheringOptions& options) : options_(options) {}

  void host_joined(LeafId leaf, Nanos now);
  /// Adds or updates a process. The same process may be reported several times.
  void process_seen(LeafId leaf, const wire::ProcessRow& process, Nanos now);

  bool anyone() const noexcept { return !processes_by_leaf_.empty(); }
  /// True if there is at least one world, and all ranks of all worlds have registered.
  bool worlds_complete() const;
  /// True once there is a host, and either the worlds are complete or nothing new came for
  /// `settle`. With `expected`: true once there are that many hosts.
  bool complete(Nanos now) const;
  /// When complete() may become true without an event; kForever if it cannot.
  Nanos complete_at() const noexcept;
  /// Maximum wait for one more host or process.
  Nanos newcomer_limit() const noexcept { return options_.settle; }

  /// Number of processes that have registered on a host, whether they have called MPI_Init or not.
  std::size_t processes_on(LeafId leaf) const;
  /// A sentence about the first incomplete world, "8 of 16 ranks of a world were seen: ...", or "".
  std::string missing_ranks() const;
  /// A sentence about ranks that cannot be watched, "2 ranks are not watched: ...", with the reason
  /// of the first of them; or "".
  std::string unwatched_ranks() const;
  std::size_t worlds() const noexcept { return worlds_.size(); }
  std::size_t ranks() const;

 private:
  struct World {
    std::uint32_t size = 0;
    std::set<Rank> ranks;
  };

  GatheringOptions options_;
  Nanos last_newcomer_ = 0;
  std::map<LeafId, std::set<Lane>> processes_by_leaf_;
  std::map<std::pair<LeafId, Lane>, std::string> unwatched_;
  std::map<wire::WorldKey, World> worlds_;
};

}  // namespace xylem::frontend
