#pragma once

// Sections of a configuration file that contain a name: [service.NAME], [stream.NAME].

#include <string>
#include <string_view>

#include "base/config.h"
#include "base/result.h"

namespace xylem::frontend::internal {

/// `service.gpu.exec` is {"gpu", "exec"}. The key is empty for a section without keys.
struct NamedKey {
  std::string name;
  std::string key;
};

/// Whether a key belongs to a section of this kind ("service" or "stream").
bool is_of_kind(std::string_view key, std::string_view kind);

/// Splits a key for which is_of_kind() is true. Fails with kInvalidArgument when
/// wire::is_service_name() does not allow the name.
Result<NamedKey> split_key(std::string_view key, std::string_view kind);

/// The error kInvalidArgument with the sentence "PATH:LINE: why".
Unexpected refused_line(const std::string& path, int line, const std::string& why);

}  // namespace xylem::frontend::internal
