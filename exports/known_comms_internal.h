#pragma once

// Communicators whose members are all known, for formats that number processes within
// communicators.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/read/query.h"

namespace xylem::exports {

/// The members of a communicator: ranks of its world, by their rank in the communicator.
class KnownMembers {
 public:
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> second;  ///< The second group of an intercommunicator, else empty.

  bool is_inter() const { return !second.empty(); }

  /// Call it after the last change of the groups, and before place_of(). Returns false if a rank is
  /// in two places.
  bool index();

  /// The place of the other side of a message of `self`: its rank in the communicator, or in the
  /// other group of an intercommunicator. Both are ranks of the world. nullopt if either is not a
  /// member.
  std::optional<std::uint32_t> place_of(std::uint32_t peer, std::uint32_t self) const;

 private:
  struct Place {
    std::uint32_t rank = 0, place = 0;
    bool is_second = false;
  };
  const Place* find(std::uint32_t rank) const;

  std::vector<Place> places_;  // By rank.
};

/// The communicators of a run except MPI_COMM_WORLD and MPI_COMM_SELF, and the names of all. The
/// members of some are not known: those of which a member is missing, is of another world, or is
/// contradicted by another one, and those that share their number with another communicator.
class KnownComms {
 public:
  /// Fails like a query. A file of an older schema has no communicators. Communicators of a world
  /// with the same members share them; they take about 16 bytes for each member.
  static Result<KnownComms> read(storage::RunFile& run);

  /// Null if the members are not known. Valid as long as this object.
  const KnownMembers* members(WorldId world, CommId comm) const;

  /// The name that the program gave it last; null if it has none. Valid as long as this object.
  const std::string* name(WorldId world, CommId comm) const;

 private:
  using Key = std::pair<WorldId, CommId>;
  std::map<Key, std::shared_ptr<const KnownMembers>> members_;  // Shared, see read().
  std::map<Key, std::string> names_;
};

}  // namespace xylem::exports
