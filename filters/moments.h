#pragma once

// Count, mean, variance, minimum and maximum of the leaves' values.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace moments {
// Takes one field. An integer counts as the nearest float64.
/// A number or an array of numbers; all leaves send the same kind.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields. If the leaves sent numbers, the fields are numbers. If the leaves
// sent arrays, the fields are arrays and are computed element by element.
constexpr wire::FieldNumber kCount = 1;  ///< uint64: leaves that contributed. Exact.
constexpr wire::FieldNumber kMean = 2;   ///< float64
/// float64: population variance (divided by the count).
constexpr wire::FieldNumber kVariance = 3;
constexpr wire::FieldNumber kMin = 4;  ///< float64. Exact.
constexpr wire::FieldNumber kMax = 5;  ///< float64. Exact.
}  // namespace moments

/// "moments". No parameters. lift() fails if field 1 is missing or not numeric. merge() fails if
/// one leaf sent a number and another leaf an array, or if arrays have different lengths. A NaN or
/// an infinite value makes mean and variance NaN or infinite. A NaN also makes minimum and maximum
/// NaN.
///
/// Method: the update of Chan, Golub and LeVeque (1979). It extends Welford's method to any order
/// of merging. The state has the sum of squares about the mean, so two large sums are never
/// subtracted. A small variance about a large mean stays accurate.
///
/// Error bounds: let n be the number of leaves, M the largest absolute value, s the standard
/// deviation, and u = 2^-53. The error of the mean is at most 4 n u M. The error of the variance is
/// at most 64 n u M (s + n u M). These bounds are valid for any tree and order.
Result<std::shared_ptr<const Aggregation>> make_moments(const wire::Fields& parameters);

}  // namespace xylem::filters
