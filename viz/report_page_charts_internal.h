#pragma once

// Charts of the report page as SVG. Their colours are classes of the page's style sheet.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::viz {

/// A map of cells with colours.
struct HeatMap {
  std::uint64_t columns = 0, rows = 0;
  std::vector<double> cells;  ///< Row by row; a cell of 0 stays empty.
  double most = 1;            ///< The value with the strongest colour.
  std::string name;           ///< The text for screen readers.
  bool is_square = false;     ///< False: the map is as wide as the page.
};

/// Draws neighbouring cells of equal colour as one stroke, so that the page stays small.
std::string heat_map(const HeatMap& map);
/// The scale of a map's colours, from `least` to `most`.
std::string heat_legend(const std::string& least, const std::string& most);
/// A bar in a table: `part`, followed by `rest` in a lighter colour. Both are shares from 0 to 1.
std::string share_bar(double part, double rest = 0);
/// The style sheet of the page and of its charts.
const char* report_page_style();

}  // namespace xylem::viz
