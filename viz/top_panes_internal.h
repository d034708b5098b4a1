#pragma once

// The panes of the terminal's screen. Each is a table that adapts to the size of the screen.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "viz/top.h"

namespace xylem::viz {

/// A column of a table. If not all columns fit, those with the largest `need` are left out first.
/// Remaining width goes to the columns that can grow, from left to right.
struct Column {
  std::string head;
  std::size_t width = 0;  ///< Minimum width.
  Align align = Align::kRight;
  int need = 0;          ///< 0: never left out.
  std::size_t most = 0;  ///< Maximum width. If it is not above `width`, the column does not grow.
};

/// The contents of a row in one column: text, or a bar if `part` is not negative.
struct Cell {
  std::string text;
  Look look = Look::kPlain;
  double part = -1, rest = 0;
};

struct Table {
  /// The heading, which also says what the table covers. Like all texts here, it may still contain
  /// unprintable characters.
  std::string title;
  std::string none;  ///< The line that is shown if there are no rows.
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// The panes' tables. A table has no rows if its part was not queried.
Table functions_table(const TopAnswers& answers, const TopChoice& choice);
Table ranks_table(const TopAnswers& answers, const TopChoice& choice);
Table waits_table(const TopAnswers& answers, const TopChoice& choice);
Table tree_table(const TopAnswers& answers, const TopChoice& choice);
Table notices_table(const TopAnswers& answers, const TopChoice& choice);
Table pane_table(TopPane pane, const TopAnswers& answers, const TopChoice& choice);

/// Draws title, heads and rows in `width` x `height` cells, without the first `scroll` rows. If
/// `height` is 0, draws all rows.
std::vector<Line> draw_table(const Table& table, std::size_t width, std::size_t height,
                             std::size_t scroll, bool utf8);

/// The overlay in one sentence.
std::string tree_sentence(const storage::TreeReport& tree);

}  // namespace xylem::viz
