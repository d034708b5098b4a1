#include "cli/network_text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/printable_text.h"
#include "base/quantity_text.h"
#include "base/saturating.h"
#include "viz/reply.h"
#include "viz/text_columns.h"

namespace xylem {
namespace {

using predict::ChannelUse;
using predict::Ticks;

constexpr std::size_t kMaxPrintedChannels = 8;

double share(std::uint64_t load) {
  return static_cast<double>(load) / static_cast<double>(predict::kFullLoad);
}

std::string end_name(const predict::Topology& topology, predict::Vertex vertex) {
  return printable(topology.name(vertex));
}

std::string channel_name(const predict::Topology& topology, predict::ChannelId channel) {
  const auto [from, to] = topology.ends(channel);
  return end_name(topology, from) + " > " + end_name(topology, to);
}

double exact_ns(Ticks ticks, std::uint64_t ticks_per_ns) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per_ns);
}

/// The parts with their names in JSON and for people. Those of other models are left out.
struct Part {
  const char* name;
  const char* what;
  Ticks time;
};

std::vector<Part> parts_of(const predict::MessageDelay& delay) {
  std::vector<Part> parts = {{"send_overhead_ns", "sender's overhead", delay.send_overhead}};
  if (delay.switches > 0) {
    parts.push_back({"switches_ns", "switches", delay.switching});
    parts.push_back({"headers_ns", "headers through switches", delay.headers});
  } else {
    parts.push_back({"latency_ns", "latency", delay.latency});
  }
  parts.push_back({"transfer_ns", "transfer", delay.transfer});
  parts.push_back({"receive_overhead_ns", "receiver's overhead", delay.receive_overhead});
  parts.push_back({"total_ns", "total", delay.total});
  return parts;
}

}  // namespace

std::string channels_text(const predict::MachinePrediction& of, const predict::Topology* topology) {
  if (topology == nullptr || of.channels.empty()) return "";
  std::vector<ChannelUse> busiest = of.channels;
  std::ranges::stable_sort(busiest, std::greater(),
                           [](const ChannelUse& it) { return it.traffic.busy; });
  busiest.resize(std::min(busiest.size(), kMaxPrintedChannels));
  viz::TextColumns columns(
      {{"channel"}, {"busy", true}, {"load", true}, {"messages", true}, {"bytes", true}});
  for (const ChannelUse& it : busiest) {
    columns.add({channel_name(*topology, it.channel),
                 duration_text(saturating_cast<Nanos>(static_cast<double>(it.busy_ns))),
                 percent_text(share(it.load)), count_text(it.traffic.messages),
                 bytes_text(it.traffic.bytes)});
  }
  std::string text = columns.text();
  if (busiest.size() < of.channels.size()) {
    text += "  These channels are busy longest, of " + count_text(of.channels.size()) +
            " with messages. --json has all.\n";
  }
  return text;
}

void write_channels(viz::Json& json, const predict::MachinePrediction& of,
                    const predict::Topology* topology) {
  json.array("channels", of.channels, [&](const ChannelUse& it) {
    const predict::ChannelEnds ends = topology->ends(it.channel);
    json.object([&] {
      json.field("channel", it.channel);
      json.field("from", topology->name(ends.from));
      json.field("to", topology->name(ends.to));
      json.field("messages", it.traffic.messages);
      json.field("bytes", it.traffic.bytes);
      json.field("busy_ns", it.busy_ns);
      json.field("load", share(it.load));
    });
  });
}

std::string doubts_about(const predict::MachinePrediction& of, const predict::Topology* topology) {
  if (of.saturated > 0) {
    const auto busiest = std::ranges::max_element(of.channels, {}, &ChannelUse::load);
    return "the network is saturated, and the prediction is too short: " +
           count_text(of.saturated) + (of.saturated == 1 ? " channel is" : " channels are") +
           " busy for more than " + percent_text(share(predict::kMaxAnalyticLoad)) +
           " of the run, " + channel_name(*topology, busiest->channel) + " for " +
           percent_text(share(busiest->load)) + "; use --model channels";
  }
  if (!of.has_converged) {
    return "after " + std::to_string(of.replays) +
           " replays the makespan still differs by more than 0.1 % from the one that was assumed "
           "for the loads; use --model channels";
  }
  return "";
}

std::string message_text(const TimedMessage& message) {
  const predict::MessageDelay& delay = message.delay;
  std::string text = "message of " + count_text(message.bytes) + " bytes from rank " +
                     std::to_string(message.source) + " to rank " +
                     std::to_string(message.destination) + ", model " + message.model;
  if (delay.switches > 0) {
    text += ", " + count_text(delay.switches) + (delay.switches == 1 ? " switch" : " switches");
  }
  viz::TextColumns columns({{"part"}, {"time", true}});
  for (const Part& it : parts_of(delay)) {
    columns.add({it.what, duration_text(saturating_cast<Nanos>(
                              exact_ns(it.time, delay.ticks_per_ns) + 0.5))});
  }
  return text + "\n" + columns.text();
}

std::string message_json(const TimedMessage& message) {
  viz::Json json;
  json.object([&] {
    json.field("version", viz::kApiVersion);
    json.field("view", "message");
    json.field("model", message.model);
    json.field("source", message.source);
    json.field("destination", message.destination);
    json.field("bytes", message.bytes);
    json.field("switches", message.delay.switches);
    for (const Part& it : parts_of(message.delay)) {
      json.field(it.name, exact_ns(it.time, message.delay.ticks_per_ns));
    }
  });
  return json.take() + '\n';
}

}  // namespace xylem
