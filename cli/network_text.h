#pragma once

// What `xylem predict` says about the network: its channels, and the parts of one message's time.

#include <cstdint>
#include <string>

#include "predict/network/topology.h"
#include "predict/replay/machine.h"
#include "viz/json.h"

namespace xylem {

/// A table with the channels that are busy longest, at most 8. "" if there are none.
std::string channels_text(const predict::MachinePrediction& of, const predict::Topology* topology);

/// The member "channels": all channels with messages, by number.
void write_channels(viz::Json& json, const predict::MachinePrediction& of,
                    const predict::Topology* topology);

/// A sentence about a result of the model analytic that is not to be trusted. "" if it is.
std::string doubts_about(const predict::MachinePrediction& of, const predict::Topology* topology);

/// A message between two ranks, with its time in an idle network.
struct TimedMessage {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t bytes = 0;
  std::string model;
  predict::MessageDelay delay;
};

std::string message_text(const TimedMessage& message);
std::string message_json(const TimedMessage& message);

}  // namespace xylem
