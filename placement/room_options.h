#pragma once

// Settings that `xylem place`, `run` and `serve` share: which hosts may carry communication
// processes, and how many.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "placement/room.h"

namespace xylem::placement {

/// `comm-on`, `exclude`, `max-per-host` and `reserve-cores`.
const Section<RoomRules>& room_section();

/// The setting `extra-hosts`.
const Setting& extra_hosts_setting();

/// The hosts of `extra-hosts`. Fails with kInvalidArgument on an invalid list, and when a host is
/// named twice, even if once with and once without its domain.
Result<std::vector<std::string>> read_extra_hosts(const SettingValue& setting);

/// The error for a host that `setting` names again; its earlier name is `before`.
Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before);

}  // namespace xylem::placement
