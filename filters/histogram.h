#pragma once

// Counts how many values are between given bounds.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace histogram {
/// Parameter: the bounds, an array of at most kMaxBounds numbers of type float64, finite and
/// ascending. The bounds b0 < b1 < ... < bk make k + 2 buckets: [-inf, b0) [b0, b1) ... [bk, inf].
/// Default: 0 and the powers of two from 1 to 2^63.
constexpr wire::FieldNumber kGivenBounds = 1;
constexpr std::size_t kMaxBounds = 65536;

/// Input: a number or an array of numbers. Each element is a value.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields:
/// Array of uint64: the number of values in each bucket.
constexpr wire::FieldNumber kCounts = 1;
constexpr wire::FieldNumber kNotNumbers = 2;  ///< uint64: number of NaNs. They are in no bucket.
constexpr wire::FieldNumber kBounds = 3;      ///< Array of float64: the bounds.
}  // namespace histogram

/// Makes "histogram". The result is exact: it is identical in every tree and in every order of
/// merging. Integers are compared with the bounds exactly, without conversion to float64.
///
/// make_histogram() fails with kInvalidArgument if the bounds are invalid or there is another
/// parameter. lift() fails if field kValue is missing or not numeric. merge() fails if the states
/// have different numbers of buckets.
Result<std::shared_ptr<const Aggregation>> make_histogram(const wire::Fields& parameters);

}  // namespace xylem::filters
