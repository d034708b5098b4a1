#include "predict/target/target.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/predict/programs.h"

namespace xylem::predict {
namespace {

Result<Target> target_of(const std::string& text) {
  const auto entries = parse_config(text, "t.toml");
  if (!entries) return unexpected(entries.error());
  return read_target(*entries, "t.toml");
}

constexpr const char* kNetwork =
    "[network]\n"
    "latency_ns = 2500\n"
    "overhead_ns = 1500\n"
    "gap_ns = 1000\n"
    "gap_per_byte_ns = 6\n"
    "overhead_per_byte_ns = 0\n"
    "eager_bytes = 65535\n";

TEST(Target, IsReadFromAFile) {
  const auto read = target_of(kNetwork);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (Target{testing::network(2500, 1500, 1000, 6, 0, 65535), 1, {}}));
}

TEST(Target, HasFractions) {
  const auto read = target_of(
      "[node]\nflops_per_ns = 2.5\n[network]\nlatency_ns = 1e3\noverhead_ns = 0.1\ngap_ns = "
      "\"0.18\"\n"
      "gap_per_byte_ns = 0.000001\noverhead_per_byte_ns = 123456789.123456\neager_bytes = 0\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->network,
            (LogGps{Femtoseconds{1'000'000'000}, Femtoseconds{100'000}, Femtoseconds{180'000},
                    Femtoseconds{1}, Femtoseconds{123'456'789'123'456}, 0}));
  EXPECT_EQ(read->flops_per_ns, 2.5);
}

TEST(Target, ChoosesCollectivesAsItsLibraryOrAsTheFileSays) {
  const std::string network = kNetwork;
  const CollectiveCall bcast{Collective::kBcast, 0, 20000, 1, {}, {}};
  const auto read = target_of(network + "[collectives]\n");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->collectives.choice.choose(bcast, 16), Algorithm::kScatterAllgather);
  EXPECT_EQ(read->collectives.reduce_fs_per_byte, 0u);
  const auto other = target_of(network + "[collectives]\nchoice = \"openmpi\"\n");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->collectives.choice.choose(bcast, 16), Algorithm::kBinomial);
  const auto fixed = target_of(network +
                               "[collectives]\nbcast = \"chain\"\nchoice = \"mpich\"\n"
                               "reduce_ns_per_byte = 0.25\n");
  ASSERT_TRUE(fixed) << fixed.error().message;
  EXPECT_EQ(fixed->collectives.choice.choose(bcast, 16), Algorithm::kChain);
  EXPECT_EQ(fixed->collectives.reduce_fs_per_byte, 250'000u);
}

TEST(Target, RefusesWrongKeysOfCollectives) {
  const std::string head = std::string(kNetwork) + "[collectives]\n";
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               "choice = \"intel\"\n",
               "t.toml:9: collectives.choice: 'intel' is not an MPI library that is known; write "
               "\"mpich\" or \"openmpi\""},
           {"reduce_ns_per_byte = -1\n",
            "t.toml:9: collectives.reduce_ns_per_byte: '-1' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {"reduce_ns_per_byte = 2000000\n",
            "t.toml:9: collectives.reduce_ns_per_byte: '2000000' is above the maximum of 1000000 "
            "ns"},
           {"scan = \"linar\"\n",
            "t.toml:9: collectives.scan: 'linar' is not an algorithm for it (did you mean "
            "linear?); the algorithms are linear, recursive_doubling"},
           {"bcst = \"linear\"\n",
            "t.toml:9: 'collectives.bcst' is not a key of a target (did you mean bcast?); the "
            "keys of [collectives] are choice, reduce_ns_per_byte, barrier, bcast, reduce, "
            "allreduce, allgather, allgatherv, alltoall, alltoallv, gather, gatherv, scatter, "
            "scatterv, reduce_scatter, reduce_scatter_block, scan, exscan"},
       }) {
    const auto read = target_of(head + text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().message, message);
  }
}

TEST(Target, RefusesBrokenFilesWithLineAndRemedy) {
  const std::string network = kNetwork;
  const auto with = [&](const std::string& key, const std::string& value) {
    std::string text = network;
    const std::size_t at = text.find(key + " = ");
    return text.replace(at, text.find('\n', at) - at, key + " = " + value);
  };
  for (const auto& [text, message] : {
           std::pair<std::string, std::string>{
               "", "t.toml:1: network.latency_ns is missing; add it to the section [network]"},
           {"\n[network]\nlatency_ns = 1\n",
            "t.toml:3: network.overhead_ns is missing; add it to the section [network]"},
           {network + "latencyns = 5\n",
            "t.toml:8: 'network.latencyns' is not a key of a target (did you mean "
            "network.latency_ns?); the "
            "keys are network.latency_ns, network.overhead_ns, network.gap_ns, "
            "network.gap_per_byte_ns, "
            "network.overhead_per_byte_ns, network.eager_bytes, node.flops_per_ns, and those of "
            "[collectives]"},
           {with("gap_ns", "-1"),
            "t.toml:4: network.gap_ns: '-1' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("gap_ns", "\"5us\""),
            "t.toml:4: network.gap_ns: '5us' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("gap_ns", "inf"),
            "t.toml:4: network.gap_ns: 'inf' is not a time in nanoseconds; write a "
            "decimal number such as 2500 or 0.18"},
           {with("latency_ns", "0.0000123"),
            "t.toml:2: network.latency_ns: '0.0000123' has more than six digits after the point; "
            "round it"},
           {with("latency_ns", "0.1234567"),
            "t.toml:2: network.latency_ns: '0.1234567' has more than six "
            "digits after the point; round it"},
           {with("latency_ns", "2000000000000"),
            "t.toml:2: network.latency_ns: '2000000000000' is above the "
            "maximum of 1000000000000 ns"},
           {with("eager_bytes", "1.5"),
            "t.toml:7: network.eager_bytes: '1.5' is not a number of bytes; write "
            "a whole number such as 65535"},
           {with("eager_bytes", "[1, 2]"),
            "t.toml:7: network.eager_bytes is a list; write one value"},
           {network + "[node]\nflops_per_ns = 0\n",
            "t.toml:9: node.flops_per_ns: '0' is not possible; write a number above 0 such as 4"},
       }) {
    const auto read = target_of(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().message, message) << text;
  }
  EXPECT_TRUE(target_of("[network\n").error().message.starts_with("t.toml:1: "));
}

}  // namespace
}  // namespace xylem::predict
