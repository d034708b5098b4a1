#pragma once

// `xylem place`: plans and explains a tree for given hosts. Starts no process.

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/settings.h"

namespace CLI {
class App;
}

namespace xylem {

enum class PlaceFormat {
  kTopology,  ///< A topology file, which `--topology` of a run can read.
  kExplain,   ///< Each step and score of the computation, so that people can check it.
  kJson,      ///< See place_text.h.
  kDot,       ///< Graphviz.
};

struct PlaceOptions {
  std::vector<SettingValue> values;  ///< The layered values of place_settings().
  std::string config;  ///< The configuration file with the rules of fuzzy placement; "": defaults.
  PlaceFormat format = PlaceFormat::kTopology;
};

/// Prints the plan to `out`. `environment` is a list of NAME=VALUE strings. Fuzzy placement leaves
/// out facts that are unknown for all hosts; a sentence on `err` names them. Returns 0, or 2 with a
/// sentence on `err` when there is no plan.
int run_place(const PlaceOptions& options, const std::vector<std::string>& environment,
              std::ostream& out, std::ostream& err);

/// Adds the subcommand to `app`. If the user chooses it, `app` runs it while parsing, and stores
/// its exit code in `code`. `code` must outlive `app`.
void add_place_command(CLI::App& app, int& code);

}  // namespace xylem
