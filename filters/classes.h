#pragma once

// Groups leaves that sent equal values into classes. For example, a tool asks ten thousand
// processes for their position in the program, and gets five classes.

#include <memory>
#include <vector>

#include "base/interval_set.h"
#include "filters/aggregation.h"

namespace xylem::filters {

namespace classes {
/// Input: an int64, uint64, float64 or string. For float64, -0 and 0 are different values, and all
/// NaNs are the same value. Encode a compound value as one string: for example, a stack with one
/// line for each frame.
constexpr wire::FieldNumber kValue = 1;

// The result has these fields:
/// Array of the type that was sent: each value once, ascending.
constexpr wire::FieldNumber kValues = 1;
/// Array of uint64: for each class, the number of intervals of leaves. kFirsts and kEnds list the
/// intervals of all classes, one class after another.
constexpr wire::FieldNumber kIntervals = 2;
constexpr wire::FieldNumber kFirsts = 3;  ///< Array of uint64: the first leaf of each interval.
/// Array of uint64: for each interval, the number of the last leaf plus 1.
constexpr wire::FieldNumber kEnds = 4;
}  // namespace classes

/// Makes "classes". It has no parameters; any parameter fails with kInvalidArgument. The result is
/// exact: it is identical in every tree and in every order of merging.
///
/// lift() fails if field kValue is missing or has another type. merge() fails if leaves sent
/// different types, or if a leaf is in both states. The size of a state grows with the number of
/// classes and with the number of intervals.
Result<std::shared_ptr<const Aggregation>> make_classes(const wire::Fields& parameters);

/// Returns the leaves of each class of a result, in the order of classes::kValues. Fails with
/// kInvalidArgument if the fields are not a result of this filter.
Result<std::vector<IntervalSet>> leaves_of_classes(const wire::Fields& result);

}  // namespace xylem::filters
