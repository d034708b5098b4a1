#pragma once

// What the parts of a target cost: the ends of a message (loggps.h), switches and channels, and the
// memory of a node. All costs are in the same ticks.
//
// A message of s bytes keeps each channel busy for s/W. The header is its first part, a share
// α: it passes a channel in α s/W. A switch takes τ to send the header on. (W, α and τ are the
// symbols of SimHPC.)

#include <cstdint>
#include <span>
#include <vector>

#include "predict/network/loggps.h"

namespace xylem::predict {

/// The unit of a header's share.
constexpr std::uint32_t kWhole = 1'000'000;

/// Switches and channels.
struct Fabric {
  Femtoseconds switch_time{};       ///< τ.
  Femtoseconds channel_per_byte{};  ///< 1/W.
  std::uint32_t header_share = 0;   ///< α in millionths. At most kWhole.

  bool operator==(const Fabric&) const = default;
};

/// Messages between ranks of one node. Such a message occupies processors as any other message, but
/// with these numbers in place of L and G, and no NIC.
struct MemoryPath {
  Femtoseconds latency{};
  Femtoseconds per_byte{};

  bool operator==(const MemoryPath&) const = default;
};

/// All costs in ticks. A value type. A cost that would exceed kMaxTicks is kMaxTicks. Only the time
/// of a header is rounded; all others are whole ticks.
class FabricCosts {
 public:
  /// No time is above kMaxParameter. A tick also divides `others`, times of the same replay.
  FabricCosts(const LogGps& ends, const Fabric& fabric, const MemoryPath& memory,
              std::span<const Femtoseconds> others = {});

  /// The ends of a message.
  const LogGpsCosts& ends() const { return ends_; }
  /// The ends of a message inside a node: `flight` and `receive_cpu` are those of the memory path.
  const LogGpsCosts& memory() const { return memory_; }

  Ticks switch_time() const { return switch_time_; }
  /// From the first to the last byte on a channel.
  Ticks transfer(std::uint64_t bytes) const;
  /// The share of the header in a transfer, rounded to the nearest tick.
  Ticks header(Ticks transfer) const {
    return transfer / kWhole * header_share_ +
           (transfer % kWhole * header_share_ + kWhole / 2) / kWhole;
  }
  /// By how much the last channel holds up the receiver. The receiver takes the bytes of a message
  /// in (s-1) times the larger of O and G, but not faster than the channel brings them.
  Ticks slower_than_receiver(std::uint64_t bytes) const;

 private:
  FabricCosts(const Fabric& fabric, const LogGps& ends, const LogGps& memory,
              const std::vector<Femtoseconds>& others);

  LogGpsCosts ends_, memory_;
  Ticks switch_time_ = 0, channel_per_byte_ = 0;
  std::uint64_t header_share_ = 0;
};

}  // namespace xylem::predict
