// What fields cost on their way into a packet and out of it: single waves, batches of small ones,
// large arrays beside a copy of the same bytes (the floor); and what merging two states costs.
//
//   bench_waves --benchmark_filter=Batch

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/check.h"
#include "filters/aggregation.h"
#include "tests/bench/instructions.h"
#include "wire/waves.h"

namespace {

using namespace xylem;

constexpr std::size_t kArrayBytes = 64u << 10;

std::vector<wire::Fields> small_waves(std::size_t count) {
  std::vector<wire::Fields> waves(count);
  std::int64_t value = 0;
  for (wire::Fields& fields : waves) fields.set(1, value++);
  return waves;
}

wire::Fields large_array() {
  return wire::Fields{{1, std::vector<double>(kArrayBytes / sizeof(double), 0.5)}};
}

void per_wave(benchmark::State& state) {
  state.counters["per_wave"] =
      benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void EncodeBatch(benchmark::State& state) {
  const auto waves = small_waves(static_cast<std::size_t>(state.range(0)));
  const testing::CountedInstructions counted(state,
                                             "EncodeBatch/" + std::to_string(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(wire::encode_waves(waves));
  per_wave(state);
}
BENCHMARK(EncodeBatch)->Arg(1)->Arg(100)->Apply(testing::when_counted<100>);

void DecodeBatch(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const wire::Bytes bytes = wire::encode_waves(small_waves(count));
  const testing::CountedInstructions counted(state,
                                             "DecodeBatch/" + std::to_string(state.range(0)));
  for (auto _ : state) {
    auto waves = wire::decode_waves(bytes, count);
    CHECK(waves);
    benchmark::DoNotOptimize(waves);
  }
  per_wave(state);
}
BENCHMARK(DecodeBatch)->Arg(1)->Arg(100)->Apply(testing::when_counted<100>);

void CopyArray(benchmark::State& state) {
  const std::vector<std::byte> from(kArrayBytes);
  for (auto _ : state) {
    std::vector<std::byte> to(from);
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kArrayBytes));
}
BENCHMARK(CopyArray)->Apply(testing::when_counted<100>);

void EncodeArray(benchmark::State& state) {
  const wire::Fields fields = large_array();
  const testing::CountedInstructions counted(state, "EncodeArray");
  for (auto _ : state) benchmark::DoNotOptimize(wire::encode_fields(fields));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kArrayBytes));
}
BENCHMARK(EncodeArray)->Apply(testing::when_counted<100>);

void DecodeArray(benchmark::State& state) {
  const wire::Bytes bytes = wire::encode_fields(large_array());
  const testing::CountedInstructions counted(state, "DecodeArray");
  for (auto _ : state) {
    auto fields = wire::decode_fields(bytes);
    CHECK(fields);
    benchmark::DoNotOptimize(fields);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kArrayBytes));
}
BENCHMARK(DecodeArray)->Apply(testing::when_counted<100>);

void merge_states(benchmark::State& state, const filters::Aggregation& filter,
                  const wire::Fields& sent, const char* name) {
  const wire::Fields other = *filter.lift(LeafId{2}, sent);
  wire::Fields into = *filter.lift(LeafId{1}, sent);
  const testing::CountedInstructions counted(state, name);
  for (auto _ : state) CHECK(filter.merge(into, other));
}

void MergeSum(benchmark::State& state) {
  merge_states(state, **filters::make_aggregation("sum", {}), wire::Fields{{1, std::int64_t{1}}},
               "MergeSum");
}
BENCHMARK(MergeSum)->Apply(testing::when_counted<100>);

void MergeSumOfArrays(benchmark::State& state) {
  merge_states(state, **filters::make_aggregation("sum", {}), large_array(), "MergeSumOfArrays");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kArrayBytes));
}
BENCHMARK(MergeSumOfArrays)->Apply(testing::when_counted<100>);

void MergeInPlugin(benchmark::State& state) {
  const std::string path = XYLEM_TEST_PLUGINS "/span.so";
  const auto sha256 = filters::plugin_fingerprint(path);
  CHECK(sha256);
  const auto span = filters::load_aggregation(path, *sha256, "span", {});
  CHECK(span);
  merge_states(state, **span, wire::Fields{{1, std::int64_t{1}}}, "MergeInPlugin");
}
BENCHMARK(MergeInPlugin)->Apply(testing::when_counted<100>);

}  // namespace

BENCHMARK_MAIN();
