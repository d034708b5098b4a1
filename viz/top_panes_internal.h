#pragma once

// The panes of `xylem top`. Each pane is a table that adapts to the size of the screen.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "viz/top.h"

namespace xylem::viz {

/// A column of a table. If not all columns fit, the columns with the largest `need` are left out
/// first: they are needed least. If there is space left, columns that can grow get it, from left to
/// right.
struct Column {
  std::string head;
  std::size_t width = 0;  ///< Minimum width.
  Align align = Align::kRight;
  int need = 0;  ///< 0: never left out.
  std::size_t max_width =
      0;  ///< Maximum width. If it is at most `width`, the column does not grow.
};

/// The contents of a row in one column: text, or a bar if `part` is not negative. `part` and `rest`
/// are shares from 0 to 1: the filled and the lighter part of the bar.
struct Cell {
  std::string text;
  Look look = Look::kPlain;
  double part = -1, rest = 0;
};

struct Table {
  /// The heading. It also says which ranks and times the table is for. Like all texts of a table,
  /// it may contain unprintable characters.
  std::string title;
  std::string none;  ///< The line that is shown if there are no rows.
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// These functions return the tables of the panes. A table has no rows if the answers for it are
/// missing.
Table functions_table(const TopAnswers& answers, const TopChoice& choice);
Table ranks_table(const TopAnswers& answers, const TopChoice& choice);
Table waits_table(const TopAnswers& answers, const TopChoice& choice);
Table tree_table(const TopAnswers& answers, const TopChoice& choice);
Table notices_table(const TopAnswers& answers, const TopChoice& choice);
Table pane_table(TopPane pane, const TopAnswers& answers, const TopChoice& choice);

/// Draws the title, the heads of the columns and the rows in `width` x `height` cells. Skips the
/// first `scroll` rows. If `height` is 0, draws all rows.
std::vector<Line> draw_table(const Table& table, std::size_t width, std::size_t height,
                             std::size_t scroll, bool utf8);

/// Returns a sentence that describes the overlay.
std::string tree_sentence(const storage::TreeReport& tree);

}  // namespace xylem::viz
