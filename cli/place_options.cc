#include "cli/place_options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/this_host.h"
#include "launch/launch.h"
#include "placement/room_options.h"
#include "storage/read/query.h"
#include "storage/read/recorded_hosts.h"
#include "tree/host_list.h"
#include "tree/host_name.h"
#include "tree/host_slots.h"

namespace xylem {
namespace {

using placement::Fact;
using placement::FactValues;
using storage::text_of;

/// End of a setting's source, if the setting comes from a recorded run.
constexpr std::string_view kRecordedOptions = ": options of the run";

/// The values from one source of hosts.
struct Source {
  std::vector<tree::Host> hosts;
  std::vector<FactValues> facts{};  ///< By host; empty: no facts.
  std::string front_end_host{};     ///< "": unknown.
  bool may_repeat_names = false;
};

tree::Host make_host(std::string name, std::uint32_t back_ends, std::uint64_t processes) {
  tree::Host host;
  host.name = std::move(name);
  host.back_ends = back_ends;
  host.processes = processes;
  return host;
}

// ---- hosts ----

/// The launcher starts nothing on a host without slots, so there is no agent, and no communication
/// process either. `what` names the source in the error message.
Result<Source> from_slots(const std::vector<tree::HostSlots>& slots, const std::string& what) {
  Source source;
  for (const tree::HostSlots& host : slots) {
    if (host.slots > 0) source.hosts.push_back(make_host(host.name, 1, host.slots));
  }
  if (!source.hosts.empty()) return source;
  return unexpected(Code::kInvalidArgument,
                    what + ": no host has a slot, so a launcher starts nothing; write slots=4");
}

Result<Source> from_list(const SettingValue& setting) {
  auto names = to_value(setting, tree::parse_host_list);
  if (!names) return unexpected(std::move(names.error()));
  Source source;
  for (std::string& name : *names) source.hosts.push_back(make_host(std::move(name), 1, 1));
  return source;
}

Result<Source> from_slurm(const std::vector<std::string>& environment) {
  const std::string nodes = launch::variable(environment, "SLURM_JOB_NODELIST");
  if (nodes.empty()) {
    return unexpected(
        Code::kNotFound,
        "there is no SLURM_JOB_NODELIST in the environment; run this inside salloc or "
        "sbatch, or name the hosts with --hosts");
  }
  const auto slots =
      tree::slurm_slots(nodes, launch::variable(environment, "SLURM_TASKS_PER_NODE"));
  if (!slots) return unexpected(slots.error());
  return from_slots(*slots, "SLURM_TASKS_PER_NODE");
}

Result<Source> from_host_file(const std::string& path) {
  const auto slots = tree::read_host_file(path);
  if (!slots) return unexpected(slots.error());
  return from_slots(*slots, path);
}

Result<Source> from_recorded(const std::string& path) {
  // Names are printed in each output format, so they must be printable.
  auto run = storage::RunFile::open(path, storage::Texts::kPrintable);
  if (!run) return unexpected(std::move(run.error()));
  auto recorded = storage::read_recorded_hosts(**run);
  if (!recorded) return unexpected(std::move(recorded.error()));
  if (recorded->hosts.empty()) {
    return unexpected(Code::kNotFound, path + ": names no host; did the run see an MPI job?");
  }
  Source source;
  source.may_repeat_names = true;  // Two containers may have the name of their node.
  source.front_end_host = std::move(recorded->front_end_host);
  for (storage::RecordedHosts::Host& host : recorded->hosts) {
    source.hosts.push_back(make_host(std::move(host.name), 1, host.processes));
    FactValues& facts = source.facts.emplace_back();
    for (const auto& [name, value] : host.values) {
      const auto fact = placement::find_fact(name);
      if (fact && placement::is_possible(*fact, value)) facts.set(*fact, value);
    }
  }
  return source;
}

class RequestReader {
 public:
  RequestReader(const std::vector<SettingValue>& values,
                const std::vector<std::string>& environment, placement::FuzzyRules rules)
      : values_(values), environment_(environment) {
    request_.choice.rules = std::move(rules);
  }

