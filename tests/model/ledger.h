#pragma once

// Compares the contributions that leaves have sent with those that the store has.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/leaf/journal.h"
#include "base/ids.h"
#include "storage/write/store.h"
#include "wire/packet.h"

namespace xylem::model {

/// One contribution of one leaf.
struct Contribution {
  LeafId leaf{};
  backend::PacketKey key;
  auto operator<=>(const Contribution&) const = default;
};

/// A contribution as a leaf has journalled it.
struct Sent {
  std::uint64_t calls = 0;
};

/// The forms in which the store has a contribution.
struct Held {
  std::uint32_t as_data = 0;
  std::uint32_t as_tombstone = 0;
  std::uint64_t calls = 0;
};

/// The contents of the store of a run. They survive front ends.
struct Holdings {
  std::map<Contribution, Held> contributions;
  std::set<LeafId> lost_hosts;  ///< Hosts that were reported as lost and not found again.
};

/// Rules of the store that can be broken on purpose.
enum class StoreBreak { kNone, kNoDedupe, kForgetTombstone, kAckBeforeCommit };

/// Makes a store that forwards to `store` and, at each commit, notes the accepted contributions in
/// `holdings` (borrowed).
std::unique_ptr<storage::Store> make_noting_store(std::unique_ptr<storage::Store> store,
                                                  Holdings& holdings, StoreBreak broken);

struct Comparison {
  /// Contributions that were sent and are not stored, or stored with other content.
  std::uint64_t lost = 0;
  /// Contributions that are stored more than once, or both stored and given up, or that were never
  /// sent.
  std::uint64_t twice = 0;
  std::uint64_t given_up = 0;
  std::string first_fault;  ///< A sentence about the first mistake, for people.
};

/// Compares the contributions that a leaf has sent with those in the store. If the leaf did not
/// survive, missing contributions are no fault.
void compare(LeafId leaf, const std::map<backend::PacketKey, Sent>& sent, bool survived,
             const Holdings& holdings, Comparison& comparison);

}  // namespace xylem::model
