#pragma once

// Lists of hosts as people write them (RFC 29 of flux, the form of Slurm and pdsh too), read and
// written:
//
//   node[01-04,07],head  =  node01 node02 node03 node04 node07 head
//
// Items are separated by commas. A bracket holds numbers and ranges of numbers; each is as wide as
// the first number of its range is written ("[08-10]" is 08 09 10), and where the bracket's first
// number has leading zeros as wide as that ("[005,4,11-13]" is 005 004 011 012 013). An item may
// have several brackets: rack[1-2]n[1-2] is rack1n1 rack1n2 rack2n1 rack2n2.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::tree {

/// No list names more hosts, whatever it says.
constexpr std::size_t kMaxListedHosts = 1u << 20;

/// The hosts of a list, in its order, as often as it names them. An empty text names none.
/// Fails with kInvalidArgument and a sentence that quotes the item: an item that is empty, a
/// bracket that is open, empty or nested, a range that falls or is no range of numbers, a number of
/// more than 18 digits, a name that is_host_name refuses, more hosts than kMaxListedHosts. Any
/// bytes may come: it always returns.
Result<std::vector<std::string>> parse_host_list(std::string_view text);

/// The shortest list of this form for the hosts, each once: names that differ in their last number
/// only share a bracket. Sorted, numbers by value. Names are taken as they are: what is no host
/// name stands in the list, but is not read back.
std::string fold_hosts(std::span<const std::string> hosts);

}  // namespace xylem::tree
