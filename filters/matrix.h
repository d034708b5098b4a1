#pragma once

// The sum of sparse matrices: for instance the bytes sent between ranks.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace matrix {
// Takes and gives three arrays of equal length: an entry is a row, a column and a value.
constexpr wire::FieldNumber kRows = 1;     ///< array of uint64
constexpr wire::FieldNumber kColumns = 2;  ///< array of uint64
constexpr wire::FieldNumber kValues = 3;   ///< array of int64, uint64 or float64
}  // namespace matrix

/// "matrix". No parameters. A leaf may name a cell twice: its values are added. The result names
/// each cell once, by row and then by column, including cells whose sum is zero.
///
/// Bit for bit for integers, which wrap modulo 2^64; a cell of float64 has the bound of sums in
/// elementwise.h, with n the number of its entries. Fails (lift) when a field is missing or has the
/// wrong type or length, (merge) when leaves sent values of different types. Its size grows with
/// the cells.
Result<std::shared_ptr<const Aggregation>> make_matrix(const wire::Fields& parameters);

}  // namespace xylem::filters