  Result<PlaceRequest> read() {
    for (const auto part :
         {&RequestReader::read_hosts, &RequestReader::read_counts, &RequestReader::read_extra_hosts,
          &RequestReader::read_facts, &RequestReader::read_room, &RequestReader::read_shape}) {
      if (auto done = (this->*part)(); !done) return unexpected(std::move(done.error()));
    }
    auto policy =
        assign(request_.choice.policy, to_value(setting("placement"), placement::parse_policy));
    if (!policy) return unexpected(std::move(policy.error()));
    return std::move(request_);
  }

 private:
  const SettingValue& setting(std::string_view name) const { return value_of(values_, name); }
  bool has(std::string_view name) const { return !setting(name).value.empty(); }

  Result<Source> find_source() const {
    const auto slurm = to_switch(setting("slurm"));
    if (!slurm) return unexpected(slurm.error());
    std::vector<const SettingValue*> named;
    for (const char* name : {"hosts", "host-file", "recorded"}) {
      if (has(name)) named.push_back(&setting(name));
    }
    if (*slurm) named.push_back(&setting("slurm"));
    if (named.size() > 1) {
      return bad_setting(
          *named[1], "hosts are named by " + named[0]->source + " too; leave out one of the two");
    }
    if (named.empty() && launch::variable(environment_, "SLURM_JOB_NODELIST").empty()) {
      return unexpected(Code::kInvalidArgument,
                        "no hosts are named; give --hosts, --host-file or --recorded, or run this "
                        "inside a Slurm job");
    }
    if (named.empty() || named[0]->name == "slurm") return from_slurm(environment_);
    if (named[0]->name == "hosts") return from_list(*named[0]);
    return named[0]->name == "host-file" ? from_host_file(named[0]->value)
                                         : from_recorded(named[0]->value);
  }

  Result<void> read_hosts() {
    auto source = find_source();
    if (!source) return unexpected(std::move(source.error()));
    request_.hosts = std::move(source->hosts);
    request_.choice.facts = std::move(source->facts);
    may_repeat_names_ = source->may_repeat_names;
    request_.front_end_host = setting("front-end").value;
    if (request_.front_end_host.empty()) request_.front_end_host = source->front_end_host;
    if (request_.front_end_host.empty()) request_.front_end_host = this_host_name();
    return {};
  }

  /// Returns one number for each host; nullopt if the setting is empty. A single number applies to
  /// all hosts.
  Result<std::optional<std::vector<std::uint32_t>>> counts(const char* name) const {
    const SettingValue& it = setting(name);
    if (it.value.empty()) return std::optional<std::vector<std::uint32_t>>();
    auto counts = to_value(it, tree::parse_counts);
    if (!counts) return unexpected(std::move(counts.error()));
    const std::size_t hosts = request_.hosts.size();
    if (counts->size() == 1) counts->assign(hosts, counts->front());
    if (counts->size() != hosts) {
      return bad_setting(it, std::to_string(counts->size()) + " numbers for " +
                                 std::to_string(hosts) + " hosts; give each one, or one for all");
    }
    return std::optional(*std::move(counts));
  }

  Result<void> read_counts() {
    const auto back_ends = counts("back-ends");
    if (!back_ends) return unexpected(back_ends.error());
    const auto ranks = counts("ranks");
    if (!ranks) return unexpected(ranks.error());
    const auto cores = counts("cores");
    if (!cores) return unexpected(cores.error());
    if (*cores && std::ranges::count(**cores, 0u) != 0) {
      return bad_setting(setting("cores"),
                         "a host cannot have 0 cores; to keep communication processes off a host, "
                         "use --exclude");
    }
    if (*back_ends && *ranks) {
      return bad_setting(setting("ranks"), "processes are told by " + setting("back-ends").source +
                                               " too; leave out one of the two");
    }
    for (std::size_t i = 0; i < request_.hosts.size(); ++i) {
      tree::Host& host = request_.hosts[i];
      if (*back_ends) host.back_ends = (**back_ends)[i];
      if (*back_ends) host.processes = (**back_ends)[i];
      if (*ranks) host.back_ends = (**ranks)[i] > 0 ? 1 : 0;
      if (*ranks) host.processes = (**ranks)[i];
    }
    if (*cores) cores_ = **cores;
    return {};
  }

