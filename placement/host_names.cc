#include <utility>

#include "placement/host_names_internal.h"
#include "tree/host_name.h"

namespace xylem::placement {
HostNames::HostNames(std::span<const tree::Host> hosts, std::string front_end_host)
    : hosts_(hosts), front_end_host_(std::move(front_end_host)) {
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const HostId host{static_cast<std::uint32_t>(i)};
    full_[hosts[i].name].push_back(host);
    short_[tree::short_name(hosts[i].name)].push_back(host);
  }
}

bool HostNames::is_known(const std::string& name) const {
  if (!all_of(name).empty()) return true;
  return name == "localhost" && front_end_host_ != name && is_known(front_end_host_);
}

Result<HostId> HostNames::find(const std::string& name) const {
  if (const auto exact = full_.find(name); exact != full_.end()) return exact->second.front();
  if (name == "localhost" && front_end_host_ != name) {
    if (auto here = find(front_end_host_)) return here;
  }
  const std::vector<HostId> found = candidates(name);
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return unexpected(Code::kNotFound, "host " + name + " is not part of this job" + known());
  }
  return unexpected(Code::kNotFound, "host " + name + " may be " + hosts_[raw(found[0])].name +
                                         " or " + hosts_[raw(found[1])].name +
                                         "; write the name in full");
}

std::vector<HostId> HostNames::all_of(const std::string& name) const {
  const auto exact = full_.find(name);
  return exact != full_.end() ? exact->second : candidates(name);
}

std::string HostNames::known() const {
  constexpr std::size_t kShown = 8;
  if (hosts_.empty()) return ", which has no hosts; use the shape flat";
  std::string text = "; use its hosts:";
  for (std::size_t i = 0; i < hosts_.size() && i < kShown; ++i) text += " " + hosts_[i].name;
  if (hosts_.size() > kShown) text += " and " + std::to_string(hosts_.size() - kShown) + " more";
  return text;
}

std::vector<HostId> HostNames::candidates(const std::string& name) const {
  std::vector<HostId> found;
  if (const auto alike = short_.find(tree::short_name(name)); alike != short_.end()) {
    for (HostId host : alike->second) {
      if (tree::may_be_one_host(name, hosts_[raw(host)].name)) found.push_back(host);
    }
  }
  return found;
}

}  // namespace xylem::placement
