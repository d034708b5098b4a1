#include "frontend/stream_options.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "filters/stream_filter.h"
#include "frontend/named_section_internal.h"
#include "wire/series.h"

namespace xylem::frontend {
namespace {

constexpr std::string_view kKind = "stream";
constexpr std::string_view kTimeOut = "time_out ";

Result<void> take_synchronisation(const std::string& value, wire::StreamSpec& spec) {
  if (value == "wait_for_all") {
    spec.synchronisation = wire::Synchronisation::kWaitForAll;
    return {};
  }
  if (value == "as_it_comes") {
    spec.synchronisation = wire::Synchronisation::kAsItComes;
    return {};
  }
  const auto duration =
      parse_duration(value.starts_with(kTimeOut) ? value.substr(kTimeOut.size()) : "");
  if (!duration || *duration < kMillisecond || *duration > 3600 * kSecond) {
    return unexpected(Code::kInvalidArgument,
                      "synchronisation is wait_for_all, as_it_comes, or time_out with 1ms to 1h, "
                      "as in \"time_out 500ms\"; not '" +
                          value + "'");
  }
  spec.synchronisation = wire::Synchronisation::kTimeOut;
  spec.time_out_ns = *duration;
  return {};
}

Result<void> take_when_full(const std::string& value, wire::StreamSpec& spec) {
  if (value == "block") {
    spec.when_full = wire::WhenFull::kBlock;
  } else if (value == "drop_oldest") {
    spec.when_full = wire::WhenFull::kDropOldest;
  } else if (value == "drop_newest") {
    spec.when_full = wire::WhenFull::kDropNewest;
  } else {
    return unexpected(Code::kInvalidArgument,
                      "when_full is block, drop_oldest or drop_newest, not '" + value + "'");
  }
  return {};
}

Result<void> take(const std::string& key, const std::string& value, wire::StreamSpec& spec) {
  if (key.empty() && value.empty()) return {};  // A section without keys.
  if (key == "synchronisation") return take_synchronisation(value, spec);
  if (key == "when_full") return take_when_full(value, spec);
  if (key != "aggregation" && key != "plugin") {
    return unexpected(
        Code::kInvalidArgument,
        "a stream has the keys aggregation, synchronisation, when_full and plugin, not '" + key +
            "'");
  }
  (key == "plugin" ? spec.plugin : spec.aggregation) = value;
  return {};
}

// Makes the filter in the same way as every node will.
Result<void> try_filter(wire::StreamSpec& spec, const PluginCopies& copies,
                        const LoadPlugin& load) {
  if (!spec.plugin.empty() && spec.aggregation.empty()) {
    return unexpected(Code::kInvalidArgument,
                      "it has a plugin and no aggregation; write which of the plugin's is meant");
  }
  if (!spec.plugin.empty()) {
    const auto copy = copies.find(spec.plugin);
    const auto fingerprint =
        filters::plugin_fingerprint(copy == copies.end() ? spec.plugin : copy->second);
    if (!fingerprint) return unexpected(fingerprint.error());
    spec.plugin_sha256 = *fingerprint;
  }
  const auto loads = [here = with_copies({spec}, copies).front()]() -> Result<void> {
    if (const auto made = filters::aggregation_of(here); !made) return unexpected(made.error());
    return {};
  };
  return load && !spec.plugin.empty() ? load(spec.id, loads) : loads();
}

}  // namespace

bool is_stream_key(std::string_view key) { return internal::is_of_kind(key, kKind); }

Result<std::vector<wire::StreamSpec>> read_streams(const std::vector<ConfigEntry>& entries,
                                                   const std::string& path,
                                                   const PluginCopies& copies,
                                                   const LoadPlugin& load) {
  struct Named {
    wire::StreamSpec spec;
    int line = 0;  // Line of the aggregation or the plugin, otherwise the first line of the stream.
  };
  std::map<std::string, Named> streams;
  const auto refuse = [&path](int line, const std::string& why) {
    return internal::refused_line(path, line, why);
  };
  for (const ConfigEntry& entry : entries) {
    if (!is_stream_key(entry.key)) continue;
    const auto split = internal::split_key(entry.key, kKind);
    if (!split) return refuse(entry.line, split.error().message);
    const auto& [name, key] = *split;
    Named& named = streams[name];
    named.spec.name = name;
    if (named.line == 0) named.spec.when_full = wire::WhenFull::kDropNewest;
    if (named.line == 0 || key == "aggregation" || key == "plugin") named.line = entry.line;
    if (auto good = take(key, entry.value, named.spec); !good) {
      return refuse(entry.line, "stream " + name + ": " + good.error().message);
    }
  }
  std::vector<wire::StreamSpec> specs;
  for (auto& [name, named] : streams) {
    if (specs.size() == kMaxStreams) return refuse(named.line, "too many streams");
    const auto number = static_cast<std::uint32_t>(specs.size());
    named.spec.id = StreamId{raw(wire::kFirstStoredStream) + number};
    if (auto good = try_filter(named.spec, copies, load); !good) {
      return refuse(named.line, "stream " + name + ": " + good.error().message);
    }
    specs.push_back(std::move(named.spec));
  }
  return specs;
}

std::vector<std::string> plugins_of(const std::vector<ConfigEntry>& entries) {
  std::vector<std::string> files;
  for (const ConfigEntry& entry : entries) {
    const bool is_plugin = is_stream_key(entry.key) && entry.key.ends_with(".plugin");
    if (is_plugin && std::ranges::find(files, entry.value) == files.end()) {
      files.push_back(entry.value);
    }
  }
  return files;
}

std::vector<wire::StreamSpec> with_copies(std::vector<wire::StreamSpec> streams,
                                          const PluginCopies& copies) {
  for (wire::StreamSpec& spec : streams) {
    if (const auto copy = copies.find(spec.plugin); copy != copies.end())
      spec.plugin = copy->second;
  }
  return streams;
}

}  // namespace xylem::frontend
