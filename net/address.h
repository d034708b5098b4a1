#pragma once

// Parses the addresses and the key that programs receive.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/key.h"
#include "wire/message.h"

namespace xylem::net {

/// Parses a list of addresses, for example "unix:/dev/shm/x/socket,10.0.0.1:4711,[fe80::1]:4711".
/// Keeps the order. Hosts must be numeric; this is not checked here. Fails with kInvalidArgument if
/// the list is empty or an item is neither HOST:PORT nor unix:PATH.
Result<std::vector<wire::Address>> parse_addresses(std::string_view text);

/// Returns "10.0.0.1:4711" or "[fe80::1]:4711". parse_addresses() reads this form.
std::string address_text(std::string_view host, std::uint16_t port);

/// Reads the key from a descriptor until end of file. Closes the descriptor. Fails with
/// kInvalidArgument if the text is not a key.
Result<Key> read_key(int fd);

/// Reads the key from XYLEM_KEY and removes the variable, so that child processes do not get the
/// key. Also removes the key from the memory that /proc/PID/environ shows. Fails with
/// kInvalidArgument if the variable is not set or is not a key. The variable is removed in this
/// case too.
Result<Key> take_key_from_environment();

}  // namespace xylem::net
