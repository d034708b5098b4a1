#pragma once

// Reads how many processes a launcher starts on each host, from host files and from variables.

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

/// Parses an MPI host file. Each line has a host or a list of hosts; `#` comments and empty lines
/// are allowed. A line has one of these forms:
///
///   node1 slots=4 max_slots=8      Open MPI; slots, cpus, cpu and count mean the same
///   ada@node2                      Open MPI with a user name, which is ignored
///   node3:4 binding=rr             MPICH's Hydra
///   node[4-6]:2                    a list of hosts (host_list.h) with 2 slots each
///   node4                          1 slot; PBS lists a host once for each slot
///
/// If several lines name a host, their slots are added up. Hosts are in the order of their first
/// lines. Keywords of the two launchers that do not concern placement are skipped: max_slots,
/// max-slots, slots_max, slots-max, binding, map, ifname, user, username.
///
/// `source` is the file's name in error messages. Messages begin with `SOURCE:LINE`; if there is no
/// host, with `SOURCE`. Safe on any input. Fails with kInvalidArgument in these cases:
/// - an invalid host name, or an unknown keyword;
/// - a number of slots of a line, or of a host in all lines, outside 0 to kMaxSlots;
/// - no host, or more than kMaxListedHosts names, repetitions included;
/// - a text of more than kMaxTextBytes.
Result<std::vector<HostSlots>> parse_host_file(std::string_view text, std::string_view source);

/// Reads a file and parses it. Fails if read_text_file() (base/text_file.h) or parse_host_file()
/// fails.
Result<std::vector<HostSlots>> read_host_file(const std::string& path);

/// Parses a list with one count for each host: "8,2,2,0". As in SLURM_TASKS_PER_NODE, a count may
/// be repeated: "4(x3),2" means 4 4 4 2. An empty text gives no counts. Fails with kInvalidArgument
/// if an item is not a number from 0 to kMaxSlots, or if a repetition is 0. Also fails if there are
/// more than kMaxListedHosts counts. The message quotes the item.
Result<std::vector<std::uint32_t>> parse_counts(std::string_view text);

/// Returns the hosts of a Slurm job from its variables SLURM_JOB_NODELIST and SLURM_TASKS_PER_NODE.
/// If `tasks_per_node` is empty, as before the first step of an allocation, each host has 1 slot.
/// Fails with kInvalidArgument if a variable cannot be parsed; the message names the variable. Also
/// fails if the two variables are for different numbers of hosts.
Result<std::vector<HostSlots>> slurm_slots(std::string_view node_list,
                                           std::string_view tasks_per_node);

}  // namespace xylem::tree
