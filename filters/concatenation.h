#pragma once

// The fields of all leaves, in order of leaf ids: the flat gather.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace concatenation {
/// Takes any fields with smaller numbers. Field n of each leaf is a piece of the result's field n:
/// an array, in which a scalar is one element. (bytes stay bytes.)
constexpr wire::FieldNumber kFieldsEnd = 0x4000;
/// Result field kLengths + n: array of uint64, the number of elements in each piece of field n, in
/// the order of kLeaves; 0 for a leaf that did not send it.
constexpr wire::FieldNumber kLengths = 0x4000;
/// Array of uint64: the leaves that contributed, ascending.
constexpr wire::FieldNumber kLeaves = 0xffff;
}  // namespace concatenation

/// "concatenation". No parameters. Bit for bit, floating point too: nothing is computed.
///
/// Fails (lift) on field numbers from kFieldsEnd on, (merge) when leaves sent a field with
/// different types (a number and an array of the same type match), or when one leaf is in both
/// states. Its size grows with the leaves; the caller limits packets.
Result<std::shared_ptr<const Aggregation>> make_concatenation(const wire::Fields& parameters);

}  // namespace xylem::filters
