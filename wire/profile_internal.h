#pragma once

// Reads and writes account rows in the payloads of windows and of tombstones.

#include <cstddef>

#include "wire/flat_internal.h"
#include "wire/profile.h"
#include "xylem.capnp.h"

namespace xylem::wire::internal {

/// Estimates the number of words of an account in a list.
std::size_t guess_words(const AccountRow& row);
void write(const AccountRow& row, schema::AccountRow::Builder out);
/// The next two functions throw Malformed. `size` is the number of bytes of the whole payload.
void read(schema::AccountRow::Reader in, std::size_t size, AccountRow& row);
std::vector<AccountRow> read_accounts(capnp::List<schema::AccountRow>::Reader in, std::size_t size);

/// Throws Malformed for lane 0.
Lane process_lane(std::uint32_t lane);

}  // namespace xylem::wire::internal
