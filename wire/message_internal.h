#pragma once

// Converts messages to and from their Cap'n Proto schema, without frames.

#include "wire/message.h"
#include "xylem.capnp.h"

namespace xylem::wire::internal {

void write_message(const Message& message, schema::Message::Builder out);
void write_message(const Packet& packet, schema::Message::Builder out);

/// Throws Malformed on contents that our senders never write.
Message read_message(schema::Message::Reader in);

}  // namespace xylem::wire::internal
