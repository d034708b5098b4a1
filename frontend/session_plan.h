#pragma once

// The settings of a run that its front end follows, for Session (session.h).

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
  /// Auxiliary services of each host, numbered by position: the sections [service.NAME].
  std::vector<wire::ServiceSpec> services{};
  bool operator==(const SessionPlan&) const = default;
};

const Section<SessionPlan>& session_section();

/// Reads the section's settings from `values`, and the rules of fuzzy placement and the services
/// from `sections`, the entries of a configuration file. Error messages name the file as `path`.
/// Fails with kInvalidArgument as read_section, read_fuzzy_rules and read_services.
Result<SessionPlan> read_session_plan(const std::vector<SettingValue>& values,
                                      const std::vector<ConfigEntry>& sections,
                                      const std::string& path);

/// Checks, before a job starts, whether the settings of a plan fit together and whether a topology
/// file is readable. `values` has the settings from which the plan was read, and `launcher`. Fails
/// with a sentence that begins with the source of a setting.
Result<void> check_session_plan(const SessionPlan& plan, const std::vector<SettingValue>& values);

}  // namespace xylem::frontend
