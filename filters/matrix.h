#pragma once

// The sum of sparse matrices. For example, a matrix has the bytes sent between ranks.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace matrix {
// Input and result are three arrays of equal length. Each entry has a row, a column and a value.
constexpr wire::FieldNumber kRows = 1;     ///< array of uint64
constexpr wire::FieldNumber kColumns = 2;  ///< array of uint64
constexpr wire::FieldNumber kValues = 3;   ///< array of int64, uint64 or float64
}  // namespace matrix

/// Makes "matrix". It has no parameters; any parameter fails with kInvalidArgument. If a leaf sends
/// several entries for a cell, the values are added. The result has each cell once, ordered by row
/// and then by column. Cells with the sum zero are included.
///
/// Results of integers are exact and wrap modulo 2^64. The error of a float64 cell with n entries
/// is at most (n - 1) 2^-53 times the sum of the entries' absolute values. lift() fails if a field
/// is missing or has the wrong type or length. merge() fails if leaves sent values of different
/// types. The size of a state grows with the number of cells.
Result<std::shared_ptr<const Aggregation>> make_matrix(const wire::Fields& parameters);

}  // namespace xylem::filters
