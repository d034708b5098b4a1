#include "cli/run_options.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "base/config.h"
#include "capture/core/ring.h"
#include "capture/core/sampling.h"
#include "cli/room_options.h"
#include "frontend/stream_options.h"
#include "placement/fuzzy_rules.h"
#include "placement/place.h"
#include "storage/alert/alert_options.h"
#include "tree/shape.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

Result<Nanos> to_duration(const SettingValue& setting, Nanos least, Nanos most,
                          const std::string& range) {
  auto duration = parse_duration(setting.value);
  if (!duration) return bad_setting(setting, duration.error().message);
  if (*duration < least || *duration > most) {
    return bad_setting(setting, "'" + setting.value + "' is not " + range);
  }
  return Nanos{*duration};
}

Result<void> check_choice(const SettingValue& setting, std::vector<std::string> choices) {
  if (std::find(choices.begin(), choices.end(), setting.value) != choices.end()) return {};
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ", ") + choice;
  return bad_setting(setting, "'" + setting.value + "' is not one of " + list);
}

// Judged by the code that reads it in the ranks, which says the same to whoever sets it there.
Result<void> check_sample(const SettingValue& setting) {
  std::vector<std::atomic<std::uint32_t>> every(capture::kMaxFunctions);
  const char* part = capture::set_sampling(setting.value.c_str(), every.data());
  if (part == nullptr) return {};
  const std::string_view rest(part);
  const std::string item(rest.substr(0, rest.find(',')));
  return bad_setting(setting,
                     "'" + item +
                         "' is neither none nor FUNCTION=N, with an MPI function (or the begin of "
                         "one and *) and N from 1 to 4294967295, as in MPI_Test=100");
}

}  // namespace

const std::vector<Setting>& run_settings() {
  static const std::vector<Setting> kSettings = {
      {"store", "", false, "File to store the run in [xylem-JOBID.db or xylem-PID.db]"},
      {"overwrite", "false", true, "Replace the store if it exists"},
      {"detail", "profile", false, "profile: windows only; trace: every event too"},
      {"topology", "kary:16", false,
       "flat, kary:K, balanced:DEPTHxFANOUT, binomial:ORDER, or a topology file"},
      {"launcher", "", false,
       "Starts communication processes on hosts that the job does not use: ssh, or any command "
       "that runs `LAUNCHER HOST sh`"},
      {"placement", "even", false,
       "Policy that chooses hosts for communication processes: even, or fuzzy (by the "
       "measurements of their agents)"},
      {"extra-hosts", "", false,
       "Further hosts for communication processes, which --launcher starts"},
      {"comm-on", "mixed", false,
       "Communication processes on the job's hosts (compute), on extra hosts (extra), or mixed"},
      {"exclude", "", false, "Hosts that carry no communication process"},
      {"max-per-host", "", false, "Maximum number of communication processes on a host"},
      {"reserve-cores", "0", false,
       "Number of cores to leave free on each host; or `processes`: one for each process there"},
      {"facts-every", "10s", false, "How often to measure the hosts, 1s to 1h; 0: never"},
      {"window", "250ms", false, "Length of a profile window, 10ms to 60s"},
      {"settle", "2s", false, "Build the tree at most this long after the last host joins"},
      {"sample", "", false,
       "Record 1 in N calls: FUNCTION=N[,FUNCTION=N], or none [of MPI_Iprobe, "
       "MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome: 1000]"},
      {"interface", "auto", false,
       "Where the front end listens: interface, address, all, or auto (loopback if a launcher "
       "names no other hosts; for scripts the first other address)"},
      {"port", "0", false, "TCP port of the front end; 0 takes a free one"},
      {"tls", "on", false,
       "on: encrypt TCP links; off: do not, for measurements and private networks"},
      {"ring", "0", false,
       "Number of records in a thread's ring, a power of two; 0 is the default, 262144"},
      {"test-size", "0", false, "Number of hosts to pretend on this one, to try a tree"},
      {"quiet", "false", true, "No account at the end"},
      {"log-level", "warn", false, "debug, info, warn or error"},
  };
  return kSettings;
}

