#include <algorithm>

#include "frontend/named_section_internal.h"
#include "wire/series.h"

namespace xylem::frontend::internal {

bool is_of_kind(std::string_view key, std::string_view kind) {
  return key.starts_with(kind) && (key.size() == kind.size() || key[kind.size()] == '.');
}

Result<NamedKey> split_key(std::string_view key, std::string_view kind) {
  const std::string_view rest = key.substr(std::min(kind.size() + 1, key.size()));
  const std::size_t dot = rest.find('.');
  NamedKey split{std::string(rest.substr(0, dot)), {}};
  if (!wire::is_service_name(split.name)) {
    return unexpected(Code::kInvalidArgument,
                      "'" + split.name + "' cannot be the name of a " + std::string(kind) +
                          ": up to 32 of a-z, 0-9, _ and -, first a letter; write [" +
                          std::string(kind) + ".NAME]");
  }
  if (dot != std::string_view::npos) split.key = rest.substr(dot + 1);
  return split;
}

Unexpected refused_line(const std::string& path, int line, const std::string& why) {
  return unexpected(Code::kInvalidArgument, path + ":" + std::to_string(line) + ": " + why);
}

}  // namespace xylem::frontend::internal
