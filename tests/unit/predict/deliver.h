#pragma once

// Sends messages through a network without a replay.

#include <algorithm>
#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "predict/network/network.h"

namespace xylem::predict::testing {

struct Sent {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  Ticks time = 0;
};

/// The time of each message's first step, and of its arrival. `messages` are in the order of time.
struct Delivered {
  Ticks first = 0;
  Ticks arrival = 0;
};

inline std::vector<Delivered> deliver(Network& network, const std::vector<Sent>& messages) {
  using Call = std::tuple<Ticks, std::size_t, std::uint32_t>;  // Time, number, for go_on().
  std::priority_queue<Call, std::vector<Call>, std::greater<>> calls;
  std::vector<Delivered> delivered(messages.size());
  std::size_t next = 0;
  const auto take = [&](std::size_t number, const Network::Step& step) {
    if (step.has_arrived) {
      delivered[number].arrival = step.time;
    } else {
      calls.emplace(step.time, number, step.message);
    }
  };
  while (next < messages.size() || !calls.empty()) {
    if (calls.empty() ||
        (next < messages.size() && messages[next].time <= std::get<0>(calls.top()))) {
      const Sent& it = messages[next];
      const auto step = network.send(Node{it.from}, Node{it.to}, it.bytes, it.time);
      delivered[next].first = step.time;
      take(next++, step);
      continue;
    }
    const auto [time, number, message] = calls.top();
    calls.pop();
    take(number, network.go_on(message, time));
  }
  return delivered;
}

}  // namespace xylem::predict::testing
