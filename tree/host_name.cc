#include "tree/host_name.h"

namespace xylem::tree {

std::optional<std::string> HostNameSet::add(const std::string& name) {
  std::vector<std::string>& alike = by_short_name_[std::string(short_name(name))];
  for (const std::string& known : alike) {
    if (may_be_one_host(name, known)) return known;
  }
  alike.push_back(name);
  return std::nullopt;
}

}  // namespace xylem::tree
