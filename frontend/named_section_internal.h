#pragma once

// Sections of a configuration file that contain a name: [service.NAME], [stream.NAME].

#include <string>
#include <string_view>

#include "base/config.h"
#include "base/result.h"

namespace xylem::frontend::internal {

/// The parts of a key: `service.gpu.exec` is split into {"gpu", "exec"}. `key` is empty for a
/// section without keys.
struct NamedKey {
  std::string name;
  std::string key;
};

/// Returns true if a key belongs to a section of this kind ("service" or "stream").
bool is_of_kind(std::string_view key, std::string_view kind);

/// Splits a key for which is_of_kind() is true. Fails with kInvalidArgument if
/// wire::is_service_name() refuses the name.
Result<NamedKey> split_key(std::string_view key, std::string_view kind);

/// The error kInvalidArgument with the sentence "PATH:LINE: why".
Unexpected refused_line(const std::string& path, int line, const std::string& why);

}  // namespace xylem::frontend::internal
