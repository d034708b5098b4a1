#pragma once

// A narrowing that divides arrays among the leaves, for example to distribute work. All other
// fields are sent to every leaf.

#include <memory>

#include "filters/narrowing.h"

namespace xylem::filters {

namespace scatter {
/// Parameter: array of uint64, the numbers of the fields to divide. Every leaf gets all other
/// fields whole, even if they are arrays. Default: every array is divided.
constexpr wire::FieldNumber kCut = 1;
}  // namespace scatter

/// Makes "scatter". It divides an array of n elements among c leaves. Each leaf gets floor(n / c)
/// elements, and the first n mod c leaves get one more. The parts are consecutive: the first leaf
/// gets the first elements, the second leaf the next, and so on. So the aggregation "concatenation"
/// restores the array. If n < c, the last leaves get an empty array. Numbers, strings and bytes are
/// never divided.
///
/// make_scatter() fails with kInvalidArgument if the parameter is invalid or an empty array, or if
/// there is another parameter. narrow() fails if a field listed in the parameter is missing or is
/// not an array. narrow() copies the leaf's part once.
Result<std::shared_ptr<const Narrowing>> make_scatter(const wire::Fields& parameters);

}  // namespace xylem::filters
