#pragma once

// The target that was measured, as a file for `xylem predict --target`.

#include <optional>
#include <string>
#include <vector>

#include "predict/calibration/estimate.h"

namespace xylem::predict {

/// What the accesses to a disk took.
struct DiskFigures {
  /// One kind of access.
  struct Access {
    std::string what;     ///< "read", "write".
    Figure latency_ns;    ///< Of the shortest accesses.
    Figure bytes_per_ns;  ///< Of the longest ones.
    std::uint64_t short_bytes = 0, long_bytes = 0;
  };
  std::vector<Access> accesses;
  bool is_direct = false;
};

/// Nullopt if no disk was measured.
std::optional<DiskFigures> disk_figures(const Samples& samples);

/// A line of the table of figures.
struct NamedFigure {
  const char* key;     ///< Of the target, for example "network.latency_ns".
  const char* symbol;  ///< Of LogGPS, for example "L".
  const char* what;
  Figure figure;        ///< ns
  std::string written;  ///< The value as it is written to the file.
};

/// All parameters of messages but S. Messages between two hosts are those of the network. Messages
/// inside one host are those of the memory, and L, G are then keys of the node.
std::vector<NamedFigure> named_figures(const Calibration& of, bool is_one_host);

/// The file. predict::read_target() can read it. A comment has the interval of each value.
///
/// If both ranks were on one host, the messages have not used a network. Then [node] has the values
/// of the memory path, and node.count is 1, so that no prediction uses the network: its keys must
/// be there, and have the same values. A comment says what to replace. If the ranks were on two
/// hosts, [node] has no cores, because the memory path is not known.
///
/// `date` is for a comment.
std::string target_file(const Calibration& of, const Samples& samples, const std::string& date);

}  // namespace xylem::predict
