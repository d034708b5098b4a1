#pragma once

// Recognises duplicate notices. A process resends notices that a dying parent may have lost
// (notice_board.h). So some notices arrive twice, by different paths and in any order.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>

#include "wire/message.h"

namespace xylem::overlay {

/// Remembers the identities of the newest kKnown notices. Does no I/O. Not thread-safe. A duplicate
/// that comes after kKnown other notices counts as new, so this notice is shown twice.
class KnownNotices {
 public:
  static constexpr std::size_t kKnown = 4096;

  /// Remembers the notice. Returns true if it is new. A notice without a number comes from an older
  /// peer and is always new.
  bool add(const wire::Notice& notice);

 private:
  using Name = std::tuple<std::string, std::uint32_t, std::uint64_t>;  // Host, pid, number.
  std::set<Name> names_;
  std::deque<std::set<Name>::const_iterator> in_order_;  // Oldest first.
};

}  // namespace xylem::overlay
