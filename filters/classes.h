#pragma once

// Groups leaves into classes of equal value. For example, a tool asks ten thousand processes where
// they are and gets five answers.

#include <memory>
#include <vector>

#include "base/interval_set.h"
#include "filters/aggregation.h"

namespace xylem::filters {

namespace classes {
/// Takes an int64, uint64, float64 or string. For float64, -0 and 0 are different values; all NaNs
/// are the same. Encode a compound value as one string: for instance a stack, one line for each
/// frame.
constexpr wire::FieldNumber kValue = 1;

// Gives:
constexpr wire::FieldNumber kValues = 1;  ///< array of the type that was sent, ascending, each once
/// array of uint64: the number of intervals of leaves of each class. kFirsts and kEnds list the
/// intervals of class 0, then those of class 1 and so on.
constexpr wire::FieldNumber kIntervals = 2;
constexpr wire::FieldNumber kFirsts = 3;  ///< array of uint64: the first leaf of each interval
constexpr wire::FieldNumber kEnds = 4;    ///< array of uint64: one past its last leaf
}  // namespace classes

/// "classes". No parameters. Bit for bit.
///
/// Fails (lift) without field 1 or when it is of another type, (merge) when leaves sent different
/// types, or when one leaf is in both states. Its size grows with the classes and with their
/// intervals of leaves.
Result<std::shared_ptr<const Aggregation>> make_classes(const wire::Fields& parameters);

/// The leaves of each class of a result, in the order of classes::kValues. Fails with
/// kInvalidArgument when the fields are not a result of this filter.
Result<std::vector<IntervalSet>> leaves_of_classes(const wire::Fields& result);

}  // namespace xylem::filters
