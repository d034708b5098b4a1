#pragma once

// A run's totals in the text formats of OpenMetrics 1.0 and of older Prometheus, for /metrics.
// docs/http-api.md lists the metrics.

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
  storage::Tree tree;
  storage::Alerts alerts;
  std::map<std::string, std::uint64_t> refused;  ///< Requests by reason.
};

/// kText is the format before OpenMetrics: version 0.0.4, without units and end mark.
enum class MetricsFormat { kOpenMetrics, kText };

/// The format for the header `Accept`: OpenMetrics, unless it names text and not OpenMetrics.
MetricsFormat metrics_format(std::string_view accept);
std::string metrics_type(MetricsFormat format);

/// Few series for runs of any size: labels are worlds (32 at most), the 15 functions with most
/// time, roles and states of the tree's processes, never ranks, hosts or commands. Counters do not
/// fall while the run's file is the same.
std::string metrics_text(const MetricsValues& values, MetricsFormat format);

}  // namespace xylem::viz
