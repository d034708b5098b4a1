#pragma once

// `xylem place`: plans and explains a tree for given hosts without starting anything.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/settings.h"

namespace CLI {
class App;
}

namespace xylem {

enum class PlaceFormat {
  kTopology,  ///< A topology file, as --topology of a run reads it.
  kExplain,   ///< Each step and score, to be checked by hand.
  kJson,      ///< See place_text.h.
  kDot,       ///< Graphviz.
};

struct PlaceOptions {
  std::vector<SettingValue> values;  ///< For place_settings(), layered.
  std::string config;                ///< The file with the rules of fuzzy placement; "": defaults.
  PlaceFormat format = PlaceFormat::kTopology;
};

/// Prints the plan. `environment` holds NAME=VALUE strings. If fuzzy placement leaves out factors
/// that are unknown for all hosts, a sentence on `err` says so. Returns 0; 2 with a sentence on
/// `err` when there is no plan.
int run_place(const PlaceOptions& options, const std::vector<std::string>& environment,
              std::ostream& out, std::ostream& err);

/// Adds the subcommand; when it is chosen, parsing runs it and sets `code`, which outlives `app`.
void add_place_command(CLI::App& app, int& code);

}  // namespace xylem
