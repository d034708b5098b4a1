#pragma once

// Settings that `xylem place`, `run` and `serve` share: which hosts may carry communication
// processes, and how many.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/settings.h"
#include "placement/room.h"

namespace xylem {

/// Reads `comm-on`, `exclude`, `max-per-host` and `reserve-cores`. Fails with kInvalidArgument and
/// a sentence that begins with the source.
Result<placement::RoomRules> read_room_rules(const std::vector<SettingValue>& values);

/// The error for a host that `setting` names again; its earlier name is `before`.
Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before);

/// The hosts of `extra-hosts`. Fails as read_room_rules, and when a host is named twice, even if
/// once with and once without its domain.
Result<std::vector<std::string>> read_extra_hosts(const std::vector<SettingValue>& values);

}  // namespace xylem
