#pragma once

// Divides arrays among the leaves, to distribute work. All other fields go to every leaf.

#include <memory>

#include "filters/narrowing.h"

namespace xylem::filters {

namespace scatter {
/// Parameter: array of uint64, the numbers of the fields to cut. All other fields, also arrays, go
/// whole to every leaf. Default: every array is cut.
constexpr wire::FieldNumber kCut = 1;
}  // namespace scatter

/// "scatter". An array of n elements is divided among c leaves. The leaf at position p gets n / c
/// consecutive elements, and one more if p < n mod c. They follow the elements of the positions
/// before it. So the parts in the order of leaf ids make up the array ("concatenation" restores
/// it), and their lengths differ by at most one. If n < c, the last leaves get an empty array.
/// Numbers, strings and bytes are never cut.
///
/// make_scatter() fails if the parameter is invalid or an empty array. narrow fails if a field of
/// the parameter is missing or is not an array. Copies the leaf's part once.
Result<std::shared_ptr<const Narrowing>> make_scatter(const wire::Fields& parameters);

}  // namespace xylem::filters