  Result<void> read_extra_hosts() {
    auto names = placement::read_extra_hosts(setting("extra-hosts"));
    if (!names) return unexpected(names.error());
    std::unordered_set<std::string> seen;
    tree::HostNameSet known;
    for (const tree::Host& host : request_.hosts) {
      known.add(host.name);
      if (seen.insert(host.name).second || may_repeat_names_) continue;
      return unexpected(Code::kInvalidArgument,
                        "host " + host.name +
                            " is named twice; name each once, with as many --back-ends as it has");
    }
    for (std::string& name : *names) {
      if (const auto before = known.add(name)) {
        return placement::named_twice(setting("extra-hosts"), name, *before);
      }
      request_.hosts.push_back(make_host(std::move(name), 0, 0));
    }
    if (request_.hosts.empty()) {
      return unexpected(Code::kInvalidArgument, "no hosts are named; the list is empty");
    }
    return {};
  }

  Result<void> read_facts() {
    std::vector<FactValues> measured = std::move(request_.choice.facts);
    measured.resize(request_.hosts.size());
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const auto cores = measured[i][Fact::kCores];
      if (cores && request_.hosts[i].cores == 0) {
        request_.hosts[i].cores = placement::whole_cores(*cores);
      }
    }
    if (has("facts")) {
      const auto table = placement::read_fact_table(setting("facts").value);
      if (!table) return unexpected(table.error());
      if (auto added = placement::add_facts(*table, request_.hosts, measured); !added) {
        return unexpected(std::move(added.error()));
      }
    }
    // Numbers on the command line take precedence over measured numbers.
    for (std::size_t i = 0; i < cores_.size(); ++i) request_.hosts[i].cores = cores_[i];
    request_.choice.facts = placement::facts_of(request_.hosts);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      for (const Fact fact : placement::kAllFacts) {
        if (!measured[i][fact] || (fact == Fact::kCores && !cores_.empty())) continue;
        request_.choice.facts[i].set(fact, *measured[i][fact]);
      }
    }
    return {};
  }

  Result<void> read_room() {
    auto rules = read_section(placement::room_section(), values_);
    if (!rules) return unexpected(rules.error());
    rules->excluded_may_be_absent = setting("exclude").source.ends_with(kRecordedOptions);
    auto room = placement::room_of(request_.hosts, *rules);
    if (!room) {
      const bool of_list = room.error().code == Code::kNotFound;
      return bad_setting(of_list ? setting("exclude") : setting("reserve-cores"),
                         room.error().message);
    }
    request_.choice.room = *std::move(room);
    return {};
  }

  Result<void> read_shape() {
    const SettingValue& topology = setting("topology");
    const SettingValue& count = setting("comm-processes");
    const auto is_flag = [](const SettingValue& it) { return it.source.starts_with("--"); };
    if (!count.value.empty() && is_flag(count) && is_flag(topology)) {
      return bad_setting(topology, "says how many communication processes there are, and so does " +
                                       count.source + "; leave out one of the two");
    }
    if (!count.value.empty() && (is_flag(count) || !is_flag(topology))) {
      const auto number = to_number(count, tree::kMaxCommProcesses - 1);
      if (!number) return unexpected(number.error());
      request_.shape.kind = *number == 0 ? tree::Shape::Kind::kFlat : tree::Shape::Kind::kBalanced;
      request_.shape.depth = *number == 0 ? 0 : 1;
      request_.shape.fanout = static_cast<std::uint32_t>(*number);
      return {};
    }
    return assign(request_.shape, to_value(topology, tree::parse_shape));
  }

