#pragma once

// The streams in a configuration file, for programs of the run that link xylem::backend:
//
//   [stream.energy]
//   aggregation = "sum"                 # merges the waves of all leaves. By default,
//                                       # the waves of each leaf are kept separately
//   synchronisation = "time_out 500ms"  # or wait_for_all (the default), or as_it_comes
//   when_full = "drop_newest"           # what a leaf does when its journal is full: drop_newest
//                                       # (the default), drop_oldest, or block (the program waits)
//   plugin = "/opt/site/filters.so"     # the file with the aggregation. By default,
//                                       # the aggregation is a built-in one

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Maximum number of streams of a run. It is small, since every node gets a list of all streams.
constexpr std::size_t kMaxStreams = 64;

/// Returns true for a key of a stream's section, even if read_streams() would refuse the key.
bool is_stream_key(std::string_view key);

/// Maps the path of a plugin's file to the name of the file's copy (filters::name_of_copy). The
/// copy is opened instead of the file.
using PluginCopies = std::map<std::string, std::string>;

/// Decides whether to load the plugin of `stream`. If yes, calls `loads`.
using LoadPlugin =
    std::function<Result<void>(StreamId stream, const std::function<Result<void>()>& loads)>;

/// Reads the streams, sorted by name and numbered from wire::kFirstStoredStream on. The same
/// entries always give the same numbers. Skips keys of other sections. `path` is the file's name in
/// error messages.
///
/// Opens each plugin and computes its SHA-256; every node gets this hash. Also loads each plugin as
/// a check. If `load` is given, `load` decides whether to load the plugin.
///
/// Fails with kInvalidArgument and "PATH:LINE: why"
/// - if a name is invalid (wire::is_service_name), or a key or a value is unknown;
/// - if a timeout is not from 1ms to 1h;
/// - if an aggregation is unknown, or does not work without parameters;
/// - if a plugin cannot be loaded, or if `plugin` is given without `aggregation`;
/// - if there are too many streams.
Result<std::vector<wire::StreamSpec>> read_streams(const std::vector<ConfigEntry>& entries,
                                                   const std::string& path,
                                                   const PluginCopies& copies = {},
                                                   const LoadPlugin& load = nullptr);

/// Returns the paths of the plugins in these entries: each path once, in the order of the entries.
std::vector<std::string> plugins_of(const std::vector<ConfigEntry>& entries);

/// Returns the streams with the names of copies instead of the paths of plugins. Only this process
/// can use the result.
std::vector<wire::StreamSpec> with_copies(std::vector<wire::StreamSpec> streams,
                                          const PluginCopies& copies);

}  // namespace xylem::frontend
