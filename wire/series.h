#pragma once

// Series: what the auxiliary services of a host measure. What a service measures is named once, in
// a layout (registration.h carries it); a sample then holds numbers only.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

/// A service that the configuration names; part of Control.
struct ServiceSpec {
  std::string name;  ///< is_service_name()
  /// Absolute path and arguments, separated by blanks, of a program to run; empty: the service of
  /// that name which is built in (`host`, `process`).
  std::string program;
  Nanos interval_ns = 1 * kSecond;
  Nanos timeout_ns = 10 * kSecond;  ///< A program that takes longer is killed.
  bool operator==(const ServiceSpec&) const = default;
};
/// Services are numbered by their place in Control, from 1: that is the lane of their packets.
constexpr std::size_t kMaxServices = 31;
constexpr std::string_view kHostService = "host";
constexpr std::string_view kProcessService = "process";
/// 1 to 32 of a-z, 0-9, `_` and `-`, first a letter: it becomes part of a file's name.
bool is_service_name(std::string_view name);

/// Column of a layout. A sample's number times `scale`, divided by the sample's span in seconds
/// when `per_second`, is the value in `unit`: numbers stay what the system counts, mostly integers,
/// which take one to three bytes.
struct MetricRow {
  std::string name;
  std::string unit;
  double scale = 1;
  bool per_second = false;
  bool operator==(const MetricRow&) const = default;
};

/// Names of the numbers of a sample, in order. `key` is that of its rows, so that equal layouts of
/// many hosts are one.
struct SeriesLayout {
  std::string service;
  std::vector<MetricRow> rows;
  bool operator==(const SeriesLayout&) const = default;
};
std::uint64_t key_of(const SeriesLayout& layout);

/// A service that a leaf may take samples of.
struct ServiceRow {
  Lane lane{};
  std::string name;
  bool operator==(const ServiceRow&) const = default;
};

/// Numbers of one subject: of the host itself (kLeafLane) or of the process in a lane. NaN: not
/// known this time. A shorter list than the layout leaves out the end.
struct SeriesEntry {
  Lane lane = kLeafLane;
  std::vector<double> numbers;
};

/// Payload of the series stream: one sample of one service. The packet's lane is the service's, its
/// wave the sample's number within the service of this leaf, from 0 without gaps.
struct SeriesSample {
  Nanos at_ns = 0;             ///< Of the run's epoch, as windows.
  Nanos span_ns = 0;           ///< Since the sample before, for rates; 0 with a first one.
  std::uint64_t slice = 0;     ///< The window in which it was taken.
  std::uint64_t layout = 0;    ///< key_of()
  std::uint64_t captured = 0;  ///< Samples that the service has taken so far, by its own counter.
  std::vector<SeriesEntry> entries;
};

/// Zeros and unknown numbers cost next to nothing in a row, integers 1 to 9 bytes, others 9.
Bytes encode(const SeriesSample& sample);
/// Fails with kCorrupt; on lanes that do not rise, more than kMaxSeriesEntries entries, and more
/// than kMaxSeriesNumbers numbers in all, too.
Result<SeriesSample> decode_series(std::span<const std::byte> payload);
constexpr std::size_t kMaxSeriesNumbers = 1u << 20;
constexpr std::size_t kMaxSeriesEntries = 1u << 16;

}  // namespace xylem::wire
