#pragma once

// Finds the hosts of a list by the names that users write. In a *full match*, the names are equal.
// In a *short match*, one name is the other name without the domain ("node12",
// "node12.cluster.org").

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// Borrows the list of hosts, which must not change while this object exists. Not thread-safe.
class HostNames {
 public:
  /// "localhost" means `front_end_host`. If `front_end_host` is empty, "localhost" has no special
  /// meaning.
  HostNames(std::span<const tree::Host> hosts, std::string front_end_host);

  /// Returns true if at least one host has a full or short match.
  bool is_known(const std::string& name) const;

  /// Returns the first host with a full match. If there is no full match, returns the only host
  /// with a short match. Fails with kNotFound if no host matches, or if several hosts have a short
  /// match. The message does not say where the user wrote the name.
  Result<HostId> find(const std::string& name) const;

  /// Returns every host with a full match. If there is no full match, returns every host with a
  /// short match.
  std::vector<HostId> all_of(const std::string& name) const;

  /// Returns "; use its hosts: node1 node2 and 14 more", for error messages.
  std::string known() const;

 private:
  std::vector<HostId> candidates(const std::string& name) const;

  std::span<const tree::Host> hosts_;
  std::string front_end_host_;
  std::unordered_map<std::string_view, std::vector<HostId>> full_;
  std::unordered_map<std::string_view, std::vector<HostId>> short_;
};

}  // namespace xylem::placement