Result<std::string> check_topology(const std::string& text) {
  auto shape = tree::parse_shape(text);
  if (!shape) return unexpected(std::move(shape.error()));
  if (shape->kind != tree::Shape::Kind::kFile) return text;
  // Whatever is wrong in the file is told before the job starts.
  if (auto file = tree::read_topology_file(shape->path); !file) {
    return unexpected(std::move(file.error()));
  }
  std::error_code error;
  return "file:" + std::filesystem::absolute(shape->path, error).string();
}

namespace {

// What only together makes no sense.
Result<void> check_hosts(const RunOptions& options, const std::vector<SettingValue>& values) {
  const auto setting = [&values](std::string_view name) -> const SettingValue& {
    return value_of(values, name);
  };
  const bool has_extra = !options.extra_hosts.empty();
  const bool is_file = options.topology.starts_with("file:");
  if (is_file && has_extra) {
    return bad_setting(setting("extra-hosts"),
                       "the topology file names its hosts itself; leave out the extra hosts");
  }
  if (is_file && options.placement == "fuzzy") {
    return bad_setting(
        setting("placement"),
        "the topology file says where communication processes run; leave out one of the two");
  }
  if (has_extra && options.launcher.empty()) {
    return bad_setting(
        setting("extra-hosts"),
        "no agent on these hosts can start communication processes; name a command that "
        "can, for example --launcher ssh");
  }
  if (has_extra && options.room.where == placement::CommHosts::kCompute) {
    return bad_setting(setting("comm-on"), "compute does not use the hosts of " +
                                               setting("extra-hosts").source +
                                               "; leave out one of the two");
  }
  if (options.room.where == placement::CommHosts::kExtra && !has_extra && !is_file) {
    return bad_setting(setting("comm-on"), "there are no extra hosts; name them by --extra-hosts");
  }
  if (has_extra && (options.room.reserved_cores > 0 || options.room.reserve_for_processes)) {
    return bad_setting(setting("reserve-cores"),
                       "the cores of " + setting("extra-hosts").source +
                           " are not known; give a limit per host instead (--max-per-host)");
  }
  if (options.placement == "fuzzy" && options.facts_every == 0) {
    return bad_setting(
        setting("facts-every"),
        "fuzzy placement needs measurements of the hosts; give a time from 1s to 1h");
  }
  return {};
}

Result<void> read_hosts(RunOptions& options, const std::vector<SettingValue>& values,
                        const std::vector<ConfigEntry>& entries) {
  const SettingValue& policy = value_of(values, "placement");
  if (auto known = placement::parse_policy(policy.value); !known) {
    return bad_setting(policy, known.error().message);
  }
  options.placement = policy.value;
  for (const ConfigEntry& entry : entries) {
    if (placement::is_fuzzy_key(entry.key)) options.fuzzy.push_back(entry);
    if (frontend::is_stream_key(entry.key)) options.streams.push_back(entry);
    if (storage::is_alert_key(entry.key)) options.alerts.push_back(entry);
  }
  // The reader of the file sorts keys by name; a person means their order in the text.
  std::ranges::stable_sort(options.fuzzy, {}, &ConfigEntry::line);
  std::ranges::stable_sort(options.streams, {}, &ConfigEntry::line);
  options.comm_on = value_of(values, "comm-on").value;
  auto room = read_room_rules(values);
  if (!room) return unexpected(std::move(room.error()));
  options.room = *std::move(room);
  auto extra = read_extra_hosts(values);
  if (!extra) return unexpected(std::move(extra.error()));
  options.extra_hosts = *std::move(extra);
  const SettingValue& every = value_of(values, "facts-every");
  const auto interval = to_duration(every, 0, 3600 * kSecond, "0, or from 1s to 1h");
  if (!interval) return unexpected(interval.error());
  if (*interval != 0 && *interval < kSecond) {
    return bad_setting(every, "'" + every.value + "' is not 0, or from 1s to 1h");
  }
  options.facts_every = *interval;
  return check_hosts(options, values);
}

}  // namespace

