#pragma once

// Decides whether two names may mean the same host. Names may be written in full or without the
// domain.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace xylem::tree {

/// Returns the name without its domain: "node1".
constexpr std::string_view short_name(std::string_view name) {
  return name.substr(0, name.find('.'));
}

/// Returns true if both names may mean the same host: they are equal, or one is the other name
/// without the domain. For example, "node1" may be "node1.a.org", but "node1.a.org" is not
/// "node1.b.org".
constexpr bool may_be_one_host(std::string_view one, std::string_view other) {
  return one == other || one == short_name(other) || other == short_name(one);
}

/// A set of names of different hosts. Not thread-safe.
class HostNameSet {
 public:
  /// If the set contains a name that may mean the same host, returns that name. Otherwise adds
  /// `name` and returns nullopt.
  std::optional<std::string> add(const std::string& name);

 private:
  std::unordered_map<std::string, std::vector<std::string>> by_short_name_;
};

}  // namespace xylem::tree
