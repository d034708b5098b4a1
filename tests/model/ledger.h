#pragma once

// What leaves have sent, what the store holds, and the comparison of both.

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

/// How the store holds a contribution.
struct Held {
  std::uint32_t as_data = 0;
  std::uint32_t as_tombstone = 0;
  std::uint64_t calls = 0;
};

/// What survives the front end: one for a run.
struct Holdings {
  std::map<Contribution, Held> contributions;
  std::set<LeafId> lost_hosts;  ///< Told to be gone for good, and not taken back.
};

/// Rules of the store that can be broken on purpose.
enum class StoreBreak { kNone, kNoDedupe, kForgetTombstone, kAckBeforeCommit };

/// A store that notes in `holdings` (borrowed) what `store` has taken, when it is committed.
std::unique_ptr<storage::Store> make_noting_store(std::unique_ptr<storage::Store> store,
                                                  Holdings& holdings, StoreBreak broken);

struct Comparison {
  std::uint64_t lost = 0;   ///< Sent and nowhere, or with other content.
  std::uint64_t twice = 0;  ///< Stored more than once, or stored and given up, or never sent.
  std::uint64_t given_up = 0;
  std::string first_fault;  ///< For people: the first of them.
};

/// A flat gather of what the leaf sent against what is held of it. Of a leaf that did not survive,
/// what is missing is no fault.
void compare(LeafId leaf, const std::map<backend::PacketKey, Sent>& sent, bool survived,
             const Holdings& holdings, Comparison& comparison);

}  // namespace xylem::model
