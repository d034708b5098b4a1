#pragma once

// Collects the fields of all leaves, in the order of leaf ids.

#include <memory>

#include "filters/aggregation.h"

namespace xylem::filters {

namespace concatenation {
/// Input: any fields; every field number must be below kFieldsEnd. Field n of the result is an
/// array with the elements of field n of all leaves. A number or a string counts as one element.
/// Fields of type bytes are joined to one field of type bytes.
constexpr wire::FieldNumber kFieldsEnd = 0x4000;
/// Field kLengths + n of the result is an array of uint64. For each leaf in kLeaves, it has the
/// number of elements that the leaf sent in field n. The number is 0 if the leaf did not send the
/// field.
constexpr wire::FieldNumber kLengths = 0x4000;
/// Array of uint64 in the result: the numbers of the leaves that contributed, ascending.
constexpr wire::FieldNumber kLeaves = 0xffff;
}  // namespace concatenation

/// Makes "concatenation". It has no parameters; any parameter fails with kInvalidArgument. The
/// result is always exact, because no number is computed.
///
/// lift() fails if a field number is kFieldsEnd or larger. merge() fails if leaves sent a field
/// with different types, or if a leaf is in both states. A number and an array of the same type may
/// be mixed. The size of a state grows with the number of leaves; the caller must limit the size of
/// packets.
Result<std::shared_ptr<const Aggregation>> make_concatenation(const wire::Fields& parameters);

}  // namespace xylem::filters
