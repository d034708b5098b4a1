#pragma once

// Series: the measurements of a host's auxiliary services. A layout is the list of the names of a
// service's metrics. A registration (registration.h) sends it once. So a sample contains only
// numbers.

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

/// A service that the configuration names. Control contains the list of these services.
struct ServiceSpec {
  std::string name;  ///< A name that is_service_name() accepts.
  /// Absolute path and arguments of a program to run, separated by blanks. Empty for the built-in
  /// services `host` and `process`.
  std::string program;
  Nanos interval_ns = 1 * kSecond;
  Nanos timeout_ns = 10 * kSecond;  ///< A program that takes longer is killed.
  bool operator==(const ServiceSpec&) const = default;
};
/// Maximum number of services. The lane of a service's packets is the position of the service in
/// Control, counted from 1.
constexpr std::size_t kMaxServices = 31;
constexpr std::string_view kHostService = "host";
constexpr std::string_view kProcessService = "process";
/// Returns true if `name` has 1 to 32 characters out of a-z, 0-9, `_` and `-` and begins with a
/// letter. The name becomes part of a file name.
bool is_service_name(std::string_view name);

/// A column of a layout. A sample has one number for each column. The value in `unit` is this
/// number times `scale`. If `per_second` is true, the value is also divided by the sample's span in
/// seconds. Most numbers are counts of the system and need one to three bytes.
struct MetricRow {
  std::string name;
  std::string unit;
  double scale = 1;
  bool per_second = false;
  bool operator==(const MetricRow&) const = default;
};

/// Names of the numbers of a sample, in order. key_of() identifies a layout. So the store keeps
/// equal layouts of many hosts only once.
struct SeriesLayout {
  std::string service;
  std::vector<MetricRow> rows;
  bool operator==(const SeriesLayout&) const = default;
};
/// A hash (FNV-1a) of all fields of the layout. Samples and files contain it, so it must never
/// change. Two different layouts could have the same key; this is not checked.
std::uint64_t key_of(const SeriesLayout& layout);

/// A service of which a leaf may take samples.
struct ServiceRow {
  Lane lane{};
  std::string name;
  bool operator==(const ServiceRow&) const = default;
};

/// The numbers of the host itself (kLeafLane) or of the process in a lane. NaN means that the
/// number is not known in this sample. The list may be shorter than the layout; then the last
/// metrics are missing.
struct SeriesEntry {
  Lane lane = kLeafLane;
  std::vector<double> numbers;
};

/// Payload of the series stream: one sample of one service. The lane of the packet is the service's
/// lane. The wave is the ordinal of the sample. Each leaf counts the samples of each service from
/// 0, without gaps.
struct SeriesSample {
  Nanos at_ns = 0;    ///< Since the run's epoch.
  Nanos span_ns = 0;  ///< Time since the previous sample, used for rates; 0 in the first sample.
  std::uint64_t slice = 0;   ///< The window in which the sample was taken.
  std::uint64_t layout = 0;  ///< The result of key_of() for the layout.
  /// Number of samples of this service that the leaf has taken so far, this one included. The front
  /// end compares it with the number of samples that have arrived.
  std::uint64_t captured = 0;
  std::vector<SeriesEntry> entries;
};

/// Sequences of zeros and unknown numbers take almost no space. An integer takes 1 to 9 bytes; any
/// other number takes 9 bytes.
Bytes encode(const SeriesSample& sample);
/// Fails with kCorrupt if the bytes are not a sample, or if lanes do not ascend. Also fails if
/// there are more than kMaxSeriesEntries entries, or more than kMaxSeriesNumbers numbers in total.
Result<SeriesSample> decode_series(std::span<const std::byte> payload);
constexpr std::size_t kMaxSeriesNumbers = 1u << 20;
constexpr std::size_t kMaxSeriesEntries = 1u << 16;

}  // namespace xylem::wire
