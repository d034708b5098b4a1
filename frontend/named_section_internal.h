#pragma once

// Sections of a configuration that are named by the user: [service.NAME], [stream.NAME].

#include <string>
#include <string_view>

#include "base/config.h"
#include "base/result.h"

namespace xylem::frontend::internal {

/// `service.gpu.exec` is {"gpu", "exec"}; of a section without keys the key is empty.
struct NamedKey {
  std::string name;
  std::string key;
};

/// Whether a key is of a section of this kind, as in "service".
bool is_of_kind(std::string_view key, std::string_view kind);

/// Splits a key for which is_of_kind() is true. Fails with kInvalidArgument when the name is not
/// one that wire::is_service_name() allows.
Result<NamedKey> split_key(std::string_view key, std::string_view kind);

/// kInvalidArgument, "PATH:LINE: why".
Unexpected refused_line(const std::string& path, int line, const std::string& why);

}  // namespace xylem::frontend::internal
