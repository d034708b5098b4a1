#include "predict/replay/machine.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "base/saturating.h"
#include "predict/replay/files.h"

namespace xylem::predict {
namespace {

std::vector<ChannelUse> uses_of(const Network& network, const FabricCosts& costs, Ticks makespan) {
  std::vector<ChannelUse> uses;
  const auto traffic = network.traffic();
  for (std::uint32_t i = 0; i < traffic.size(); ++i) {
    const ChannelTraffic& it = traffic[i];
    if (it.messages == 0) continue;
    uses.push_back({ChannelId{i}, it, costs.ends().to_ns(it.busy),
                    measured_load(it.busy, it.messages, makespan).load});
  }
  return uses;
}

Ticks makespan_of(const Prediction& prediction, const FabricCosts& costs) {
  return costs.ends().from_ns(prediction.makespan_ns);
}

/// Loads for a run of length `makespan`, limited to what the formula can take.
std::vector<ChannelLoad> loads_of(std::span<const ChannelTraffic> traffic, Ticks makespan) {
  std::vector<ChannelLoad> loads;
  loads.reserve(traffic.size());
  for (const ChannelTraffic& it : traffic) {
    loads.push_back(measured_load(it.busy, it.messages, makespan));
    loads.back().load = std::min(loads.back().load, kMaxAnalyticLoad);
  }
  return loads;
}

bool is_near(Ticks a, Ticks b) {
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / kPrecision;
}

/// The storage of one replay. Null if the program has no files, or the machine no storage.
std::unique_ptr<Storage> storage_for(const Machine& machine, const FabricCosts& costs,
                                     const std::vector<std::uint64_t>& files, Network& network) {
  if (files.empty() || machine.storage.nodes == 0) return nullptr;
  return std::make_unique<Storage>(machine.storage, costs.ends(), machine.storage_nodes, files,
                                   network);
}

StorageTotals totals_of(const Storage* storage) {
  return storage == nullptr ? StorageTotals{} : storage->totals();
}

Result<Prediction> replay_with(const Program& program, const Machine& machine,
                               const FabricCosts& costs, Network& network, Storage* storage,
                               const ReplayWatch& watch) {
  if (machine.topology != nullptr || !machine.node_of_rank.empty()) {
    return replay(program, costs, machine.node_of_rank, network, machine.cores, watch, storage);
  }
  return storage == nullptr ? replay(program, machine.ends, watch)
                            : replay(program, costs.ends(), *storage, watch);
}

Result<MachinePrediction> replay_analytic(const Program& program, const Machine& machine,
                                          const FabricCosts& costs,
                                          const std::vector<std::uint64_t>& files,
                                          const ReplayWatch& watch) {
  const ReplayWatch without_timeline{nullptr, watch.go_on};
  MachinePrediction result;
  result.replays = 0;
  result.has_converged = false;
  std::vector<ChannelLoad> loads(machine.topology->channels()), last;
  Ticks assumed = 0, shortest = 0, longest = kMaxTicks;
  while (!result.has_converged && result.replays < kMaxReplays) {
    AnalyticNetwork network(costs, *machine.topology, loads);
    const auto storage = storage_for(machine, costs, files, network);
    auto prediction =
        replay_with(program, machine, costs, network, storage.get(), without_timeline);
    if (!prediction) return unexpected(std::move(prediction.error()));
    result.storage = totals_of(storage.get());
    ++result.replays;
    result.prediction = *std::move(prediction);
    const Ticks makespan = makespan_of(result.prediction, costs);
    result.channels = uses_of(network, costs, makespan);
    if (result.replays == 1) {
      assumed = makespan;
    } else if (is_near(assumed, makespan)) {
      result.has_converged = true;
    } else {
      // A run with smaller loads is shorter, so the makespan with the right loads lies in between.
      if (makespan > assumed) {
        shortest = assumed;
        longest = std::min(longest, makespan);
      } else {
        longest = assumed;
        shortest = std::max(shortest, makespan);
      }
      assumed = shortest + (longest - shortest) / 2;
    }
    last = std::exchange(loads, loads_of(network.traffic(), assumed));
  }
  if (watch.timeline != nullptr) {
    AnalyticNetwork network(costs, *machine.topology, last);
    const auto storage = storage_for(machine, costs, files, network);
    auto again = replay_with(program, machine, costs, network, storage.get(), watch);
    if (!again) return unexpected(std::move(again.error()));
    CHECK(*again == result.prediction);
  }
  result.saturated = static_cast<std::uint32_t>(std::ranges::count_if(
      result.channels, [](const ChannelUse& it) { return it.load > kMaxAnalyticLoad; }));
  return result;
}

}  // namespace

Result<MachinePrediction> replay_on(const Program& program, const Machine& machine, Model model,
                                    const ReplayWatch& watch) {
  if (auto possible = check_topology(machine, model); !possible)
    return unexpected(possible.error());
  const auto files = file_lengths(program, machine.storage);
  if (!files) return unexpected(files.error());
  const FabricCosts costs = costs_of(machine, !files->empty());
  if (model == Model::kAnalytic) return replay_analytic(program, machine, costs, *files, watch);
  MachinePrediction result;
  const auto network = idle_network(machine, model, costs);
  const auto storage = storage_for(machine, costs, *files, *network);
  auto prediction = replay_with(program, machine, costs, *network, storage.get(), watch);
  if (!prediction) return unexpected(std::move(prediction.error()));
  result.prediction = *std::move(prediction);
  result.storage = totals_of(storage.get());
  result.channels = uses_of(*network, costs, makespan_of(result.prediction, costs));
  return result;
}

Result<MessageDelay> message_delay(const Machine& machine, Model model, std::uint32_t source,
                                   std::uint32_t destination, std::uint64_t bytes) {
  if (auto possible = check_topology(machine, model); !possible)
    return unexpected(possible.error());
  const FabricCosts costs(machine.ends, machine.fabric, machine.memory);
  MessageDelay delay{.ticks_per_ns = costs.ends().ticks_per_ns(),
                     .send_overhead = costs.ends().overhead(),
                     .receive_overhead = costs.ends().overhead()};
  const auto& nodes = machine.node_of_rank;
  const bool is_inside = !nodes.empty() && nodes[source] == nodes[destination];
  const LogGpsCosts& ends = is_inside ? costs.memory() : costs.ends();
  delay.transfer = ends.receive_cpu(bytes) - ends.overhead();
  if (is_inside || model == Model::kLogGps) {
    delay.latency = ends.latency();
  } else {
    std::vector<ChannelId> path;
    machine.topology->find_path(nodes[source], nodes[destination], path);
    const std::vector<ChannelLoad> idle(path.size() - 1);
    const auto on_path = mean_delay(costs, idle, bytes);
    CHECK(on_path);
    delay.switches = static_cast<std::uint32_t>(idle.size());
    delay.switching = on_path->switches;
    delay.headers = on_path->headers;
    delay.transfer =
        std::min(saturating_add(delay.transfer, costs.slower_than_receiver(bytes)), kMaxTicks);
  }
  for (const Ticks it : {delay.send_overhead, delay.latency, delay.switching, delay.headers,
                         delay.transfer, delay.receive_overhead}) {
    delay.total = std::min(saturating_add(delay.total, it), kMaxTicks);
  }
  return delay;
}

}  // namespace xylem::predict