  const std::vector<SettingValue>& values_;
  const std::vector<std::string>& environment_;
  PlaceRequest request_;
  std::vector<std::uint32_t> cores_;  // From `--cores`; empty: not given.
  bool may_repeat_names_ = false;
};

}  // namespace

const std::vector<Setting>& place_settings() {
  static const std::vector<Setting> kSettings = [] {
    std::vector<Setting> settings = {
        {"hosts", "", false, "Hosts of the job, as in node[01-16,20],login", "LIST"},
        {"host-file", "", false, "Take hosts and slots from an MPI host file", "FILE"},
        {"recorded", "", false, "Take hosts and their measurements from a run's file", "FILE"},
        {"slurm", "false", true,
         "Take hosts from the Slurm job of the environment [if no other option names hosts]"},
        {"back-ends", "", false, "Back ends of each host, as in 8,2,2,0 or 4(x3),2, or one for all",
         "N,N,..."},
        {"ranks", "", false, "Ranks of each host; each host with ranks has one back end",
         "N,N,..."},
        {"cores", "", false,
         "Cores of each host, the maximum number of communication processes there", "N,N,..."},
        {"comm-processes", "", false,
         "Number of communication processes, all below the front end; replaces --topology", "N"},
        {"topology", "kary:16", false,
         "flat, kary:K, balanced:DEPTHxFANOUT, binomial:ORDER, or a topology file", "SHAPE"},
        {"placement", "even", false, "Policy that chooses the hosts: even or fuzzy", "even|fuzzy"},
        {"facts", "", false, "Table of facts of hosts: idle, memory, ...", "FILE"},
        {"front-end", "", false, "Name of the front end's host [the recorded one, else this one]",
         "NAME"},
        placement::extra_hosts_setting(),
    };
    append(settings, settings_of(placement::room_section()));
    return settings;
  }();
  return kSettings;
}

Result<void> recall_settings(std::vector<SettingValue>& values, std::vector<ConfigEntry>& entries) {
  const std::string path = value_of(values, "recorded").value;
  if (path.empty()) return {};
  auto run = storage::RunFile::open(path);
  if (!run) return unexpected(std::move(run.error()));
  const auto options = (*run)->rows("SELECT coalesce(options, '') FROM run");
  if (!options) return unexpected(options.error());
  if (options->empty()) return {};
  const std::string source = path + std::string(kRecordedOptions);
  const auto recorded = parse_config(text_of(options->front()[0]), source);
  if (!recorded) return unexpected(recorded.error());
  const auto is_rule = [](const ConfigEntry& entry) { return placement::is_fuzzy_key(entry.key); };
  const bool has_rules = std::ranges::any_of(entries, is_rule);
  const bool says_how_many = !value_of(values, "comm-processes").value.empty();
  for (const ConfigEntry& entry : *recorded) {
    if (is_rule(entry) && !has_rules) entries.push_back(entry);
    constexpr std::array kRecalled = {"topology", "placement",    "extra-hosts",  "comm-on",
                                      "exclude",  "max-per-host", "reserve-cores"};
    if (std::ranges::find(kRecalled, entry.key) == kRecalled.end()) continue;
    if (entry.key == "topology") {
      // A topology file names hosts, and may have moved since. So it is not taken from the run.
      const auto shape = tree::parse_shape(entry.value);
      if (says_how_many || !shape || shape->kind == tree::Shape::Kind::kFile) continue;
    }
    const auto it = std::ranges::find(values, entry.key, &SettingValue::name);
    if (it != values.end() && it->is_default()) *it = {entry.key, entry.value, source};
  }
  return {};
}

Result<PlaceRequest> check_place_settings(const std::vector<SettingValue>& values,
                                          const std::vector<std::string>& environment,
                                          placement::FuzzyRules rules) {
  return RequestReader(values, environment, std::move(rules)).read();
}

}  // namespace xylem
