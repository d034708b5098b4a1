#pragma once

// The largest values and the leaves that sent them.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace top {
/// Parameter: uint64 or int64 from 1 to kMaxHowMany. It is the maximum number of values in the
/// result.
constexpr wire::FieldNumber kHowMany = 1;
constexpr std::uint64_t kDefault = 10;
constexpr std::uint64_t kMaxHowMany = 65536;

/// Takes a number or an array of numbers. Each element is a value.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields, with at most kHowMany values, the largest first.
constexpr wire::FieldNumber kValues = 1;  ///< array of the type that was sent
constexpr wire::FieldNumber kLeaves = 2;  ///< array of uint64: the leaf that sent each value
/// array of uint64: the index of each value in its leaf's array
constexpr wire::FieldNumber kPositions = 3;
}  // namespace top

/// "top". The result is exact: it is identical in every tree and order. Equal values are ordered by
/// leaf, then by position.
///
/// make_top() fails if the parameter is invalid. lift() fails if field 1 is missing, is not numeric
/// or has a NaN. merge() fails if leaves sent different types. A number and an array of its type
/// match.
Result<std::shared_ptr<const Aggregation>> make_top(const wire::Fields& parameters);

}  // namespace xylem::filters
