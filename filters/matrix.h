#pragma once

// The sum of sparse matrices: who sent how much to whom, for instance.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace matrix {
// Takes and gives three arrays of one length: an entry is a row, a column and a value.
constexpr wire::FieldNumber kRows = 1;     ///< array of uint64
constexpr wire::FieldNumber kColumns = 2;  ///< array of uint64
constexpr wire::FieldNumber kValues = 3;   ///< array of int64, uint64 or float64
}  // namespace matrix

/// "matrix". No parameters. A leaf may name a cell twice: its values are added. The result names
/// each cell once, by row and then by column; cells whose sum is zero too.
///
/// Bit for bit for integers, which wrap modulo 2^64; a cell of float64 as sums of float64 in
/// elementwise.h, n being the entries of that cell. Fails (lift) when a field is missing, of
/// another type or of another length, (merge) when leaves sent values of different types. Grows
/// with the cells.
Result<std::shared_ptr<const Aggregation>> make_matrix(const wire::Fields& parameters);

}  // namespace xylem::filters
