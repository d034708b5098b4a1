#include "cli/run_options.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>

#include "base/config.h"
#include "capture/ring.h"
#include "capture/sampling_internal.h"
#include "tree/shape.h"
#include "tree/topology_text.h"

namespace xylem {
namespace {

Result<unsigned> to_number(const SettingValue& setting, unsigned most) {
  unsigned number = 0;
  const char* end = setting.value.data() + setting.value.size();
  const auto parsed = std::from_chars(setting.value.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number > most) {
    return bad_setting(setting,
                       "'" + setting.value + "' is not a number from 0 to " + std::to_string(most));
  }
  return number;
}

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
       "Starts communication processes on hosts of a topology file that the job does not use: ssh, "
       "or "
       "any command that runs `LAUNCHER HOST sh`"},
      {"placement", "even", false, "Policy that chooses hosts for communication processes: even"},
      {"window", "250ms", false, "Length of a profile window, 10ms to 60s"},
      {"settle", "2s", false, "Place the tree so long after the last newcomer at the latest"},
      {"sample", "", false,
       "Record 1 in N calls: FUNCTION=N[,FUNCTION=N], or none [of MPI_Iprobe, "
       "MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome: 1000]"},
      {"interface", "auto", false,
       "Where the front end listens: interface, address, all, or auto (loopback where a launcher "
       "names no other hosts; for scripts the first other address)"},
      {"port", "0", false, "TCP port of the front end; 0 takes a free one"},
      {"tls", "on", false,
       "on: TCP links are encrypted; off: not, for measurements and networks of your own"},
      {"ring", "0", false,
       "Records a thread's ring holds, a power of two; 0 is the default, 262144"},
      {"test-size", "0", false, "Pretend so many hosts on this one, to try a tree"},
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

Result<RunOptions> check_settings(const std::vector<SettingValue>& values) {
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
  if (auto good = check_choice(setting("placement"), {"even"}); !good) {
    return unexpected(good.error());
  }
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
    return bad_setting(setting("ring"), "must be a power of two from 64 on");
  }
  options.ring_records = *ring;
  const auto test_size = to_number(setting("test-size"), 1024);
  if (!test_size) return unexpected(test_size.error());
  options.test_size = *test_size;
  return options;
}

std::string print_settings(const std::vector<SettingValue>& values) {
  std::string text;
  for (const Setting& setting : run_settings()) {
    const SettingValue& value = value_of(values, setting.name);
    std::string quoted;
    for (const char c : value.value) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    text += std::string(setting.name) + " = ";
    text += setting.is_switch ? (quoted.empty() ? "false" : quoted) : "\"" + quoted + "\"";
    text += value.source == "default" ? "\n" : "  # " + value.source + "\n";
  }
  return text;
}

}  // namespace xylem
