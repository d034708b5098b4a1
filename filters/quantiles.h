#pragma once

// Quantiles of all values of all leaves, from a sketch of bounded relative error.
//
// Method: DDSketch (Masson, Rim, Lee: DDSketch: a fast and fully-mergeable quantile sketch with
// relative-error guarantees, VLDB 2019). For accuracy a let g = (1 + a) / (1 - a). A value x > 0
// counts in bucket i = ceil(log x / log g), which holds (g^(i-1), g^i]; 2 g^i / (g + 1) is within
// a x of each of them. Negative values have buckets of their own. Sketches merge by adding counts,
// so the sketch of all leaves is that of one flat gather, bit for bit, in any tree.
//
//   a = 0.01, values 1 2 3 4 100: buckets 0 35 55 70 231; the median, 3, is given as 2.97.
//
// Buckets are never joined to save memory. A sketch has at most one bucket per value, and at a =
// 0.01 about 115 for each factor of ten in the range of values.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace quantiles {
/// Parameter: float64, the relative accuracy a, from kMinAccuracy to kMaxAccuracy.
constexpr wire::FieldNumber kAccuracy = 1;
constexpr double kDefaultAccuracy = 0.01;
constexpr double kMinAccuracy = 1e-4;
constexpr double kMaxAccuracy = 0.5;
/// Parameter: array of float64 from 0 to 1, the quantiles to compute. Default: 0.5, 0.9, 0.99.
constexpr wire::FieldNumber kWanted = 2;

/// Takes a number, or an array of them: each element is a value. An integer counts as the nearest
/// float64; an absolute value below 2^-1022 counts as zero.
constexpr wire::FieldNumber kValue = 1;

// Gives (NaN for quantiles, minimum and maximum when there is no finite value):
constexpr wire::FieldNumber kQuantiles = 1;  ///< array of float64, one for each wanted
constexpr wire::FieldNumber kCount = 2;      ///< uint64: finite values. Exact.
constexpr wire::FieldNumber kMin = 3;        ///< float64: the least finite value. Exact.
constexpr wire::FieldNumber kMax = 4;        ///< float64: the greatest finite value. Exact.
constexpr wire::FieldNumber kNotFinite = 5;  ///< uint64: NaNs and infinities, otherwise ignored
}  // namespace quantiles

/// "quantiles". Of n finite values in ascending order, quantile q is the one with index floor(q (n
/// - 1)); the result is within a times its absolute value.
///
/// Fails (here) when the parameters are invalid, (lift) without field 1 or when it is not numeric,
/// (merge) when an argument is not a state.
///
/// On hosts with different mathematics libraries, a value at the edge of a bucket may count in
/// either neighbour; the accuracy holds in both.
Result<std::shared_ptr<const Aggregation>> make_quantiles(const wire::Fields& parameters);

}  // namespace xylem::filters
