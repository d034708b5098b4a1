#pragma once

// The fields of all leaves, in the order of leaf ids.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace concatenation {
/// Takes any fields with numbers below this one. Field n of the result is an array that joins the
/// fields n of all leaves; a scalar counts as one element. (A value of type bytes stays bytes.)
constexpr wire::FieldNumber kFieldsEnd = 0x4000;
/// Result field kLengths + n: array of uint64. It holds the number of elements of field n from each
/// leaf, in the order of kLeaves; 0 for a leaf that did not send the field.
constexpr wire::FieldNumber kLengths = 0x4000;
/// Array of uint64: the leaves that contributed, ascending.
constexpr wire::FieldNumber kLeaves = 0xffff;
}  // namespace concatenation

/// "concatenation". No parameters. The result is exact, also for floating point, because nothing is
/// computed.
///
/// lift fails on field numbers from kFieldsEnd on. merge fails if leaves sent a field with
/// different types (a number and an array of the same type match) or if a leaf is in both states.
/// The size of a state grows with the number of leaves; the caller limits the size of packets.
Result<std::shared_ptr<const Aggregation>> make_concatenation(const wire::Fields& parameters);

}  // namespace xylem::filters
