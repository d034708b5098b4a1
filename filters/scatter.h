#pragma once

// Arrays are cut among the leaves, all else goes to each of them: a multicast of work.

#include <memory>

#include "filters/narrowing.h"

namespace xylem::filters {

namespace scatter {
/// Parameter: array of uint64, the numbers of the fields that are cut; others go whole to every
/// leaf, arrays too. Without it every array is cut.
constexpr wire::FieldNumber kCut = 1;
}  // namespace scatter

/// "scatter". Of an array of n elements the leaf at position p of c gets one unbroken run: n / c of
/// them, and one more where p < n mod c, behind the runs of those before it. So the runs of all, in
/// the order of leaf ids, are the array (what "concatenation" gives back), and no two differ by
/// more than one. Where n < c the last leaves get an empty array. Numbers, strings and bytes are
/// never cut.
///
/// Fails (here) when the parameter is not as said, or names no field, (narrow) when a field that it
/// names is missing or is no array. Costs a copy of what the leaf gets.
Result<std::shared_ptr<const Narrowing>> make_scatter(const wire::Fields& parameters);

}  // namespace xylem::filters
