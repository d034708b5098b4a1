#include "predict/target/presets.h"

#include <algorithm>
#include <array>

namespace xylem::predict {
namespace {

constexpr std::string_view kHdr200 =
    R"(# InfiniBand HDR, 4 lanes, 200 Gb/s, as built since about 2019: a target for `xylem predict --target FILE`.
# "guess": no published figure stands behind this number. `xylem calibrate` measures your own machine.
# Vendor: NVIDIA, ConnectX-6 user manual (docs.nvidia.com): up to 200 Gb/s, latency below 600 ns,
# 215 million messages per second. These are figures of the adapter, without MPI.

[network]
latency_ns = 600                # L: vendor's bound for the latency of the adapter
overhead_ns = 200               # o: guess. 2 o + L = 1 us for a short message
gap_ns = 100                    # g: guess. The vendor's message rate, 5 ns, takes many cores
gap_per_byte_ns = 0.042         # G: guess: 95 % of the link, for packet headers
overhead_per_byte_ns = 0        # O: the adapter reads and writes the memory (RDMA)
eager_bytes = 16384             # S: guess. It depends on the MPI library and its settings
switch_ns = 130                 # guess
bandwidth_bytes_per_ns = 25     # 4 lanes of 50 Gb/s are 200 Gb/s
header_share = 0.01             # guess

[node]
cores = 64                      # guess: two processors of 32 cores
memory_latency_ns = 300         # guess
memory_per_byte_ns = 0.1        # guess: 10 GB/s between two cores
flops_per_ns = 16               # guess: of a core

[topology]
kind = "fat_tree"
arity = 20                      # 400 nodes. A switch of 40 ports has 20 down and 20 up
levels = 2
# kind = "dragonfly"            # 1056 nodes
# groups = 33
# routers = 8
# nodes_per_router = 4
# global_links = 4

[collectives]
choice = "openmpi"              # or "mpich"
reduce_ns_per_byte = 0.1        # guess
)";

constexpr std::string_view kIb20g =
    R"(# InfiniBand DDR, 4 lanes, 20 Gb/s, as built around 2008: a target for `xylem predict --target FILE`.
# "guess": no published figure stands behind this number. `xylem calibrate` measures your own machine.
# Aptus: M. J. Koop, T. Jones, D. K. Panda: MVAPICH-Aptus, IPDPS 2008, whose abstract gives 1.5 us and
# 1.5 GB/s for InfiniBand. SimHPC: Liu Yi et al., whose predictions for 32 to 1024 nodes with InfiniBand at
# 20 Gb/s have the topologies fat tree, mesh and torus; the paper's other parameters are not known here.

[network]
latency_ns = 800                # L: Aptus, 1.5 us = 2 o + L
overhead_ns = 350               # o: guess, how 1.5 us are divided
gap_ns = 350                    # g: guess
gap_per_byte_ns = 0.667         # G: Aptus, 1.5 GB/s
overhead_per_byte_ns = 0        # O: the adapter reads and writes the memory (RDMA)
eager_bytes = 12288             # S: guess. It depends on the MPI library and its settings
switch_ns = 200                 # guess
bandwidth_bytes_per_ns = 2      # 20 Gb/s on the wire, of which 8b/10b coding leaves 16 Gb/s
header_share = 0.01             # guess

[node]
cores = 8                       # guess: two processors of 4 cores
memory_latency_ns = 500         # guess
memory_per_byte_ns = 0.5        # guess: 2 GB/s between two cores
flops_per_ns = 8                # guess: of a core

[topology]
kind = "fat_tree"               # 1024 nodes
arity = 4
levels = 5
# kind = "torus"                # or "mesh": also 1024 nodes
# size = "8x8x16"

[collectives]
choice = "mpich"                # or "openmpi"
reduce_ns_per_byte = 0.5        # guess
)";

constexpr std::string_view k10Gbe =
    R"(# Ethernet, 10 Gb/s, with MPI over TCP: a target for `xylem predict --target FILE`.
# "guess": no published figure stands behind this number. `xylem calibrate` measures your own machine.
# Larsen: S. Larsen, P. Sarangam, R. Huggahalli: Architectural Breakdown of End-to-End Latency in a TCP/IP
# Network, SBAC-PAD 2007, whose abstract gives 10 us between applications for a single request.
# Tolley: B. Tolley: 10Gb Ethernet: The Foundation for Low-Latency, Real-Time Financial Services Applications
# (Solarflare and Arista, a vendors' report), whose abstract gives 520 ns for a switch with 64-byte packets.

[network]
latency_ns = 4000               # L: Larsen, 10 us = 2 o + L
overhead_ns = 3000              # o: guess, how 10 us are divided: a system call and the TCP stack
gap_ns = 3000                   # g: guess: one message for each system call
gap_per_byte_ns = 0.85          # G: guess: 94 % of 10 Gb/s, for headers of Ethernet, IP and TCP
overhead_per_byte_ns = 0.2      # O: guess: TCP copies each byte
eager_bytes = 65536             # S: guess. It depends on the MPI library and its settings
switch_ns = 520                 # Tolley
bandwidth_bytes_per_ns = 1.25   # 10 Gb/s
header_share = 0.01             # guess

[node]
cores = 16                      # guess: two processors of 8 cores
memory_latency_ns = 400         # guess
memory_per_byte_ns = 0.2        # guess: 5 GB/s between two cores
flops_per_ns = 8                # guess: of a core

[topology]
kind = "crossbar"               # one switch
nodes = 48
# kind = "graph"                # a line for each link: leaf switches below one spine, for example
# file = "network.graph"

[collectives]
choice = "openmpi"              # or "mpich"
reduce_ns_per_byte = 0.2        # guess
)";

constexpr std::array kPresets = {
    Preset{"ib-hdr200", "InfiniBand HDR, 200 Gb/s", kHdr200},
    Preset{"ib-20g", "InfiniBand DDR, 20 Gb/s", kIb20g},
    Preset{"10gbe", "Ethernet, 10 Gb/s, with TCP", k10Gbe},
};

}  // namespace

std::span<const Preset> presets() { return kPresets; }

const Preset* find_preset(std::string_view name) {
  const auto found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? nullptr : &*found;
}

}  // namespace xylem::predict
