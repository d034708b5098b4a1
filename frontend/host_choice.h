#pragma once

// The input for choosing the hosts of communication processes: the user's options, and the facts
// about the hosts of a run.

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
  placement::FuzzyRules rules = placement::default_fuzzy_rules();  ///< Used only with kFuzzy.
  /// `--comm-on`, `--exclude`, `--max-per-host` and `--reserve-cores`. In a run, an excluded host
  /// that is not in the job is ignored. So one configuration can be used for every job.
  placement::RoomRules room;
  /// `--extra-hosts`: hosts without back ends. Each host is named once. It is no error if the job
  /// also uses one of these hosts.
  std::vector<std::string> extra_hosts;
  bool operator==(const HostChoice&) const = default;
};

/// The facts about a back end's host that are known when the tree is planned.
struct KnownHost {
  std::size_t processes = 0;    ///< Number of the job's processes on the host.
  placement::FactValues facts;  ///< Measurements of the back end, if available.
};

}  // namespace xylem::frontend
