#pragma once

// Finds the hosts of a list by names that users write: in full, or only the first part of the name.

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// Borrows the hosts: they and their names must not change while this object exists.
class HostNames {
 public:
  /// `front_end_host` is the host that "localhost" means; if it is "", "localhost" means no host.
  HostNames(std::span<const tree::Host> hosts, std::string front_end_host);

  /// Returns true if at least one host has this name, in full or as the first part.
  bool is_known(const std::string& name) const;

  /// Returns the host; if several hosts have the same full name, the first of them. Fails with
  /// kNotFound if the name matches no host, or if it matches several hosts by its first part. The
  /// message does not say where the name stands.
  Result<HostId> find(const std::string& name) const;

  /// Returns every host with this full name. If there is none, returns every host that matches by
  /// the first part.
  std::vector<HostId> all_of(const std::string& name) const;

  /// "; use its hosts: node1 node2 and 14 more".
  std::string known() const;

 private:
  std::vector<HostId> candidates(const std::string& name) const;

  std::span<const tree::Host> hosts_;
  std::string front_end_host_;
  std::unordered_map<std::string_view, std::vector<HostId>> full_;
  std::unordered_map<std::string_view, std::vector<HostId>> short_;
};

}  // namespace xylem::placement
