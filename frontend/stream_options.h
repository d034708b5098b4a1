#pragma once

// The streams that a configuration file names, for programs of the run that link xylem::backend:
//
//   [stream.energy]
//   aggregation = "sum"                 # computed from a wave on its way; default: none, each
//                                       # leaf's waves are kept separately
//   synchronisation = "time_out 500ms"  # or wait_for_all (the default), as_it_comes
//   when_full = "drop_newest"           # (the default), drop_oldest, or block: what a leaf does
//                                       # when its journal is full. With block the program waits
//   plugin = "/opt/site/filters.so"     # has the aggregation; default: it is built in

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Maximum for a run: every node gets the names of all.
constexpr std::size_t kMaxStreams = 64;

/// True for a key of a stream's section, right or wrong: read_streams() judges it.
bool is_stream_key(std::string_view key);

/// The copy of each plugin's file (filters::name_of_copy), by the file's path: the copy is opened
/// instead of the file.
using PluginCopies = std::map<std::string, std::string>;

/// Loads the plugin of that stream, or not.
using LoadPlugin =
    std::function<Result<void>(StreamId stream, const std::function<Result<void>()>& loads)>;

/// By name, numbered from wire::kFirstStoredStream on: the same entries give the same numbers. Keys
/// of other sections are skipped; `path` is the file's name in errors. Opens the plugin, so that
/// every node can be told its SHA-256, and loads it, to see whether this works. `load`, if given,
/// decides whether a plugin is loaded.
///
/// Fails with kInvalidArgument and "PATH:LINE: why": an invalid name (up to 32 of a-z, 0-9, _ and
/// -, first a letter), an unknown key or word, a timeout that is not from 1ms to 1h, an
/// aggregation that is unknown or needs parameters, a plugin without an aggregation or one that
/// cannot be loaded, or too many streams.
Result<std::vector<wire::StreamSpec>> read_streams(const std::vector<ConfigEntry>& entries,
                                                   const std::string& path,
                                                   const PluginCopies& copies = {},
                                                   const LoadPlugin& load = nullptr);

/// The plugins of these entries, each file once, in their order.
std::vector<std::string> plugins_of(const std::vector<ConfigEntry>& entries);

/// The same streams for this process only, which loads the copies instead of the files.
std::vector<wire::StreamSpec> with_copies(std::vector<wire::StreamSpec> streams,
                                          const PluginCopies& copies);

}  // namespace xylem::frontend
