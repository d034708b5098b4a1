#include "frontend/session_plan.h"

#include <filesystem>
#include <utility>

#include "frontend/service_options.h"
#include "placement/room_options.h"
#include "tree/topology_text.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kMinWindow = 10 * kMillisecond;
constexpr Nanos kMaxWindow = 60 * kSecond;
constexpr Nanos kMinFactsInterval = kSecond;
constexpr Nanos kMaxFactsInterval = 3600 * kSecond;

Result<void> read_topology(const SettingValue& setting, SessionPlan& plan) {
  auto read = assign(plan.shape, to_value(setting, tree::parse_shape));
  if (!read) return read;
  if (plan.shape.kind != tree::Shape::Kind::kFile) return {};
  std::error_code error;
  const auto absolute = std::filesystem::absolute(plan.shape.path, error);
  if (!error) plan.shape.path = absolute.string();
  return {};
}

Result<void> read_placement(const SettingValue& setting, HostChoice& choice) {
  return assign(choice.policy, to_value(setting, placement::parse_policy));
}

Result<void> read_extra_hosts(const SettingValue& setting, HostChoice& choice) {
  return assign(choice.extra_hosts, placement::read_extra_hosts(setting));
}

Result<void> read_facts_every(const SettingValue& setting, SessionPlan& plan) {
  constexpr const char* kRange = "0, or from 1s to 1h";
  const auto interval = to_duration(setting, 0, kMaxFactsInterval, kRange);
  if (!interval || *interval == 0) return assign(plan.facts_every, interval);
  return assign(plan.facts_every,
                to_duration(setting, kMinFactsInterval, kMaxFactsInterval, kRange));
}

Result<void> read_services_setting(const SettingValue& setting, SessionPlan& plan) {
  return assign(plan.built_in_services, to_value(setting, read_built_in_services));
}

Section<HostChoice> choice_section() {
  Section<HostChoice> section = {
      {{"placement", to_text(HostChoice{}.policy), false,
        "Policy that chooses hosts for communication processes: even, or fuzzy (by the "
        "measurements of their agents)",
        "even|fuzzy"},
       read_placement},
      {{placement::extra_hosts_setting().name, "", false,
        placement::extra_hosts_setting().help + ", which --launcher starts", "LIST"},
       read_extra_hosts},
  };
  append(section, section_of_member(placement::room_section(), &HostChoice::room));
  return section;
}

Section<SessionPlan> make_section() {
  Section<SessionPlan> section = {
      word_option("detail", &SessionPlan::chunks, "profile", "trace",
                  "profile: windows only; trace: every event too"),
      {{"topology", to_text(tree::Shape{}), false,
        "flat, kary:K, balanced:DEPTHxFANOUT, binomial:ORDER, or a topology file", "SHAPE"},
       read_topology},
  };
  append(section, section_of_member(choice_section(), &SessionPlan::choice));
  section.push_back({{"facts-every", print_duration(SessionPlan{}.facts_every), false,
                      "How often to measure the hosts, 1s to 1h; 0: never", "TIME"},
                     read_facts_every});
  section.push_back({{"services", "host,process", false,
                      "Built-in services to run on each host: host, process, both with a comma, or "
                      "none",
                      "LIST"},
                     read_services_setting});
  section.push_back(duration_option("window", &SessionPlan::window, kMinWindow, kMaxWindow,
                                    "from 10ms to 60s", "Length of a profile window, 10ms to 60s"));
  append(section, section_of_member(gathering_section(), &SessionPlan::gathering));
  return section;
}

}  // namespace

const Section<SessionPlan>& session_section() {
  static const Section<SessionPlan> kSection = make_section();
  return kSection;
}

Result<SessionPlan> read_session_plan(const std::vector<SettingValue>& values,
                                      const std::vector<ConfigEntry>& sections,
                                      const std::string& path) {
  auto plan = read_section(session_section(), values);
  if (!plan) return plan;
  // One configuration can serve jobs on other hosts.
  plan->choice.room.excluded_may_be_absent = true;
  auto read = assign(plan->choice.rules, placement::read_fuzzy_rules(sections, path));
  if (!read) return unexpected(std::move(read.error()));
  read = assign(plan->services, read_services(sections, path));
  if (!read) return unexpected(std::move(read.error()));
  add_built_in_services(plan->built_in_services, plan->services);
  return plan;
}

Result<void> check_session_plan(const SessionPlan& plan, const std::vector<SettingValue>& values) {
  const auto setting = [&values](std::string_view name) -> const SettingValue& {
    return value_of(values, name);
  };
  const placement::RoomRules& room = plan.choice.room;
  const bool has_extra = !plan.choice.extra_hosts.empty();
  const bool is_file = plan.shape.kind == tree::Shape::Kind::kFile;
  const bool is_fuzzy = plan.choice.policy == placement::Policy::kFuzzy;
  if (is_file) {
    if (auto file = tree::read_topology_file(plan.shape.path); !file) {
      return bad_setting(setting("topology"), file.error().message);
    }
  }
  if (is_file && has_extra) {
    return bad_setting(setting("extra-hosts"),
                       "the topology file names its hosts itself; leave out the extra hosts");
  }
  if (is_file && is_fuzzy) {
    return bad_setting(
        setting("placement"),
        "the topology file says where communication processes run; leave out one of the two");
  }
  if (has_extra && setting("launcher").value.empty()) {
    return bad_setting(
        setting("extra-hosts"),
        "no agent on these hosts can start communication processes; name a command that "
        "can, for example --launcher ssh");
  }
  if (has_extra && room.where == placement::CommHosts::kCompute) {
    return bad_setting(setting("comm-on"), "compute does not use the hosts of " +
                                               setting("extra-hosts").source +
                                               "; leave out one of the two");
  }
  if (room.where == placement::CommHosts::kExtra && !has_extra && !is_file) {
    return bad_setting(setting("comm-on"), "there are no extra hosts; name them by --extra-hosts");
  }
  if (has_extra && (room.reserved_cores > 0 || room.reserve_for_processes)) {
    return bad_setting(setting("reserve-cores"),
                       "the cores of " + setting("extra-hosts").source +
                           " are not known; give a limit per host instead (--max-per-host)");
  }
  if (is_fuzzy && plan.facts_every == 0) {
    return bad_setting(
        setting("facts-every"),
        "fuzzy placement needs measurements of the hosts; give a time from 1s to 1h");
  }
  return {};
}

}  // namespace xylem::frontend
