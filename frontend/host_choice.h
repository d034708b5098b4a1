#pragma once

// What decides in a run which hosts carry the communication processes of a shape, and what is known
// of the hosts that it chooses from.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/facts.h"
#include "placement/fuzzy_rules.h"
#include "placement/place.h"
#include "placement/room.h"

namespace xylem::frontend {

/// As a person asks for it.
struct HostChoice {
  placement::Policy policy = placement::Policy::kEven;             ///< `--placement`
  placement::FuzzyRules rules = placement::default_fuzzy_rules();  ///< For kFuzzy.
  /// `--comm-on`, `--exclude`, `--max-per-host`, `--reserve-cores`. Hosts that are excluded and are
  /// not part of the job are passed over: one configuration may serve every job.
  placement::RoomRules room;
  /// `--extra-hosts`: without back ends; each once, whether it turns out to have a back end or not.
  std::vector<std::string> extra_hosts;
};

/// Of the host of a back end, when the tree is planned.
struct KnownHost {
  std::size_t processes = 0;   ///< Of the job, there already.
  placement::HostFacts facts;  ///< As its back end has measured them, if it has.
};

}  // namespace xylem::frontend
