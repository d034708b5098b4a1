#pragma once

// Divides arrays among the leaves and sends all other fields to each of them, to distribute work.

#include <memory>

#include "filters/narrowing.h"

namespace xylem::filters {

namespace scatter {
/// Parameter: array of uint64, the numbers of the fields to cut; all others go whole to every leaf,
/// arrays too. Default: every array is cut.
constexpr wire::FieldNumber kCut = 1;
}  // namespace scatter

/// "scatter". The leaf at position p of c gets consecutive elements of an array of n: n / c of
/// them, and one more if p < n mod c, after those of the positions before it. So the parts in the
/// order of leaf ids make up the array ("concatenation" restores it), and their lengths differ by
/// at most one. If n < c, the last leaves get an empty array. Numbers, strings and bytes are never
/// cut.
///
/// Fails (here) when the parameter is invalid or names no field, (narrow) when a field that it
/// names is missing or not an array. Copies the leaf's part once.
Result<std::shared_ptr<const Narrowing>> make_scatter(const wire::Fields& parameters);

}  // namespace xylem::filters
