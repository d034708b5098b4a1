#pragma once

// Which notices have come already. A process sends again what a dying parent may have lost (see
// notice_board.h), so some come twice, and by different ways in any order.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>

#include "wire/message.h"

namespace xylem::overlay {

/// The names of the newest kKnown notices. Pure; one thread. A duplicate that comes after kKnown
/// others passes for new: it is shown twice, which is better than once too few.
class KnownNotices {
 public:
  static constexpr std::size_t kKnown = 4096;

  /// True when it has not come before; it is known from now on. A notice without a number, which
  /// older peers send, is always new.
  bool add(const wire::Notice& notice);

 private:
  using Name = std::tuple<std::string, std::uint32_t, std::uint64_t>;  // Host, pid, number.
  std::set<Name> names_;
  std::deque<std::set<Name>::const_iterator> in_order_;  // Oldest first.
};

}  // namespace xylem::overlay
