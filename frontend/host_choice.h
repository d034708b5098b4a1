#pragma once

// The user's options for placing communication processes, and the known facts about the hosts of a
// run.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/facts.h"
#include "placement/fuzzy_rules.h"
#include "placement/place.h"
#include "placement/room.h"

namespace xylem::frontend {

/// The user's options.
struct HostChoice {
  placement::Policy policy = placement::Policy::kEven;             ///< `--placement`
  placement::FuzzyRules rules = placement::default_fuzzy_rules();  ///< For kFuzzy.
  /// `--comm-on`, `--exclude`, `--max-per-host`, `--reserve-cores`. Excluded hosts that are not
  /// part of the job are skipped, so that one configuration can serve every job.
  placement::RoomRules room;
  /// `--extra-hosts`: hosts without back ends, each once. If the job also uses one of these hosts,
  /// this is not an error.
  std::vector<std::string> extra_hosts;
  bool operator==(const HostChoice&) const = default;
};

/// The known facts about a back end's host when the tree is planned.
struct KnownHost {
  std::size_t processes = 0;    ///< Number of the job's processes on the host.
  placement::FactValues facts;  ///< Measurements of the back end, if available.
};

}  // namespace xylem::frontend
