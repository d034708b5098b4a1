#pragma once

// Accounts as the payloads of windows and of tombstones carry them.

#include <cstddef>

#include "wire/flat_internal.h"
#include "wire/profile.h"
#include "xylem.capnp.h"

namespace xylem::wire::internal {

/// About how many words an account takes in a list.
std::size_t guess_words(const AccountRow& row);
void write(const AccountRow& row, schema::AccountRow::Builder out);
/// Both throw Malformed. `size`: the bytes of the whole payload.
void read(schema::AccountRow::Reader in, std::size_t size, AccountRow& row);
std::vector<AccountRow> read_accounts(capnp::List<schema::AccountRow>::Reader in, std::size_t size);

/// Throws Malformed for lane 0.
Lane process_lane(std::uint32_t lane);

}  // namespace xylem::wire::internal
