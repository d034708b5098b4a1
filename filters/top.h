#pragma once

// The largest values and the leaves that sent them.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace top {
/// Parameter: the maximum number of values in the result, a uint64 or int64 from 1 to kMaxHowMany.
/// Default: kDefault.
constexpr wire::FieldNumber kHowMany = 1;
constexpr std::uint64_t kDefault = 10;
constexpr std::uint64_t kMaxHowMany = 65536;

/// Input: a number or an array of numbers. Each element is a value.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields, with at most kHowMany values, the largest first.
constexpr wire::FieldNumber kValues = 1;  ///< Array of the type that was sent.
/// Array of uint64: for each value, the leaf that sent the value.
constexpr wire::FieldNumber kLeaves = 2;
/// Array of uint64: for each value, the index in the array that the leaf sent.
constexpr wire::FieldNumber kPositions = 3;
}  // namespace top

/// Makes "top". The result is exact: it is identical in every tree and in every order of merging.
/// Equal values are ordered by leaf, then by position.
///
/// make_top() fails with kInvalidArgument if a parameter is invalid or unknown. lift() fails if
/// field kValue is missing, is not numeric or has a NaN. merge() fails if leaves sent different
/// types. A number and an array of the same type may be mixed.
Result<std::shared_ptr<const Aggregation>> make_top(const wire::Fields& parameters);

}  // namespace xylem::filters
