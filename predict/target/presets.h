#pragma once

// Targets for networks that many machines have. Each is the text of a file, for a user to print,
// change and keep. A comment says where each number comes from: a published figure, or a guess.

#include <span>
#include <string_view>

namespace xylem::predict {

struct Preset {
  std::string_view name;  ///< For example "ib-20g".
  std::string_view what;  ///< The network in a few words.
  std::string_view text;  ///< read_target() can read it.
};

/// All presets, the slowest network last.
std::span<const Preset> presets();

/// Null if there is no preset with this name.
const Preset* find_preset(std::string_view name);

}  // namespace xylem::predict
