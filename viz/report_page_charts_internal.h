#pragma once

// Charts of the page as SVG, coloured by classes of its style sheet.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::viz {

/// Cells of a map, row by row.
struct HeatMap {
  std::uint64_t columns = 0, rows = 0;
  std::vector<double> cells;  ///< 0 is drawn as nothing.
  double most = 1;            ///< What the darkest colour means.
  std::string name;           ///< For who cannot see it.
  bool is_square = false;     ///< Else it is as wide as the page.
};

/// Equal colours beside each other are one stroke, which keeps it small.
std::string heat_map(const HeatMap& map);
/// What the colours of a map mean, from `least` to `most`.
std::string heat_legend(const std::string& least, const std::string& most);
/// A bar in a table: `part` and then `rest`, shares from 0 to 1.
std::string share_bar(double part, double rest = 0);
/// The style sheet of the page and of its charts.
const char* report_page_style();

}  // namespace xylem::viz
