#pragma once

// Definitions as a part of a registration.

#include <cstddef>

#include "wire/definitions.h"
#include "xylem.capnp.h"

namespace xylem::wire::internal {

/// A guess of the size, see encode_flat().
std::size_t definition_words(const Definitions& definitions);
void write_definitions(const Definitions& definitions, schema::Definitions::Builder out);
/// `size` is the size of the whole message. Throws Malformed like the readers in registration.cc.
Definitions read_definitions(schema::Definitions::Reader in, std::size_t size);

}  // namespace xylem::wire::internal
