#pragma once

// The keys of the section [collectives] of a target.

#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "predict/collectives/choice.h"

namespace xylem::predict {

/// "collectives.", with which these keys begin.
constexpr std::string_view kCollectiveKeys = "collectives.";

/// The names of all keys, without kCollectiveKeys.
std::vector<std::string> collective_keys();

/// Stores the value of a key that begins with kCollectiveKeys. "" if that was possible, else what
/// is wrong, and what to do.
std::string store_collective_key(const ConfigEntry& entry, CollectiveModel& model);

}  // namespace xylem::predict
