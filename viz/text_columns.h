#pragma once

// Aligned columns of text under names, for people.

#include <cstddef>
#include <string>
#include <vector>

namespace xylem::viz {

/// Rows of cells in columns. A column is at most 200 bytes wide. A longer cell makes only its own
/// line longer. Not thread-safe.
class TextColumns {
 public:
  struct Head {
    const char* name;
    bool is_right = false;  ///< True to align the cells to the right, as for numbers.
  };
  /// Each line begins with `indent` blanks.
  explicit TextColumns(std::vector<Head> heads, std::size_t indent = 2);

  /// `row` has a cell for each head. The cells must be printable (base/printable_text.h).
  void add(std::vector<std::string> row);

  /// The names, then the rows. Lines have no blanks at the end.
  std::string text() const;

 private:
  std::string line(const std::vector<std::string>& cells) const;

  std::vector<Head> heads_;
  std::size_t indent_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace xylem::viz
