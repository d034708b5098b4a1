#pragma once

// The parts of the terminal's screen: each is a table that is drawn into as much room as there is.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "viz/top.h"

namespace xylem::viz {

/// A column of a table. What does not fit is left out, the largest `need` first, and the room that
/// is left goes to the columns that can grow, in their order.
struct Column {
  std::string head;
  std::size_t width = 0;  ///< At least.
  Align align = Align::kRight;
  int need = 0;
  std::size_t most = 0;  ///< May grow so wide; not above `width`: it does not grow.
};

/// What stands in a column: text, or a bar where `part` is not negative.
struct Cell {
  std::string text;
  Look look = Look::kPlain;
  double part = -1, rest = 0;
};

struct Table {
  std::string title;  ///< Above it, with what it covers; not printable yet, as all texts here.
  std::string none;   ///< Instead of rows when there are none: what to do.
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// The panes' tables. What has not been asked for has no rows.
Table functions_table(const TopAnswers& answers, const TopChoice& choice);
Table ranks_table(const TopAnswers& answers, const TopChoice& choice);
Table waits_table(const TopAnswers& answers, const TopChoice& choice);
Table tree_table(const TopAnswers& answers, const TopChoice& choice);
Table notices_table(const TopAnswers& answers, const TopChoice& choice);
Table pane_table(TopPane pane, const TopAnswers& answers, const TopChoice& choice);

/// The table in `width` x `height` cells: title, heads, and the rows from the `scroll`th on;
/// height 0: all of them.
std::vector<Line> draw_table(const Table& table, std::size_t width, std::size_t height,
                             std::size_t scroll, bool utf8);

/// The overlay in a line.
std::string tree_sentence(const storage::TreeReport& tree);

}  // namespace xylem::viz
