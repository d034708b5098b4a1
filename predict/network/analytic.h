#pragma once

// The mean latency of a message among others, as a closed formula. SimHPC, equations (2) to (5):
//
//   latency = n τ + (n+1) L/W + sum over the n channels behind a switch of
//             [ ρ / (μ - λ) - (1 - ρ) (1 - α) L/W ]
//
// n: switches. L: bytes. W: bytes per time on a channel. α: share of the header. τ: time of a
// switch. λ: messages per time that arrive at a channel. μ: messages per time that it can carry.
// ρ = λ / μ: its load. A message finds a channel idle with probability 1 - ρ. Then it goes on when
// its header has arrived. Otherwise it is stored whole, and waits as in an M/M/1 queue.
//
// The same with its parts in another order:
//
//   latency = n τ + n α L/W + L/W + sum of [ ρ / (μ - λ) + ρ (1 - α) L/W ]
//
// The formula assumes that messages arrive independently of each other, at exponentially
// distributed intervals and with exponentially distributed sizes. It does not count waiting for the
// injection channel. For such traffic between random nodes, with loads of 0.1 to 0.6, mean_delay()
// is within 3 % of channels.h where every message is stored once. Otherwise it is above: by up to
// 20 % in a crossbar, and by up to 50 % in fat tree, torus and mesh. There, messages that go the
// same way wait for each other only once. The bounds are those of
// tests/unit/predict/channels_test.cc.

#include <cstdint>
#include <optional>
#include <span>

#include "predict/network/fabric.h"

namespace xylem::predict {

/// The unit of a load.
constexpr std::uint64_t kFullLoad = 1'000'000'000;

/// The traffic of a channel.
struct ChannelLoad {
  std::uint64_t load = 0;  ///< ρ in billionths.
  Ticks service = 0;       ///< 1/μ: how long a message keeps the channel busy, on average.

  bool operator==(const ChannelLoad&) const = default;
};

/// The load of a channel that was busy for `busy` with `messages` in a run of length `duration`. It
/// may be above kFullLoad.
ChannelLoad measured_load(Ticks busy, std::uint64_t messages, Ticks duration);

/// The parts of a latency.
struct PathDelay {
  Ticks switches = 0;  ///< n τ.
  Ticks headers = 0;   ///< n α L/W.
  Ticks transfer = 0;  ///< L/W.
  Ticks storing = 0;   ///< Sum of ρ (1 - α) L/W.
  Ticks waiting = 0;   ///< Sum of ρ / (μ - λ).

  /// kMaxTicks if the sum is larger.
  Ticks total() const;
  bool operator==(const PathDelay&) const = default;
};

/// Mean time that a message waits in the queue of a channel: ρ / (μ - λ). Nothing if the channel is
/// saturated, that is if its load is kFullLoad or more. Rounds down.
std::optional<Ticks> mean_wait(const ChannelLoad& channel);

/// The formula for a message of `bytes`. `channels` are those behind a switch: all channels of a
/// path but the first. Nothing if one of them is saturated. Each part is at most kMaxTicks. Rounds
/// each channel's part down to a whole tick, so the result is at most n ticks too low.
std::optional<PathDelay> mean_delay(const FabricCosts& costs, std::span<const ChannelLoad> channels,
                                    std::uint64_t bytes);

}  // namespace xylem::predict
