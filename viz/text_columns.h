#pragma once

// Aligned columns of text under names, for people.

#include <cstddef>
#include <string>
#include <vector>

namespace xylem::viz {

/// Rows of cells; numbers stand right. A cell longer than 200 bytes sticks out, so that one long
/// text does not make each line as long.
class TextColumns {
 public:
  struct Head {
    const char* name;
    bool is_right = false;
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
