#include "overlay/credits.h"

#include <algorithm>
#include <variant>

namespace xylem::overlay {

bool is_data(const wire::Message& message) {
  return std::holds_alternative<wire::Packet>(message) ||
         std::holds_alternative<wire::Multicast>(message);
}

void SendCredit::set_granted(std::uint64_t total) noexcept { granted_ = std::max(granted_, total); }

bool ReceiveCredit::add_received(std::size_t bytes) noexcept {
  const bool had_room = !counted_ || received_ < granted_;
  received_ += bytes;
  return had_room;
}

bool ReceiveCredit::is_due() const noexcept {
  // One message for each quarter of the window is enough: the sender always has credit left.
  return counted_ && received_ + kCreditWindow >= granted_ + kCreditWindow / 4;
}

std::uint64_t ReceiveCredit::grant() noexcept {
  granted_ = received_ + kCreditWindow;
  return granted_;
}

}  // namespace xylem::overlay
