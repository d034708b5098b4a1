#pragma once

// Reads the number of processes that a launcher starts on each host, from files and variables.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::tree {

/// A host and the number of processes that a launcher would start there.
struct HostSlots {
  std::string name;
  std::uint32_t slots = 0;

  bool operator==(const HostSlots&) const = default;
};

/// Maximum number of slots of a host.
constexpr std::uint32_t kMaxSlots = 1'000'000;

/// Reads an MPI host file. It has one host on each line, `#` comments and empty lines. Accepted
/// forms:
///
///   node1 slots=4 max_slots=8      Open MPI; slots, cpus, cpu and count mean the same
///   ada@node2                      the same, with a user
///   node3:4 binding=rr             MPICH's Hydra
///   node[4-6]:2                    a list of hosts (host_list.h); 2 slots for each of them
///   node4                          1 slot; PBS lists a host once for each slot
///
/// If several lines name a host, its slots are added. Hosts are in the order of their first lines.
/// Other keywords of the two launchers (max_slots, max-slots, slots_max, binding, map, ifname,
/// user, username) do not concern placement and are skipped.
///
/// `source` is the file's name in errors, which read `SOURCE:LINE: what, what to do`. Fails with
/// kInvalidArgument: an invalid host name; a number of slots outside 0 to kMaxSlots; an unknown
/// keyword; no host; more than kMaxListedHosts; a text over kMaxTextBytes. Safe on any input.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails like parse_host_file and like read_text_file
/// (base/text_file.h).
Result<std::vector<HostSlots>> read_host_file(const std::string& path);

/// Parses a list with one count for each host: "8,2,2,0". The form of SLURM_TASKS_PER_NODE is also
/// accepted: "4(x3),2" means 4 4 4 2. An empty text gives no counts. Fails with kInvalidArgument
/// and a message that quotes the item: not a number from 0 to kMaxSlots, a repetition of 0, more
/// than kMaxListedHosts.
Result<std::vector<std::uint32_t>> parse_counts(std::string_view text);

/// Returns the hosts of a Slurm job from its variables SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE.
/// If the second is empty (an allocation before its first step), each host has 1 slot. Fails with
/// kInvalidArgument if a variable cannot be parsed (the message names it), or if the numbers of
/// hosts differ.
Result<std::vector<HostSlots>> slurm_slots(std::string_view node_list,
                                           std::string_view tasks_per_node);

}  // namespace xylem::tree
