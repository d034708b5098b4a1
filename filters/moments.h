#pragma once

// Count, mean, variance, minimum and maximum of the leaves' values.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace moments {
// Takes one field. An integer counts as the nearest float64.
constexpr wire::FieldNumber kValue = 1;  ///< A number or an array of them; all leaves alike.

// Gives these: numbers when numbers were sent, arrays (element by element) when arrays were.
constexpr wire::FieldNumber kCount = 1;  ///< uint64: leaves that contributed. Exact.
constexpr wire::FieldNumber kMean = 2;   ///< float64
constexpr wire::FieldNumber kVariance =
    3;                                 ///< float64: population variance (divided by the count).
constexpr wire::FieldNumber kMin = 4;  ///< float64. Exact.
constexpr wire::FieldNumber kMax = 5;  ///< float64. Exact.
}  // namespace moments

/// "moments". No parameters. Fails (lift) without field 1 or when it is not numeric, (merge) when
/// one leaf sent a number and another an array, or arrays of different lengths. A NaN or an
/// infinite value makes mean and variance NaN or infinite; a NaN also makes minimum and maximum
/// NaN.
///
/// Method: the update of Chan, Golub and LeVeque (1979), Welford's method for any order. It keeps
/// the sum of squares about the mean, never a difference of two large sums, so that a small
/// variance about a large mean stays accurate.
///
/// For n leaves with values of at most M in absolute value and standard deviation s, and u = 2^-53:
/// the mean is within 4 n u M, the variance within 64 n u M (s + n u M) of the exact ones, in any
/// tree and order.
Result<std::shared_ptr<const Aggregation>> make_moments(const wire::Fields& parameters);

}  // namespace xylem::filters
