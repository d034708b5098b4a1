#pragma once

// What a program of a service prints: OpenMetrics (and Prometheus) text, or a name and a number a
// line.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xylem::backend {

/// A line that names a number.
struct MetricLine {
  std::string name;         ///< With its labels, as printed: `gpu_power{gpu="0"}`.
  std::string unit;         ///< Of a `# UNIT` line; else empty.
  bool is_counter = false;  ///< `# TYPE ... counter`: it grows.
  double number = 0;
};

struct MetricText {
  std::vector<MetricLine> lines;  ///< In order; the last counts where a name comes twice.
  std::size_t bad_lines = 0;      ///< Neither a number with a name nor a comment.
  std::size_t dropped = 0;        ///< Good ones beyond kMaxMetrics.
  std::string first_bad;          ///< At most 60 bytes of it, printable.
};

constexpr std::size_t kMaxMetrics = 1024;
constexpr std::size_t kLongestMetricName = 200;

/// Any bytes are taken. Names are of letters, digits and `_:./-`; a timestamp or an exemplar behind
/// the number is passed over. A number beyond those of a double is infinite. `# EOF` ends the text.
/// Linear in its size.
MetricText parse_metrics(std::string_view text);

}  // namespace xylem::backend
