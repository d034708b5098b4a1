#pragma once

// The largest values and the leaves that sent them.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace top {
/// Parameter: uint64 or int64 from 1 to kMaxHowMany, the number of values.
constexpr wire::FieldNumber kHowMany = 1;
constexpr std::uint64_t kDefault = 10;
constexpr std::uint64_t kMaxHowMany = 65536;

/// Takes a number, or an array of them: each element is a value.
constexpr wire::FieldNumber kValue = 1;

// Gives at most that many, the largest first.
constexpr wire::FieldNumber kValues = 1;     ///< array of the type that was sent
constexpr wire::FieldNumber kLeaves = 2;     ///< array of uint64: the leaf of each
constexpr wire::FieldNumber kPositions = 3;  ///< array of uint64: its index in that leaf's array
}  // namespace top

/// "top". Bit for bit. Equal values are ordered by leaf, then by position.
///
/// Fails (here) when the parameter is invalid, (lift) without field 1, when it is not numeric or
/// has a NaN, (merge) when leaves sent different types. A number and an array of its type match.
Result<std::shared_ptr<const Aggregation>> make_top(const wire::Fields& parameters);

}  // namespace xylem::filters
