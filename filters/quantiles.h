#pragma once

// Estimates quantiles of all values of all leaves, with a bounded relative error.
//
// Method: DDSketch (Masson, Rim, Lee: DDSketch: a fast and fully-mergeable quantile sketch with
// relative-error guarantees, VLDB 2019). For accuracy a, let g = (1 + a) / (1 - a). A value x > 0
// counts in bucket i = ceil(log x / log g), that is, in the interval (g^(i-1), g^i]. Each value in
// the bucket is estimated as 2 g^i / (g + 1); the error is at most a x. Negative values have their
// own buckets. Two sketches are merged by adding the counts of each bucket. So the sketch of all
// leaves is exactly the same in every tree.
//
// Example: a = 0.01, and the values are 1 2 3 4 100. They are in the buckets 0 35 55 70 231. The
// median is 3, and its estimate is 2.97.
//
// Buckets are never joined to save memory. The number of buckets is at most the number of values.
// With a = 0.01, there are at most about 115 buckets for each factor of ten between the smallest
// and the largest value.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace quantiles {
/// Parameter: float64, the relative accuracy a, from kMinAccuracy to kMaxAccuracy. Default:
/// kDefaultAccuracy.
constexpr wire::FieldNumber kAccuracy = 1;
constexpr double kDefaultAccuracy = 0.01;
constexpr double kMinAccuracy = 1e-4;
constexpr double kMaxAccuracy = 0.5;
/// Parameter: the quantiles to compute, an array of float64 from 0 to 1. Default: 0.5, 0.9, 0.99.
constexpr wire::FieldNumber kWanted = 2;

/// Input: a number or an array of numbers. Each element is a value. An integer counts as the
/// nearest float64. An absolute value below 2^-1022 counts as zero.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields. Quantiles, minimum and maximum are NaN if there is no finite value.
constexpr wire::FieldNumber kQuantiles = 1;  ///< Array of float64, one for each element of kWanted.
constexpr wire::FieldNumber kCount = 2;      ///< uint64: number of finite values. Exact.
constexpr wire::FieldNumber kMin = 3;        ///< float64: smallest finite value. Exact.
constexpr wire::FieldNumber kMax = 4;        ///< float64: largest finite value. Exact.
/// uint64: number of NaNs and infinities. The other fields ignore them.
constexpr wire::FieldNumber kNotFinite = 5;
}  // namespace quantiles

/// Makes "quantiles". The n finite values are sorted in ascending order and numbered from 0.
/// Quantile q is the value with the number floor(q (n - 1)). The error of the result is at most a
/// times the absolute value of the quantile.
///
/// make_quantiles() fails with kInvalidArgument if a parameter is invalid or unknown. lift() fails
/// if field kValue is missing or not numeric. merge() fails if an argument is not a state.
///
/// If hosts have different mathematics libraries, a value at the edge of a bucket may count in the
/// neighbouring bucket. The error bound is valid for both buckets.
Result<std::shared_ptr<const Aggregation>> make_quantiles(const wire::Fields& parameters);

}  // namespace xylem::filters
