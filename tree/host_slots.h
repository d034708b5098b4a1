#pragma once

// How many processes a launcher puts on which host, as its own files and variables tell it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::tree {

/// A host, and how many processes a launcher would start there.
struct HostSlots {
  std::string name;
  std::uint32_t slots = 0;

  bool operator==(const HostSlots&) const = default;
};

/// No host is said to have more.
constexpr std::uint32_t kMaxSlots = 1'000'000;

/// Reads an MPI host file: a host a line, `#` comments, empty lines. All of these are read:
///
///   node1 slots=4 max_slots=8      Open MPI; slots, cpus, cpu and count are one
///   ada@node2                      the same, with a user
///   node3:4 binding=rr             MPICH's Hydra
///   node[4-6]:2                    a list of hosts (host_list.h) stands for each of them
///   node4                          1 slot; PBS names a host as often as it has slots
///
/// A host that is named again has the slots of all its lines; hosts are in the order of their first
/// ones. Other words of the two launchers (max_slots, max-slots, slots_max, binding, map, ifname,
/// user, username) say nothing about placement and are passed over.
///
/// `source` is the file's name in errors, which read `SOURCE:LINE: what, what to do`. Fails with
/// kInvalidArgument: a name is no host name; a number of slots is none from 0 to kMaxSlots; another
/// word; no host at all; more than kMaxListedHosts; a text over kMaxTextBytes. Any bytes may come:
/// it always returns.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails as parse_host_file and as read_text_file (base/text_file.h).
Result<std::vector<HostSlots>> read_host_file(const std::string& path);

/// Counts, one a host: "8,2,2,0", or as Slurm writes SLURM_TASKS_PER_NODE, "4(x3),2" for 4 4 4 2.
/// An empty text is none. Fails with kInvalidArgument and a sentence that quotes the item: not a
/// number from 0 to kMaxSlots, repeated 0 times, more than kMaxListedHosts.
Result<std::vector<std::uint32_t>> parse_counts(std::string_view text);

/// The hosts of a Slurm job by its variables SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE; without
/// the second (an allocation before its first step) 1 each. Fails with kInvalidArgument when one
/// cannot be read, names it, or when they speak of different numbers of hosts.
Result<std::vector<HostSlots>> slurm_slots(std::string_view node_list,
                                           std::string_view tasks_per_node);

}  // namespace xylem::tree
