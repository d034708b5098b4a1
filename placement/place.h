#pragma once

// Plans a tree: chooses a host for every communication process. The user has chosen a shape or a
// topology file, and a policy. The job has hosts with back ends and processes.
//
//   auto plan = plan_tree(hosts, *parse_shape("kary:2"), {}, "login1");  // where processes start
//   auto leaves = plan->internal_leaves;                                 // where back ends attach
//   auto parents = attach(hosts_of_back_ends(hosts), leaves);            // see attach.h
//
// The tree is planned once, after all expected hosts have joined. Back ends that join later attach
// to the internal leaves of this plan (attach_one).

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

/// What decides on which hosts the communication processes of a shape run.
struct Choice {
  Policy policy = Policy::kEven;
  std::vector<std::uint64_t> room{};  ///< The room of each host, see room_of(); empty: no limits.
  /// Used only with kFuzzy. `facts` has an entry for each host; empty: facts_of() is used.
  FuzzyRules rules = default_fuzzy_rules();
  std::vector<FactValues> facts{};
};

/// A communication process to start.
struct PlannedCommProcess {
  NodeId node{};            ///< Counted from 1, breadth first.
  HostId host{};            ///< Index in the planned host list.
  NodeId parent{};          ///< kFrontEndNode, or a communication process before this one.
  std::uint32_t level = 0;  ///< Counted from 1. Back ends of an internal leaf are one level deeper.
};

/// A planned tree. It is only a value: no process is started.
struct Plan {
  tree::Topology topology;  ///< The inner tree and the names of its processes.
  std::vector<PlannedCommProcess> comm_processes;  ///< Node n is entry n - 1.
  /// In the order of node ids, with 0 back ends each. Never empty.
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
/// If the shape is a file, reads the file and calls the plan_tree() for files. The file names the
/// hosts, so only `choice.room` applies.
///
/// `front_end_host` is the front end's host and is used only in the topology. It need not be one of
/// `hosts`. The front end does not count as load. In the topology, the processes of each host name
/// are numbered from 0. The front end has number 0 on its host. Communication processes get the
/// next numbers, in the order of their nodes. Two hosts with the same name share the numbers.
///
/// Fails if place_evenly(), place_fuzzily() or read_topology_file() fails. Also fails with
/// kInvalidArgument in these cases:
/// - The shape needs communication processes, but `hosts` is empty.
/// - is_host_name() refuses a host's name, or the tree would be too large.
/// - A file puts more processes on a host than the host has room for: `x.topo:3: no room for
///   node1:1: node1 has room for 1 communication processes; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape,
                       const Choice& choice, const std::string& front_end_host);

/// Plans a topology file. The root of the file's tree is the front end; its host need not be one of
/// `hosts`. All other processes are communication processes on the hosts that the file names.
///
/// A name in the file means the first host with this name. If no host has this name, names with and
/// without a domain match: "node12" means "node12.cluster.org", and the reverse. Exactly one host
/// must match in this way. "localhost" means the host called `front_end_host`.
///
/// Fails with kNotFound if no host matches, or if several hosts match only without a domain:
/// `x.topo:3: host node9 is not part of this job; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Adds each host of the file that is not in `hosts`. Names match as in plan_tree() for files. The
/// new hosts have no back ends and are in the order of the file. Use it if you can start processes
/// on hosts without a back end. A name that matches several hosts is not added; plan_tree() then
/// refuses the file. The file's front end is ignored.
void add_foreign_hosts(std::vector<tree::Host>& hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Returns, in one clause, the reason why a communication process is on its host. `xylem tree` and
/// the pages show this text, because they do not have the plan. `hosts` are the hosts of the plan.
/// Examples:
/// - "even: fewest processes first, 2 there"
/// - "fuzzy: score 0.74, very good 0.41, good 0.33, fair 0.26": the largest grades, at most four,
///   and only grades of at least 0.005
/// - "the topology file says so"
std::string reason_of(const Plan& plan, const PlannedCommProcess& process,
                      std::span<const tree::Host> hosts);

/// Returns the host of every back end, in the order of `hosts`. The result is the argument of
/// attach().
std::vector<HostId> hosts_of_back_ends(std::span<const tree::Host> hosts);

/// Returns the plan as text for people: the steps of the policy, the tree with hosts, and the
/// internal leaves of the back ends. Every step can be checked by hand. `hosts` are the hosts of
/// the plan.
std::string explain(const Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem::placement
