#include "cli/room_options.h"

#include "tree/host_list.h"
#include "tree/host_name.h"
#include "tree/host_slots.h"
#include "tree/shape.h"

namespace xylem {

Result<placement::RoomRules> read_room_rules(const std::vector<SettingValue>& values) {
  const auto setting = [&values](std::string_view name) -> const SettingValue& {
    return value_of(values, name);
  };
  placement::RoomRules rules;
  const auto where = placement::parse_comm_hosts(setting("comm-on").value);
  if (!where) return bad_setting(setting("comm-on"), where.error().message);
  rules.where = *where;
  auto excluded = tree::parse_host_list(setting("exclude").value);
  if (!excluded) return bad_setting(setting("exclude"), excluded.error().message);
  rules.excluded = *std::move(excluded);
  if (const SettingValue& limit = setting("max-per-host"); !limit.value.empty()) {
    const auto most = to_number(limit, tree::kMaxCommProcesses);
    if (!most) return unexpected(most.error());
    rules.most_per_host = *most;
  }
  const SettingValue& reserve = setting("reserve-cores");
  rules.reserve_for_processes = reserve.value == "processes";
  if (rules.reserve_for_processes) return rules;
  const auto cores = to_number(reserve, tree::kMaxSlots);
  if (!cores) {
    return bad_setting(
        reserve, "'" + reserve.value + "' is neither a number of cores nor the word processes");
  }
  rules.reserved_cores = *cores;
  return rules;
}

Unexpected named_twice(const SettingValue& setting, const std::string& name,
                       const std::string& before) {
  const std::string other = name == before ? "" : ", before as " + before;
  return bad_setting(setting, "host " + name + " is named twice" + other + "; name it once");
}

Result<std::vector<std::string>> read_extra_hosts(const std::vector<SettingValue>& values) {
  const SettingValue& setting = value_of(values, "extra-hosts");
  auto names = tree::parse_host_list(setting.value);
  if (!names) return bad_setting(setting, names.error().message);
  tree::HostNameSet seen;
  for (const std::string& name : *names) {
    if (const auto before = seen.add(name)) return named_twice(setting, name, *before);
  }
  return names;
}

}  // namespace xylem
