#pragma once

// Gathering: the wait for hosts and processes before the tree is placed. In a run, each rank
// reports the size of its world. Gathering is complete when all known worlds are complete. It ends
// at the latest `settle` after the last new host or process. A tool's tree may instead wait for a
// given number of leaves. Pure.

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
  /// If not 0, gathering is complete when this number of hosts has joined, however long this takes.
  std::size_t expected = 0;
  bool operator==(const GatheringOptions&) const = default;
};

/// The setting `settle` of a run.
const Section<GatheringOptions>& gathering_section();

/// Hosts and processes that have registered so far. Not thread-safe.
class Gathering {
 public:
  explicit Gathering(const GatheringOptions& options) : options_(options) {}

  void host_joined(LeafId leaf, Nanos now);
  /// Adds or updates a process. The same process may be reported several times.
  void process_seen(LeafId leaf, const wire::ProcessRow& process, Nanos now);

  bool anyone() const noexcept { return !processes_by_leaf_.empty(); }
  /// Returns true if there is at least one world, and all ranks of all worlds have registered.
  bool worlds_complete() const;
  /// Returns true if gathering is complete. If `expected` is not 0, gathering is complete when
  /// `expected` hosts have joined. If `expected` is 0, at least one host must have joined. Then
  /// gathering is complete when all worlds are complete, or when no new host or process has come
  /// for `settle`.
  bool complete(Nanos now) const;
  /// Returns the latest time at which complete() becomes true if nobody joins before. Returns
  /// kForever if no host has joined, or if `expected` is not 0.
  Nanos complete_at() const noexcept;
  /// Maximum wait for another host or process.
  Nanos newcomer_limit() const noexcept { return options_.settle; }

  /// Number of processes that have registered on a host. A process counts even before it calls
  /// MPI_Init.
  std::size_t processes_on(LeafId leaf) const;
  /// Returns a sentence about the first incomplete world: "8 of 16 ranks of a world were seen:
  /// ...". Empty if all worlds are complete.
  std::string missing_ranks() const;
  /// Returns a sentence about ranks that cannot be watched, with the reason of the first such rank:
  /// "2 ranks are not watched: ...". Empty if all ranks can be watched.
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
