#pragma once

// Reads and writes host lists in the form of Slurm, pdsh and flux (RFC 29):
//
//   node[01-04,07],head  =  node01 node02 node03 node04 node07 head
//
// Items are separated by commas. A bracket contains numbers and ranges of numbers. In a range, each
// number is padded with zeros to the width of the first number: "[08-10]" is 08 09 10. If the first
// number of a bracket has leading zeros, all numbers in the bracket are padded to the width of this
// number: "[005,4,11-13]" is 005 004 011 012 013. An item may have several brackets:
// rack[1-2]n[1-2] is rack1n1 rack1n2 rack2n1 rack2n2.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xylem::tree {

/// Maximum number of hosts in a list.
constexpr std::size_t kMaxListedHosts = 1u << 20;

/// Returns the hosts in the order of the list. A host that is listed twice is returned twice. An
/// empty text gives no hosts. Safe on any input. Fails with kInvalidArgument in these cases; the
/// message quotes the item or the list:
/// - an empty item, or a name that is_host_name() refuses;
/// - a bracket that is open, empty or nested;
/// - a range that descends, an end of a range that is not a number, or a number of more than 18
///   digits;
/// - more hosts than kMaxListedHosts.
Result<std::vector<std::string>> parse_host_list(std::string_view text);

/// Returns a short list in this form that names each host once. Names that differ only in the last
/// number share a bracket, unless leading zeros prevent this. The list is sorted by name; the
/// numbers in a bracket are sorted by value. Names are not checked: if a host name is invalid,
/// parse_host_list() may refuse the list or return other names.
std::string fold_hosts(std::span<const std::string> hosts);

}  // namespace xylem::tree
