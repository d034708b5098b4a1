#pragma once

// The totals of a run for /metrics, in the text format of OpenMetrics 1.0 or in the older format of
// Prometheus. docs/http-api.md lists the metrics.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "storage/read/run_totals.h"
#include "storage/read/run_view.h"

namespace xylem::viz {

struct MetricsValues {
  storage::Overview overview;
  storage::WorldTotals totals;
  storage::TreeSnapshot tree;
  storage::Alerts alerts;
  std::map<std::string, std::uint64_t> refused;  ///< Number of refused requests, by reason.
};

/// kText is the older format of Prometheus, version 0.0.4. It has no units and no end mark.
enum class MetricsFormat { kOpenMetrics, kText };

/// Returns the format for the value of the header Accept: kText if it lists text/plain but not
/// OpenMetrics, otherwise kOpenMetrics.
MetricsFormat metrics_format(std::string_view accept);
std::string metrics_type(MetricsFormat format);

/// Returns the metrics as text. For runs of any size, the number of series is small. Labels with
/// many values are limited: worlds to those of WorldTotals, functions to the 15 with the most time.
/// Ranks, hosts and commands are never labels.
std::string metrics_text(const MetricsValues& values, MetricsFormat format);

}  // namespace xylem::viz