Result<RunOptions> check_settings(const std::vector<SettingValue>& values,
                                  const std::vector<ConfigEntry>& entries) {
  const auto setting = [&values](std::string_view name) -> const SettingValue& {
    return value_of(values, name);
  };
  RunOptions options;
  options.store = setting("store").value;
  options.sample = setting("sample").value;
  options.interface = setting("interface").value;
  options.launcher = setting("launcher").value;
  options.log_level = setting("log-level").value;
  if (auto good = check_sample(setting("sample")); !good) return unexpected(good.error());
  if (auto good = check_choice(setting("detail"), {"profile", "trace"}); !good) {
    return unexpected(good.error());
  }
  options.chunks = setting("detail").value == "trace";
  if (auto good = check_choice(setting("log-level"), {"debug", "info", "warn", "error"}); !good) {
    return unexpected(good.error());
  }
  if (auto good = check_choice(setting("tls"), {"on", "off"}); !good) {
    return unexpected(good.error());
  }
  options.tls = setting("tls").value == "on";
  auto topology = check_topology(setting("topology").value);
  if (!topology) return bad_setting(setting("topology"), topology.error().message);
  options.topology = *topology;
  if (auto good = read_hosts(options, values, entries); !good) return unexpected(good.error());

  const auto overwrite = to_switch(setting("overwrite"));
  if (!overwrite) return unexpected(overwrite.error());
  options.overwrite = *overwrite;
  const auto quiet = to_switch(setting("quiet"));
  if (!quiet) return unexpected(quiet.error());
  options.quiet = *quiet;

  const auto window =
      to_duration(setting("window"), 10 * kMillisecond, 60 * kSecond, "from 10ms to 60s");
  if (!window) return unexpected(window.error());
  options.window = *window;
  const auto settle = to_duration(setting("settle"), 0, 600 * kSecond, "at most 10 minutes");
  if (!settle) return unexpected(settle.error());
  options.settle = *settle;

  const auto port = to_number(setting("port"), 65535);
  if (!port) return unexpected(port.error());
  options.port = static_cast<std::uint16_t>(*port);
  const auto ring = to_number(setting("ring"), 1u << 22);
  if (!ring) return unexpected(ring.error());
  if ((*ring & (*ring - 1)) != 0 || (*ring != 0 && *ring < 64)) {
    return bad_setting(setting("ring"), "must be a power of two, at least 64");
  }
  options.ring_records = static_cast<unsigned>(*ring);
  const auto test_size = to_number(setting("test-size"), 1024);
  if (!test_size) return unexpected(test_size.error());
  options.test_size = static_cast<unsigned>(*test_size);
  return options;
}

std::vector<ConfigEntry> sections_of(const RunOptions& options) {
  std::vector<ConfigEntry> sections = options.fuzzy;
  sections.insert(sections.end(), options.streams.begin(), options.streams.end());
  return sections;
}

std::string print_settings(const std::vector<SettingValue>& values,
                           const std::vector<ConfigEntry>& sections) {
  std::string text;
  for (const Setting& setting : run_settings()) {
    const SettingValue& value = value_of(values, setting.name);
    text += std::string(setting.name) + " = ";
    text +=
        setting.is_switch ? (value.value.empty() ? "false" : value.value) : print_text(value.value);
    text += value.source == "default" ? "\n" : "  # " + value.source + "\n";
  }
  // Entries of one key are an array; those of one line stay on one.
  for (std::size_t i = 0; i < sections.size();) {
    std::size_t end = i + 1;
    while (end < sections.size() && sections[end].key == sections[i].key) ++end;
    std::string list;
    for (std::size_t k = i; k < end; ++k) {
      list += (k == i ? "" : ", ") + print_text(sections[k].value);
    }
    text += sections[i].key + " = " + (end - i > 1 ? "[" + list + "]" : list) + "\n";
    i = end;
  }
  return text;
}

}  // namespace xylem
