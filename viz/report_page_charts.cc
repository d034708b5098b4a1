#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "viz/report_page_charts_internal.h"

namespace xylem::viz {
namespace {

constexpr std::size_t kLevels = 9;  ///< Colours of the style sheet, l1 to l9.

std::size_t level_of(double value, double max) {
  if (!(value > 0) || !(max > 0)) return 0;
  const double level = std::ceil(value / max * static_cast<double>(kLevels));
  return static_cast<std::size_t>(std::clamp(level, 1.0, static_cast<double>(kLevels)));
}

double share(double x) { return std::isfinite(x) ? std::clamp(x, 0.0, 1.0) : 0.0; }

}  // namespace

std::string heat_map(const HeatMap& map) {
  std::array<std::string, kLevels + 1> strokes;
  for (std::uint64_t row = 0; row < map.rows; ++row) {
    for (std::uint64_t at = 0; at < map.columns;) {
      const std::size_t level = level_of(map.cells[row * map.columns + at], map.max);
      std::uint64_t end = at + 1;
      while (end < map.columns && level_of(map.cells[row * map.columns + end], map.max) == level) {
        ++end;
      }
      if (level != 0) strokes[level] += fmt::format("M{} {}h{}", at, row, end - at);
      at = end;
    }
  }
  std::string svg = fmt::format(
      "<svg class=\"map{}\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\""
      " preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">"
      "<g transform=\"translate(0,.5)\">",
      map.is_square ? " square" : "", map.name, map.columns, map.rows);
  for (std::size_t level = 1; level <= kLevels; ++level) {
    if (strokes[level].empty()) continue;
    svg += fmt::format("<path class=\"l{}\" d=\"{}\"/>\n", level, strokes[level]);
  }
  return svg + "</g></svg>\n";
}

std::string heat_legend(const std::string& lowest, const std::string& highest) {
  std::string svg = "<p class=\"legend\">" + lowest +
                    " <svg viewBox=\"0 0 9 1\" "
                    "preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  for (std::size_t level = 1; level <= kLevels; ++level) {
    svg += fmt::format("<path class=\"l{}\" d=\"M{} .5h1\"/>", level, level - 1);
  }
  return svg + "</svg> " + highest + "</p>\n";
}

std::string share_bar(double part, double rest) {
  const double first = 100 * share(part), both = 100 * share(share(part) + share(rest));
  return fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
      "<rect class=\"rest\" width=\"{:.1f}\" height=\"10\"/>"
      "<rect width=\"{:.1f}\" height=\"10\"/></svg>",
      both, first);
}

// Sequential colours of one direction, light to dark on paper and dark to light on black, so that
// more always stands out; told apart without seeing hues.
const char* report_page_style() {
  return R"(:root{color-scheme:light dark;--back:#fff;--text:#1c2024;--faint:#5b646e;--line:#d9dee4;
--bar:#2166ac;--rest:#a6c8e4;--empty:#f4f6f8;--bad:#b3261e;--good:#1b6e3c;
--l1:#e3eef8;--l2:#c9dff0;--l3:#a6cde4;--l4:#7bb5d9;--l5:#539dcc;--l6:#3282be;--l7:#1967ad;--l8:#0b4e92;--l9:#08306b}
@media (prefers-color-scheme:dark){:root{--back:#15191e;--text:#e4e8ec;--faint:#9aa5b1;--line:#333b44;
--bar:#6cb0e8;--rest:#31587a;--empty:#1c2228;--bad:#ff8a80;--good:#7fd6a0;
--l1:#1d3049;--l2:#22436a;--l3:#285987;--l4:#32709f;--l5:#4489b3;--l6:#62a3c2;--l7:#89bdcf;--l8:#b6d7da;--l9:#f0f3d8}}
@media print{:root{color-scheme:light}body{font-size:10px}h2{break-after:avoid}tr,svg{break-inside:avoid}
svg path,svg rect{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:68rem;margin:0 auto;padding:1.2rem}
h1{font-size:1.35rem;margin:.2rem 0;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:2rem 0 .4rem}
p{margin:.3rem 0;max-width:52rem}
.faint,.legend,th{color:var(--faint)}.bad{color:var(--bad);font-weight:600}.good{color:var(--good);font-weight:600}
table{border-collapse:collapse;width:100%}
th{font-weight:400;text-align:left}
th,td{padding:.12rem .8rem .12rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td.w{width:24%;vertical-align:middle}
td.t{overflow-wrap:anywhere}
.bar{display:block;width:100%;height:.7rem;background:var(--empty)}
.bar rect{fill:var(--bar)}.bar .rest{fill:var(--rest)}
.map{display:block;width:100%;height:min(22rem,60vw);background:var(--empty)}
.map.square{width:min(30rem,100%);height:auto;aspect-ratio:1}
.map path,.legend path{fill:none;stroke-width:1}
.legend svg{width:9rem;height:.7rem;vertical-align:middle}
.axis{max-width:none;display:flex;justify-content:space-between;color:var(--faint);font-size:.85rem}
.axis.square{max-width:30rem}
.l1{stroke:var(--l1)}.l2{stroke:var(--l2)}.l3{stroke:var(--l3)}.l4{stroke:var(--l4)}.l5{stroke:var(--l5)}
.l6{stroke:var(--l6)}.l7{stroke:var(--l7)}.l8{stroke:var(--l8)}.l9{stroke:var(--l9)}
)";
}

}  // namespace xylem::viz
