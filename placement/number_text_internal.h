#pragma once

// Formats numbers and tables for explanations.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::placement {

/// Returns a number with four decimal places: "0.6370".
std::string fixed(double number);

/// Returns a number with two decimal places: "0.64".
std::string two_places(double number);

/// Returns the shortest text from which the same number can be read: "0.25", "1000".
std::string shortest(double number);

/// A table of text. There are two blanks between columns. The first column is left-aligned, all
/// others are right-aligned. Lines have no blanks at the end. Rows may have different lengths. Not
/// thread-safe.
class Table {
 public:
  /// `least` is the minimum width of all columns except the first.
  explicit Table(std::size_t least = 0) : least_(least) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Prints the table with `indent` before each line.
  std::string print(const std::string& indent = "") const;

 private:
  std::size_t least_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace xylem::placement
