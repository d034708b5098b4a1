#pragma once

// Count, mean, variance, least and greatest of what the leaves sent.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace moments {
// Takes one field. Any integer is counted as the nearest float64.
constexpr wire::FieldNumber kValue = 1;  ///< A number or an array of them; all leaves alike.

// Gives these: numbers when numbers were sent, arrays (element by element) when arrays were.
constexpr wire::FieldNumber kCount = 1;     ///< uint64: leaves that contributed. Exact.
constexpr wire::FieldNumber kMean = 2;      ///< float64
constexpr wire::FieldNumber kVariance = 3;  ///< float64: of the whole (divided by the count).
constexpr wire::FieldNumber kMin = 4;       ///< float64. Exact.
constexpr wire::FieldNumber kMax = 5;       ///< float64. Exact.
}  // namespace moments

/// "moments". No parameters. Fails (lift) without field 1 or when it holds no number, (merge) when
/// one leaf sent a number and another an array, or arrays of different lengths. A NaN or an
/// infinite value makes mean and variance NaN or infinite; a NaN also makes least and greatest NaN.
///
/// Method: the update of Chan, Golub and LeVeque (1979), as Welford's without the order. The sum of
/// squares about the mean is kept, never a difference of two large sums, so that a small variance
/// about a large mean is right.
///
/// For n leaves with values of at most M in absolute value and standard deviation s, and u = 2^-53:
/// the mean is within 4 n u M, the variance within 64 n u M (s + n u M) of the exact ones, in any
/// tree and order.
Result<std::shared_ptr<const Aggregation>> make_moments(const wire::Fields& parameters);

}  // namespace xylem::filters
