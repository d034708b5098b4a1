#pragma once

// Settings of `xylem place`, `run` and `serve`: the hosts that may carry communication processes,
// and the maximum number of processes on each.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "placement/room.h"

namespace xylem::placement {

/// The settings `comm-on`, `exclude`, `max-per-host` and `reserve-cores`.
const Section<RoomRules>& room_section();

/// The setting `extra-hosts`.
const Setting& extra_hosts_setting();

/// Returns the hosts of the setting `extra-hosts`. Fails with kInvalidArgument if the list is
/// invalid or names a host twice. The same name with and without its domain counts as twice.
Result<std::vector<std::string>> read_extra_hosts(const SettingValue& setting);

/// Returns the error for a host that `setting` names twice. `name` is the second name, `before` the
/// first.
Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before);

}  // namespace xylem::placement
