#include "predict/target/target.h"

namespace xylem::predict {

std::string_view example_target() {
  return R"(# A target for `xylem predict --target FILE`: the machine for which a run is predicted.
# The numbers are an example, not those of a real machine. Times are decimal fractions of a nanosecond,
# with at most six digits after the point.

[network]
# The ends of a message (LogGPS). All six keys are needed.
latency_ns = 1300               # L: time between two nodes. Only the model loggps uses it.
overhead_ns = 500               # o: time of a processor to start or to take a message
gap_ns = 300                    # g: time of a network interface (NIC) per message
gap_per_byte_ns = 0.4           # G: time of a NIC per byte, except the first
overhead_per_byte_ns = 0        # O: time of a processor per byte, except the first
eager_bytes = 16384             # S: a larger message waits for its receive
# Switches and channels. Needed with a topology, and only then.
switch_ns = 100                 # time of a switch to send a header on
bandwidth_bytes_per_ns = 2.5    # of a channel. 2.5 bytes a nanosecond are 2.5 GB/s, or 20 Gb/s
header_share = 0.01             # share of a message that a switch needs before it sends it on

[node]
# count = 16                    # nodes that ranks may use. If left out: all of the topology
cores = 4                       # 1 if left out
# processes = 8                 # maximum number of ranks on a node. If left out: as many as cores
# slice_ns = 4000000            # time slice of the round robin. Needed if processes is above cores
# processor_ratio = 1.5         # speed of a core, relative to that on which the program was recorded
memory_latency_ns = 250         # between two ranks of a node. Needed if there may be several
memory_per_byte_ns = 0.1        # the same
flops_per_ns = 4                # speed of a core, for time-independent traces. 1 if left out

[mapping]
kind = "block"                  # block: ranks 0, 1, 2, 3 on node 0, and so on
                                # cyclic: rank r on node r mod the number of nodes
                                # file: a file has the node of each rank, in the order of ranks
# file = "ranks.map"

[topology]
# Leave this section out, and all nodes are equally far from each other (loggps only).
kind = "fat_tree"
arity = 4                       # a k-ary n-tree: arity k, levels n, k^n nodes
levels = 2
# kind = "crossbar"             # one switch
# nodes = 16
# kind = "mesh"                 # or "torus": one to three dimensions, a switch for each node
# size = "4x4x2"
# kind = "dragonfly"            # groups of routers; one link between each pair of groups
# groups = 9
# routers = 4                   # of a group
# nodes_per_router = 2
# global_links = 2              # of a router
# kind = "graph"                # a file with two words in each line: the ends of a link
# file = "network.graph"        # numbers are nodes, other words are switches

[collectives]
choice = "mpich"                # or "openmpi": who chooses the algorithms
# reduce_ns_per_byte = 0.1      # time of a processor to reduce a byte with another one. 0 if left out
# bcast = "binomial"            # this algorithm for all calls; the same for the other collectives

# The storage of programs that access files. To use it, remove "# " from the lines below. Sizes are bytes, or text
# such as "64k", "1M", "2G".
# [storage]
# nodes = 2                     # storage nodes: nodes of the topology on which no rank is
# attached = "last"             # the last nodes of the topology; or a list of them such as [14, 15]
# stripe_bytes = "1M"           # a file goes around the storage nodes in pieces of this size
# page_bytes = 4096             # of all caches. 4096 if left out
# page_cache_bytes = "1G"       # of each compute node. 0 or left out: none
# read_ahead = "sequential"     # or "none": what a compute node reads before it is asked for
# read_ahead_bytes = "128k"     # at most so much, for "sequential"
# write = "back"                # into the page cache; or "through": to the storage nodes at once
# copy_per_byte_ns = 0.05       # between page cache and program. 0 if left out
# connection = "kept"           # or "per_request": when a connection to a storage node is established
# request_ns = 5000             # time of a storage node for a request. 0 if left out
# buffer_bytes = "4G"           # cache of each storage node. 0 or left out: none
# buffer_read_ahead_bytes = "1M" # what a storage node reads ahead of sequential reads. 0 if left out
# disk_read_ns = 4000000        # mean latencies of a disk array
# disk_write_ns = 4000000
# disk_bandwidth_bytes_per_ns = 0.5
)";
}

}  // namespace xylem::predict
