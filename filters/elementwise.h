#pragma once

// Sum, minimum and maximum of each field, and the number of leaves.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

/// "sum", "min", "max". No parameters.
///
/// Takes any fields that are int64, uint64, float64 or arrays of them, and gives the same fields,
/// arrays element by element. A leaf need not send every field; missing fields are ignored. Fails
/// (lift) on other types, (merge) when two leaves sent a field as different types, one as a number
/// and one as an array, or as arrays of different lengths. A field that only one state has is
/// passed on without a check, even if a faulty peer sent it with another type.
///
/// Integers: bit for bit. Sums wrap modulo 2^64, as a flat sum in the same type would; send float64
/// to avoid it. min and max of float64: bit for bit, -0 is less than +0. A NaN that any leaf sent
/// makes the result NaN.
///
/// Sums of n values of float64: within (n - 1) 2^-53 times the sum of their absolute values, when
/// no sum of some of them leaves the range of float64; else infinite or NaN.
Result<std::shared_ptr<const Aggregation>> make_sum(const wire::Fields& parameters);
Result<std::shared_ptr<const Aggregation>> make_min(const wire::Fields& parameters);
Result<std::shared_ptr<const Aggregation>> make_max(const wire::Fields& parameters);

/// "count": the leaves that contributed. No parameters. Takes any fields and ignores them. Exact.
Result<std::shared_ptr<const Aggregation>> make_count(const wire::Fields& parameters);

namespace count {
constexpr wire::FieldNumber kLeaves = 1;  ///< uint64
}

}  // namespace xylem::filters
