#pragma once

// Parses the output of a service's program: OpenMetrics (and Prometheus) text, or a name and a
// number per line.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// A line with a name and a number.
struct MetricLine {
  std::string name;         ///< The name with its labels, as printed: `gpu_power{gpu="0"}`.
  std::string unit;         ///< The unit, if a `# UNIT` line gives it; else empty.
  bool is_counter = false;  ///< True after a `# TYPE ... counter` line: the number only grows.
  double number = 0;
};

struct MetricText {
  std::vector<MetricLine> lines;  ///< In order; if a name occurs twice, the last line counts.
  std::size_t bad_lines = 0;      ///< Lines that are neither a valid metric nor a comment.
  std::size_t dropped = 0;        ///< Valid lines with a new name, after kMaxMetrics names.
  std::string first_bad;          ///< At most 60 printable bytes of the first bad line.
};

constexpr std::size_t kMaxMetrics = 1024;
constexpr std::size_t kLongestMetricName = 200;

/// Accepts any bytes. Names consist of letters, digits and `_:./-`; a timestamp or an exemplar
/// after the number is ignored. A number too large for double is infinite. `# EOF` ends the text.
/// The run time grows about linearly with the size of `text`.
MetricText parse_metrics(std::string_view text);

}  // namespace xylem::backend
