#pragma once

// The user's choice of hosts for the communication processes of a shape, and the known facts about
// the hosts of a run.

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
  /// `--extra-hosts`: hosts without back ends, each once. A host that turns out to have a back end
  /// may be in the list.
  std::vector<std::string> extra_hosts;
};

/// A back end's host when the tree is planned.
struct KnownHost {
  std::size_t processes = 0;    ///< Processes of the job that are already there.
  placement::FactValues facts;  ///< Measured by its back end, if available.
};

}  // namespace xylem::frontend
