#pragma once

// Plans a tree: chooses a host for every communication process. The input is a shape or a topology
// file, a policy, and the hosts of the job.
//
//   auto plan = plan_tree(hosts, *parse_shape("kary:2"), {}, "login1");  // where processes start
//   auto leaves = plan->internal_leaves;                                 // where back ends attach
//   auto parents = attach(hosts_of_back_ends(hosts), leaves);            // see attach.h
//
// The tree is planned once. Back ends that join later attach to the internal leaves of this plan
// (attach_one).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "placement/attach.h"
#include "placement/even.h"
#include "placement/facts.h"
#include "placement/fuzzy.h"
#include "placement/room.h"
#include "tree/host.h"
#include "tree/shape.h"
#include "tree/topology.h"
#include "tree/topology_text.h"

namespace xylem::placement {

/// The rule that chooses the hosts of a shape's communication processes.
enum class Policy {
  kEven,   ///< even.h: balances the number of processes over the hosts.
  kFuzzy,  ///< fuzzy.h: gives each host a score from facts about the host.
};

/// Parses "even" or "fuzzy". Fails with kInvalidArgument and a message that lists the policies.
Result<Policy> parse_policy(std::string_view text);
std::string to_text(Policy policy);

/// The choices that decide on which hosts the communication processes of a shape run.
struct Choice {
  Policy policy = Policy::kEven;
  std::vector<std::uint64_t> room{};  ///< The room of each host, see room_of(); empty: no limits.
  FuzzyRules rules = default_fuzzy_rules();  ///< Used only with kFuzzy.
  /// Used only with kFuzzy. Has an entry for each host; empty: facts_of() is used.
  std::vector<FactValues> facts{};
};

/// A communication process to start.
struct PlannedCommProcess {
  NodeId node{};    ///< Counted from 1, breadth first.
  HostId host{};    ///< Index in the planned host list.
  NodeId parent{};  ///< kFrontEndNode, or a communication process earlier in the list.
  /// Counted from 1. The back ends of an internal leaf are one level deeper than the leaf.
  std::uint32_t level = 0;
};

/// A planned tree. No process is started.
struct Plan {
  tree::Topology topology;  ///< The inner tree and the names of its processes.
  std::vector<PlannedCommProcess> comm_processes;  ///< Node n is entry n - 1.
  /// In the order of node ids; `back_ends` is 0 in each. Never empty.
  std::vector<InternalLeaf> internal_leaves;
  std::optional<EvenPlacement> even;  ///< The steps of even placement; set only for Policy::kEven.
  /// The steps of fuzzy placement; set only for Policy::kFuzzy. If the shape is a file, `even` and
  /// `fuzzy` are both empty.
  std::optional<FuzzyPlacement> fuzzy;
};

/// Plans a shape. Computes how many communication processes the shape needs for the back ends of
/// all hosts. The policy then chooses a host for each process, in breadth-first order (see
/// fill_order()).
///
/// If the shape is a file, reads the file and calls the other plan_tree(). The file names the
/// hosts, so of `choice` only `room` is used.
///
/// `front_end_host` is the front end's host and is used only in the topology. It need not be one of
/// `hosts`. The front end does not count as load. In the topology, the processes on a host are
/// numbered from 0: first the front end, then communication processes in the order of their nodes.
/// If two hosts have the same name, their processes are numbered together.
///
/// Fails if place_evenly(), place_fuzzily() or read_topology_file() fails. Also fails with
/// kInvalidArgument in these cases:
/// - The shape needs communication processes, but `hosts` is empty.
/// - is_host_name() refuses a host's name, or the tree would be too large.
/// - A file puts more processes on a host than the host has room for. Message: `x.topo:3: no room
///   for node1:1: node1 has room for 1 communication processes; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape,
                       const Choice& choice, const std::string& front_end_host);

/// Plans a topology file. The root of the file's tree is the front end; its host need not be one of
/// `hosts`. All other processes are communication processes on the hosts that the file names.
///
/// A name in the file means the first host with this name. If no host has this name, names with and
/// without a domain also match, for example "node12" and "node12.cluster.org". Then exactly one
/// host must match. "localhost" means the host called `front_end_host`.
///
/// Fails with kNotFound if no host matches, or if several hosts match only without the domain.
/// Message: `x.topo:3: host node9 is not part of this job; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Adds each host of the file that is not in `hosts`. Use it if processes can be started on hosts
/// without a back end. Names match as in plan_tree(). The new hosts have no back ends and are in
/// the order of the file. If a name matches several hosts, it is not added, and plan_tree() refuses
/// the file. The file's front end is ignored.
void add_foreign_hosts(std::vector<tree::Host>& hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Returns, in one clause, the reason why a communication process is on its host. `xylem tree` and
/// the web page show this text. `hosts` are the hosts of the plan. Examples:
/// - "even: fewest processes first, 2 there"
/// - "fuzzy: score 0.74, very good 0.41, good 0.33, fair 0.26": at most the four largest
///   memberships in grades; those below 0.005 are left out
/// - "the topology file says so"
std::string reason_of(const Plan& plan, const PlannedCommProcess& process,
                      std::span<const tree::Host> hosts);

/// Returns the host of every back end, in the order of `hosts`. The result is the argument of
/// attach().
std::vector<HostId> hosts_of_back_ends(std::span<const tree::Host> hosts);

/// Returns the plan as text for people: the steps of the policy, the tree with hosts, and the
/// internal leaf of each back end. Every step can be checked by hand. `hosts` are the hosts of the
/// plan.
std::string explain(const Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem::placement
