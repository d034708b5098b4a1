#pragma once

// Collects the fields of all leaves, in the order of leaf ids.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace concatenation {
/// Takes any fields with numbers below kFieldsEnd. Field n of the result is an array with the
/// elements of field n of all leaves. A number or a string counts as one element. Fields of type
/// bytes are joined to one field of type bytes.
constexpr wire::FieldNumber kFieldsEnd = 0x4000;
/// Field kLengths + n of the result is an array of uint64. It has, for each leaf in kLeaves, the
/// number of elements of its field n. The number is 0 if the leaf did not send the field.
constexpr wire::FieldNumber kLengths = 0x4000;
/// Array of uint64 in the result: the leaves that contributed, ascending.
constexpr wire::FieldNumber kLeaves = 0xffff;
}  // namespace concatenation

/// "concatenation". No parameters. The result is always exact, because nothing is computed.
///
/// lift() fails on field numbers from kFieldsEnd on. merge() fails if leaves sent a field with
/// different types, or if a leaf is in both states. A number and an array of its type match. The
/// size of a state grows with the number of leaves; the caller must limit the size of packets.
Result<std::shared_ptr<const Aggregation>> make_concatenation(const wire::Fields& parameters);

}  // namespace xylem::filters
