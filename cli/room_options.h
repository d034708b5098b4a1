#pragma once

// Settings that `xylem place`, `run` and `serve` share: which hosts may carry communication
// processes, and how many.

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/settings.h"
#include "placement/room.h"

namespace xylem {

/// `comm-on`, `exclude`, `max-per-host` and `reserve-cores`, read. Fails with kInvalidArgument and
/// a sentence that begins with the source.
Result<placement::RoomRules> read_room_rules(const std::vector<SettingValue>& values);

/// The refusal of a host that `setting` names and that was known before as `before`.
Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before);

/// The hosts of `extra-hosts`. Fails alike; also when one is named twice, be it with its domain and
/// without.
Result<std::vector<std::string>> read_extra_hosts(const std::vector<SettingValue>& values);

}  // namespace xylem
