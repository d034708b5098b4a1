#include "placement/room_options.h"

#include <utility>

#include "tree/host_list.h"
#include "tree/host_name.h"
#include "tree/host_slots.h"
#include "tree/shape.h"

namespace xylem::placement {
namespace {

Result<void> read_comm_on(const SettingValue& setting, RoomRules& rules) {
  return assign(rules.where, to_value(setting, parse_comm_hosts));
}

Result<void> read_exclude(const SettingValue& setting, RoomRules& rules) {
  return assign(rules.excluded, to_value(setting, tree::parse_host_list));
}

Result<void> read_max_per_host(const SettingValue& setting, RoomRules& rules) {
  rules.max_per_host.reset();
  if (setting.value.empty()) return {};
  return assign(rules.max_per_host, to_number(setting, tree::kMaxCommProcesses));
}

Result<void> read_reserve_cores(const SettingValue& setting, RoomRules& rules) {
  rules.reserved_cores = 0;
  rules.reserve_for_processes = setting.value == "processes";
  if (rules.reserve_for_processes) return {};
  const auto cores = to_number(setting, tree::kMaxSlots);
  if (!cores) {
    return bad_setting(
        setting, "'" + setting.value + "' is neither a number of cores nor the word processes");
  }
  rules.reserved_cores = *cores;
  return {};
}

}  // namespace

const Section<RoomRules>& room_section() {
  static const Section<RoomRules> kSection = {
      {{"comm-on", "mixed", false,
        "Communication processes on the job's hosts (compute), on extra hosts (extra), or mixed",
        "compute|extra|mixed"},
       read_comm_on},
      {{"exclude", "", false, "Hosts that carry no communication process", "LIST"}, read_exclude},
      {{"max-per-host", "", false, "Maximum number of communication processes on a host", "N"},
       read_max_per_host},
      {{"reserve-cores", "0", false,
        "Number of cores to leave free on each host; or `processes`: one for each process there",
        "N"},
       read_reserve_cores},
  };
  return kSection;
}

const Setting& extra_hosts_setting() {
  static const Setting kSetting = {"extra-hosts", "", false,
                                   "Further hosts for communication processes", "LIST"};
  return kSetting;
}

Result<std::vector<std::string>> read_extra_hosts(const SettingValue& setting) {
  auto names = to_value(setting, tree::parse_host_list);
  if (!names) return names;
  tree::HostNameSet seen;
  for (const std::string& name : *names) {
    if (const auto before = seen.add(name)) return named_twice(setting, name, *before);
  }
  return names;
}

Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before) {
  const std::string other = name == before ? "" : ", before as " + before;
  return bad_setting(setting, "host " + name + " is named twice" + other + "; name it once");
}

}  // namespace xylem::placement
