#pragma once

// Charts of the report page as SVG. The page's style sheet defines their colours.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::viz {

/// A heat map: a grid of cells with colours.
struct HeatMap {
  std::uint64_t columns = 0, rows = 0;
  std::vector<double> cells;  ///< The values, stored row by row. A cell with 0 stays empty.
  double max = 1;             ///< The value with the strongest colour.
  std::string name;           ///< The text for screen readers.
  /// True to draw square cells; false to make the map as wide as the page.
  bool is_square = false;
};

/// Returns the map as SVG. Neighbouring cells of equal colour are one stroke, so that the page
/// stays small.
std::string heat_map(const HeatMap& map);
/// Returns the scale of a map's colours, with the labels `lowest` and `highest`.
std::string heat_legend(const std::string& lowest, const std::string& highest);
/// Returns a bar for a table: first `part`, then `rest` in a lighter colour. Both are shares of the
/// width, from 0 to 1.
std::string share_bar(double part, double rest = 0);
/// Returns the style sheet of the page and of the charts.
const char* report_page_style();

}  // namespace xylem::viz
