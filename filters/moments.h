#pragma once

// Count, mean, variance, minimum and maximum of the leaves' values.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace moments {
// Input: one field. An integer counts as the nearest float64.
/// A number or an array of numbers. All leaves must send numbers, or all leaves must send arrays.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields. If the leaves sent numbers, the fields are numbers. If the leaves
// sent arrays, the fields are arrays and are computed element by element.
constexpr wire::FieldNumber kCount = 1;  ///< uint64: number of leaves that contributed. Exact.
constexpr wire::FieldNumber kMean = 2;   ///< float64
/// float64: population variance (divided by the count).
constexpr wire::FieldNumber kVariance = 3;
constexpr wire::FieldNumber kMin = 4;  ///< float64. Exact.
constexpr wire::FieldNumber kMax = 5;  ///< float64. Exact.
}  // namespace moments

/// Makes "moments". It has no parameters; any parameter fails with kInvalidArgument. lift() fails
/// if field kValue is missing or not numeric. merge() fails if one leaf sent a number and another
/// leaf an array, or if arrays have different lengths. If a leaf sends a NaN, mean, variance,
/// minimum and maximum are NaN. If a leaf sends an infinite value, the mean is infinite or NaN, and
/// the variance is NaN. This also holds if there is only one leaf.
///
/// Method: the update of Chan, Golub and LeVeque (1979). It extends Welford's method to any order
/// of merging. The state has the sum of squared differences from the mean, so two large sums are
/// never subtracted. So the variance is accurate even if it is small and the mean is large.
///
/// Error bounds: n is the number of leaves, M the largest absolute value, s the standard deviation,
/// and u = 2^-53. The error of the mean is at most 4 n u M. The error of the variance is at most 64
/// n u M (s + n u M). These bounds are valid for every tree and every order of merging.
Result<std::shared_ptr<const Aggregation>> make_moments(const wire::Fields& parameters);

}  // namespace xylem::filters
