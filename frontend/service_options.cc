#include "frontend/service_options.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "frontend/named_section_internal.h"

namespace xylem::frontend {
namespace {

constexpr std::string_view kKind = "service";
constexpr Nanos kMinTime = 100 * kMillisecond;
constexpr Nanos kMaxTime = 3600 * kSecond;
constexpr std::size_t kLongestProgram = 4096;

bool is_built_in(const std::string& name) {
  return name == wire::kHostService || name == wire::kProcessService;
}

Result<Nanos> to_interval(const std::string& value) {
  const auto duration = parse_duration(value);
  if (!duration) return unexpected(duration.error());
  if (*duration < kMinTime || *duration > kMaxTime) {
    return unexpected(Code::kInvalidArgument, "'" + value + "' is not from 100ms to 1h");
  }
  return Nanos{*duration};
}

Result<void> take_program(const std::string& value, wire::ServiceSpec& spec) {
  if (is_built_in(spec.name)) {
    return unexpected(Code::kInvalidArgument,
                      "the service " + spec.name + " is built in; give the program another name");
  }
  if (!value.starts_with('/') || value.size() > kLongestProgram) {
    return unexpected(Code::kInvalidArgument,
                      "'" + value + "' does not begin with an absolute path");
  }
  if (!spec.program.empty()) {
    return unexpected(Code::kInvalidArgument,
                      "it has a program already, '" + spec.program +
                          "'; write program and arguments as one text, as in exec = "
                          "\"/path/program arguments\"");
  }
  spec.program = value;
  return {};
}

Result<void> take(const std::string& key, const std::string& value, wire::ServiceSpec& spec) {
  if (key.empty() && value.empty()) return {};  // A section without keys.
  if (key == "exec") return take_program(value, spec);
  if (key != "interval" && key != "timeout") {
    return unexpected(Code::kInvalidArgument,
                      "a service has the keys exec, interval and timeout, not '" + key + "'");
  }
  if (key == "timeout" && is_built_in(spec.name)) {
    return unexpected(Code::kInvalidArgument,
                      "timeout is for programs, " + spec.name + " is built in; leave it out");
  }
  const auto duration = to_interval(value);
  if (!duration) return unexpected(duration.error());
  (key == "interval" ? spec.interval_ns : spec.timeout_ns) = *duration;
  return {};
}

}  // namespace

bool is_service_key(std::string_view key) { return internal::is_of_kind(key, kKind); }

Result<std::vector<wire::ServiceSpec>> read_services(const std::vector<ConfigEntry>& entries,
                                                     const std::string& path) {
  struct Named {
    wire::ServiceSpec spec;
    int line = 0;
  };
  std::map<std::string, Named> services;
  const auto refuse = [&path](int line, const std::string& why) {
    return internal::refused_line(path, line, why);
  };
  for (const ConfigEntry& entry : entries) {
    if (!is_service_key(entry.key)) continue;
    const auto split = internal::split_key(entry.key, kKind);
    if (!split) return refuse(entry.line, split.error().message);
    const auto& [name, key] = *split;
    Named& named = services[name];
    named.spec.name = name;
    if (named.line == 0) named.line = entry.line;
    if (auto good = take(key, entry.value, named.spec); !good) {
      return refuse(entry.line, "service " + name + ": " + good.error().message);
    }
  }
  std::vector<wire::ServiceSpec> specs;
  for (auto& [name, named] : services) {
    if (named.spec.program.empty() && !is_built_in(name)) {
      return refuse(named.line, "service " + name +
                                    ": host and process are built in; any other needs a program, "
                                    "as in exec = \"/path/program arguments\"");
    }
    if (specs.size() == wire::kMaxServices) return refuse(named.line, "too many services");
    specs.push_back(std::move(named.spec));
  }
  return specs;
}

Result<std::vector<std::string>> read_built_in_services(const std::string& list) {
  std::vector<std::string> names;
  if (list == "none") return names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, end - at);
    if (!is_built_in(name)) {
      return unexpected(Code::kInvalidArgument,
                        "'" + name +
                            "' is not a built-in service: write host, process, host,process"
                            " or none; a configuration file names other services");
    }
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    at = end + 1;
  }
  return names;
}

void add_built_in_services(const std::vector<std::string>& names,
                           std::vector<wire::ServiceSpec>& services) {
  for (const std::string& name : names) {
    const auto after = std::ranges::lower_bound(services, name, {}, &wire::ServiceSpec::name);
    if (after != services.end() && after->name == name) continue;
    if (services.size() == wire::kMaxServices) return;
    wire::ServiceSpec spec;
    spec.name = name;
    services.insert(after, std::move(spec));
  }
}

std::string print_services(const std::vector<wire::ServiceSpec>& services) {
  std::string text;
  for (const wire::ServiceSpec& spec : services) {
    text += "\n[service." + spec.name + "]\n";
    if (!spec.program.empty()) text += "exec = " + print_text(spec.program) + "\n";
    text += "interval = " + print_text(print_duration(spec.interval_ns)) + "\n";
    if (!spec.program.empty()) {
      text += "timeout = " + print_text(print_duration(spec.timeout_ns)) + "\n";
    }
  }
  return text;
}

}  // namespace xylem::frontend
