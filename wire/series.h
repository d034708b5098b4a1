#pragma once

// Series: the measurements of a host's auxiliary services. A layout names a service's metrics once
// (registration.h carries it); a sample then holds only numbers.

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
  /// Absolute path and arguments of a program to run, separated by blanks; empty: the built-in
  /// service of that name (`host`, `process`).
  std::string program;
  Nanos interval_ns = 1 * kSecond;
  Nanos timeout_ns = 10 * kSecond;  ///< A program that takes longer is killed.
  bool operator==(const ServiceSpec&) const = default;
};
/// Maximum number of services. The lane of a service's packets is its position in Control, from 1.
constexpr std::size_t kMaxServices = 31;
constexpr std::string_view kHostService = "host";
constexpr std::string_view kProcessService = "process";
/// Whether `name` is 1 to 32 of a-z, 0-9, `_` and `-` and begins with a letter. It becomes part of
/// a file's name.
bool is_service_name(std::string_view name);

/// Column of a layout. A sample's number times `scale`, divided by the sample's span in seconds
/// when `per_second`, is the value in `unit`: numbers are the system's own counts, mostly integers,
/// which take one to three bytes.
struct MetricRow {
  std::string name;
  std::string unit;
  double scale = 1;
  bool per_second = false;
  bool operator==(const MetricRow&) const = default;
};

/// Names of the numbers of a sample, in order. key_of() identifies a layout, so that equal layouts
/// of many hosts are stored once.
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

/// The numbers of the host itself (kLeafLane) or of the process in a lane. NaN: not known this
/// time. The list may omit the layout's last metrics.
struct SeriesEntry {
  Lane lane = kLeafLane;
  std::vector<double> numbers;
};

/// Payload of the series stream: one sample of one service. The packet's lane is the service's, its
/// wave the sample's number within the service of this leaf, from 0 without gaps.
struct SeriesSample {
  Nanos at_ns = 0;             ///< Since the run's epoch.
  Nanos span_ns = 0;           ///< Since the previous sample, for rates; 0 in the first.
  std::uint64_t slice = 0;     ///< The window in which it was taken.
  std::uint64_t layout = 0;    ///< key_of()
  std::uint64_t captured = 0;  ///< Samples that the service has taken so far, by its own counter.
  std::vector<SeriesEntry> entries;
};

/// Runs of zeros and unknown numbers take almost no space, integers 1 to 9 bytes, others 9.
Bytes encode(const SeriesSample& sample);
/// Fails with kCorrupt, also on lanes that do not ascend, more than kMaxSeriesEntries entries, and
/// more than kMaxSeriesNumbers numbers in all.
Result<SeriesSample> decode_series(std::span<const std::byte> payload);
constexpr std::size_t kMaxSeriesNumbers = 1u << 20;
constexpr std::size_t kMaxSeriesEntries = 1u << 16;

}  // namespace xylem::wire
