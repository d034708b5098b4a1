#pragma once

// Finds hosts of a list by the names that people write: in full, or by the first part of the name.

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "tree/host.h"

namespace xylem::placement {

/// Borrows the hosts: neither they nor their names may change meanwhile.
class HostNames {
 public:
  /// `front_end_host` is what "localhost" means; "": nothing.
  HostNames(std::span<const tree::Host> hosts, std::string front_end_host);

  /// One host or several have this name, in full or by its first part.
  bool is_known(const std::string& name) const;

  /// The host, the first of several with one full name. Fails with kNotFound, and a sentence
  /// without the place where the name stands, when it is none, or fits several by its first part.
  Result<HostId> find(const std::string& name) const;

  /// Every host with that full name; without any, every one that fits by the first part.
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
