// How long it takes to place a tree and to attach back ends: what the front end does once, between
// the last registration and the first assignment.
//
//   bench_placement --benchmark_repetitions=5

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "placement/place.h"

namespace xylem::placement {
namespace {

std::vector<tree::Host> make_hosts(std::size_t count, std::uint32_t back_ends) {
  std::mt19937 random(1);  // Fixed, so that runs compare.
  std::vector<tree::Host> hosts;
  for (std::size_t i = 0; i < count; ++i) {
    hosts.push_back({"node" + std::to_string(i), back_ends, random() % 256, 0});
  }
  return hosts;
}

/// So many hosts, one back end each, kary:16.
void plan_hosts(benchmark::State& state) {
  const auto hosts = make_hosts(static_cast<std::size_t>(state.range(0)), 1);
  const auto shape = tree::parse_shape("kary:16");
  for (auto _ : state) {
    const auto plan = plan_tree(hosts, *shape, {}, "head");
    if (!plan) state.SkipWithError(plan.error().message.c_str());
    benchmark::DoNotOptimize(plan);
  }
}
BENCHMARK(plan_hosts)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

/// The same by scores, from six factors that all hosts know.
void plan_hosts_fuzzily(benchmark::State& state) {
  const auto hosts = make_hosts(static_cast<std::size_t>(state.range(0)), 1);
  const auto shape = tree::parse_shape("kary:16");
  std::mt19937 random(2);  // Fixed, so that runs compare.
  std::uniform_real_distribution<double> share(0, 1);
  Choice choice;
  choice.policy = Policy::kFuzzy;
  choice.facts = facts_of(hosts);
  for (FactValues& host : choice.facts) {
    host.set(Fact::kIdle, share(random));
    host.set(Fact::kRunQueue, 4 * share(random));
    host.set(Fact::kMemory, 64 * share(random));
    host.set(Fact::kNetwork, 50 * share(random));
    host.set(Fact::kRoundTrip, 2000 * share(random));
  }
  if (state.range(1) > 0) choice.room.assign(hosts.size(), state.range(1));
  for (auto _ : state) {
    const auto plan = plan_tree(hosts, *shape, choice, "head");
    if (!plan) state.SkipWithError(plan.error().message.c_str());
    benchmark::DoNotOptimize(plan);
  }
}
BENCHMARK(plan_hosts_fuzzily)
    ->ArgNames({"hosts", "room"})
    ->Args({1'000, 0})
    ->Args({10'000, 0})
    ->Args({10'000, 1})
    ->Unit(benchmark::kMillisecond);

/// So many back ends, ten a host, to the internal leaves of kary:16.
void attach_back_ends(benchmark::State& state) {
  const auto hosts = make_hosts(static_cast<std::size_t>(state.range(0)) / 10, 10);
  const auto plan = plan_tree(hosts, *tree::parse_shape("kary:16"), {}, "head");
  const auto back_ends = hosts_of_back_ends(hosts);
  for (auto _ : state) benchmark::DoNotOptimize(attach(back_ends, plan->internal_leaves));
}
BENCHMARK(attach_back_ends)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

/// A printed tree of so many back ends, read back.
void parse_printed(benchmark::State& state) {
  const auto hosts = make_hosts(static_cast<std::size_t>(state.range(0)), 1);
  const auto plan = plan_tree(hosts, *tree::parse_shape("kary:2"), {}, "head");
  const std::string text = print(plan->topology);
  for (auto _ : state) benchmark::DoNotOptimize(tree::parse_topology(text, "printed"));
}
BENCHMARK(parse_printed)->Arg(10'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace xylem::placement

BENCHMARK_MAIN();
