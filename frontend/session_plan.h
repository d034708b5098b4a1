#pragma once

// The settings of a run that its front end needs (Session, session.h).

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/config.h"
#include "base/result.h"
#include "base/settings.h"
#include "frontend/gathering.h"
#include "frontend/host_choice.h"
#include "tree/shape.h"
#include "wire/series.h"

namespace xylem::frontend {

struct SessionPlan {
  bool chunks = false;                ///< `--detail trace`
  tree::Shape shape;                  ///< `--topology`; the path of a file is absolute.
  HostChoice choice;                  ///< `--placement`, `--extra-hosts` and so on.
  Nanos facts_every = 10 * kSecond;   ///< `--facts-every`; 0: hosts are not measured.
  Nanos window = 250 * kMillisecond;  ///< `--window`
  GatheringOptions gathering;
  /// `--services`: the built-in services that run even if no section names them.
  std::vector<std::string> built_in_services = {"host", "process"};
  /// All auxiliary services of each host: those of the sections [service.NAME], and
  /// `built_in_services`. The lane of a service is its position in this list, counted from 1.
  std::vector<wire::ServiceSpec> services{};
  bool operator==(const SessionPlan&) const = default;
};

/// The settings of SessionPlan.
const Section<SessionPlan>& session_section();

/// Reads a plan. The settings come from `values`. `sections` are the entries of a configuration
/// file; they contain the rules of fuzzy placement and the services. `path` is the file's name in
/// error messages. Fails with kInvalidArgument if read_section(), read_fuzzy_rules() or
/// read_services() fails.
Result<SessionPlan> read_session_plan(const std::vector<SettingValue>& values,
                                      const std::vector<ConfigEntry>& sections,
                                      const std::string& path);

/// Call it before a job starts. Checks whether the settings of a plan fit together, and whether a
/// topology file is readable. `values` has the settings from which the plan was read, and the
/// setting `launcher`. Fails with kInvalidArgument; the message begins with the source of a
/// setting.
Result<void> check_session_plan(const SessionPlan& plan, const std::vector<SettingValue>& values);

}  // namespace xylem::frontend
