#pragma once

// Numbers and tables as explanations print them.

#include <cstdint>
#include <string>
#include <vector>

namespace xylem::placement {

/// Four places behind the point: "0.6370".
std::string fixed(double number);

/// Two places: "0.64".
std::string two_places(double number);

/// As few digits as read back to the same number: "0.25", "1000".
std::string shortest(double number);

/// Rows of cells, printed in columns two blanks apart: the first column to the left, all others to
/// the right, no blank at the end of a line. Rows may be of different length.
class Table {
 public:
  /// No column but the first is narrower than `least`.
  explicit Table(std::size_t least = 0) : least_(least) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Each line behind `indent`.
  std::string print(const std::string& indent = "") const;

 private:
  std::size_t least_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace xylem::placement
