#pragma once

// The greatest values, and which leaves sent them.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace top {
/// Parameter: uint64 or int64 from 1 to kMost: how many.
constexpr wire::FieldNumber kHowMany = 1;
constexpr std::uint64_t kDefault = 10;
constexpr std::uint64_t kMost = 65536;

/// Takes a number, or an array of them: each element is a value.
constexpr wire::FieldNumber kValue = 1;

// Gives as many as were asked for, or fewer when there are fewer; the greatest first.
constexpr wire::FieldNumber kValues = 1;     ///< array of the type that was sent
constexpr wire::FieldNumber kLeaves = 2;     ///< array of uint64: the leaf of each
constexpr wire::FieldNumber kPositions = 3;  ///< array of uint64: its index in that leaf's array
}  // namespace top

/// "top". Bit for bit. Of equal values that of the smaller leaf comes first, then that of the
/// smaller position.
///
/// Fails (here) when the parameter is not as said, (lift) without field 1, when it holds no numbers
/// or a NaN, (merge) when leaves sent different types. A number and an array of its type do fit.
Result<std::shared_ptr<const Aggregation>> make_top(const wire::Fields& parameters);

}  // namespace xylem::filters
