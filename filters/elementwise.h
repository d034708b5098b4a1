#pragma once

// Sum, minimum and maximum of each field, and the number of leaves.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

/// These functions make "sum", "min" and "max". They have no parameters; any parameter fails with
/// kInvalidArgument.
///
/// Input: any fields of type int64, uint64 or float64, or arrays of these types. The result has the
/// same fields. Arrays are computed element by element. A leaf need not send every field; missing
/// fields are ignored.
///
/// lift() fails if a field has another type. merge() fails if two leaves sent the same field with
/// different types, as arrays of different lengths, or as a number and an array. merge() does not
/// check a field that only one of the two states has.
///
/// Results of integers are exact: they are identical in every tree and in every order of merging.
/// Integer sums wrap modulo 2^64; send float64 to avoid this. Minimum and maximum of float64 are
/// also exact; -0 is less than +0. If a leaf sent a NaN, the result is NaN.
///
/// The error of a sum of n float64 values is at most (n - 1) 2^-53 times the sum of their absolute
/// values. If a partial sum is outside the range of float64, the result is infinite or NaN.
Result<std::shared_ptr<const Aggregation>> make_sum(const wire::Fields& parameters);
Result<std::shared_ptr<const Aggregation>> make_min(const wire::Fields& parameters);
Result<std::shared_ptr<const Aggregation>> make_max(const wire::Fields& parameters);

/// Makes "count": the number of leaves that contributed. It has no parameters; any parameter fails
/// with kInvalidArgument. Input: any fields; they are ignored. The result is exact.
Result<std::shared_ptr<const Aggregation>> make_count(const wire::Fields& parameters);

namespace count {
constexpr wire::FieldNumber kLeaves = 1;  ///< uint64
}

}  // namespace xylem::filters
