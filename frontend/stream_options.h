#pragma once

// The streams that a configuration file names, for programs of the run that link xylem::backend:
//
//   [stream.energy]
//   aggregation = "sum"                 # what is computed of a wave on the way; none: each leaf's
//                                       # waves are kept by themselves
//   synchronisation = "time_out 500ms"  # or wait_for_all (when left out), as_it_comes
//   when_full = "drop_newest"           # (when left out), drop_oldest, or block: what a leaf does
//                                       # when its journal is full. block makes its program wait
//   plugin = "/opt/site/filters.so"     # has the aggregation; left out: it is built in

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "wire/stream.h"

namespace xylem::frontend {

/// Of one run: all are named to every node.
constexpr std::size_t kMaxStreams = 64;

/// True for a key of a stream's section, right or wrong: read_streams() judges it.
bool is_stream_key(std::string_view key);

/// Where a copy of a plugin's file is (filters::name_of_copy), by the file's path: it is opened in
/// the file's place.
using PluginCopies = std::map<std::string, std::string>;

/// Loads the plugin of that stream, or not.
using LoadPlugin =
    std::function<Result<void>(StreamId stream, const std::function<Result<void>()>& loads)>;

/// By name, numbered from wire::kFirstStoredStream on: the same entries give the same numbers. Keys
/// of other sections are passed over; `path` is what errors call the file. The plugin is opened, so
/// that every node can be told what is in it, and loaded, to see whether it can be: by `load`,
/// where there is one, which calls what it is given or does without.
///
/// Fails with kInvalidArgument and "PATH:LINE: why" on a name that is none (up to 32 of a-z, 0-9, _
/// and -, first a letter), an unknown key or word, a time-out that is not from 1ms to 1h, an
/// aggregation that is not known or needs parameters, a plugin without an aggregation or one that
/// cannot be loaded, and too many streams.
Result<std::vector<wire::StreamSpec>> read_streams(const std::vector<ConfigEntry>& entries,
                                                   const std::string& path,
                                                   const PluginCopies& copies = {},
                                                   const LoadPlugin& load = nullptr);

/// The plugins of these entries, each file once, in their order.
std::vector<std::string> plugins_of(const std::vector<ConfigEntry>& entries);

/// The same streams for this process alone, which loads copies in the place of files.
std::vector<wire::StreamSpec> with_copies(std::vector<wire::StreamSpec> streams,
                                          const PluginCopies& copies);

}  // namespace xylem::frontend
