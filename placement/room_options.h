#pragma once

// Settings of `xylem place`, `xylem run` and `xylem serve`: the hosts on which communication
// processes may run, and the maximum number of processes on each host.

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
/// invalid or names a host twice. The same name with and without the domain counts as the same
/// host.
Result<std::vector<std::string>> read_extra_hosts(const SettingValue& setting);

/// Returns the error for a host that `setting` names twice. `before` is the first name of the host,
/// `name` is the second.
Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before);

}  // namespace xylem::placement
