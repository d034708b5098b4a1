#pragma once

// The number of values between given bounds.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace histogram {
/// Parameter: array of float64, finite, ascending, at most kMaxBounds. Bounds b0 < b1 < ... make
/// the buckets (-inf, b0) [b0, b1) ... [bk, inf): one more than there are bounds. Default: 0 and
/// the powers of two from 1 to 2^63.
constexpr wire::FieldNumber kGivenBounds = 1;
constexpr std::size_t kMaxBounds = 65536;

/// Takes a number, or an array of them: each element is a value.
constexpr wire::FieldNumber kValue = 1;

// Gives:
constexpr wire::FieldNumber kCounts = 1;      ///< array of uint64: values in each bucket
constexpr wire::FieldNumber kNotNumbers = 2;  ///< uint64: NaNs; they are in no bucket
constexpr wire::FieldNumber kBounds = 3;      ///< array of float64: the bounds
}  // namespace histogram

/// "histogram". Bit for bit. An integer is compared with a bound exactly, not as a float64.
///
/// Fails (here) when the bounds are invalid, (lift) without field 1 or when it is not numeric,
/// (merge) when the states have different numbers of buckets.
Result<std::shared_ptr<const Aggregation>> make_histogram(const wire::Fields& parameters);

}  // namespace xylem::filters
