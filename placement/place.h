#pragma once

// Plans a tree. The input is the user's choice (a shape or a topology file, and a policy) and the
// job (hosts, back ends, processes). The result is a host for every communication process.
//
//   auto plan = plan_tree(hosts, *parse_shape("kary:2"), {}, "login1");  // where processes start
//   auto leaves = plan->internal_leaves;                                 // where back ends attach
//   auto parents = attach(hosts_of_back_ends(hosts), leaves);            // see attach.h
//
// The tree is planned once, when gathering is complete. attach_one attaches back ends that come
// later to the same internal leaves.

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
  kEven,   ///< even.h: balances Host::processes over the hosts.
  kFuzzy,  ///< fuzzy.h: by scores that come from facts about the hosts.
};

/// Parses "even" or "fuzzy". Fails with kInvalidArgument and a message that lists the policies.
Result<Policy> parse_policy(std::string_view text);
std::string to_text(Policy policy);

/// How hosts are chosen for the communication processes of a shape.
struct Choice {
  Policy policy = Policy::kEven;
  std::vector<std::uint64_t> room{};  ///< By host, see room_of; empty: no limits.
  /// For kFuzzy. `facts` has an entry for each host; empty: facts_of(hosts).
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

/// A planned tree. A value; it starts nothing.
struct Plan {
  tree::Topology topology;  ///< Names and skeleton. It prints as MRNet's text.
  std::vector<PlannedCommProcess> comm_processes;  ///< Node n is entry n - 1.
  std::vector<InternalLeaf> internal_leaves;       ///< By node id, without back ends. Never empty.
  std::optional<EvenPlacement> even;  ///< The steps of even placement; set only for Policy::kEven.
  /// The steps of fuzzy placement; set only for Policy::kFuzzy. If the shape is a file, neither
  /// `even` nor `fuzzy` is set.
  std::optional<FuzzyPlacement> fuzzy;
};

/// Plans a shape. It makes the communication processes that the shape needs for the back ends of
/// all hosts and puts them on hosts by `choice`, in breadth-first order (fill_order of the policy).
/// If the shape is a file, the file is read and planned as below. The file names the hosts, so only
/// `choice.room` applies.
///
/// `front_end_host` is the front end's host and is used only in the topology. It need not be one of
/// the hosts, and the front end does not count as load. Processes are numbered by host name. The
/// front end is 0 on its host; communication processes take the next numbers in the order of their
/// nodes. Two hosts of the same name share the numbers.
///
/// Fails with kInvalidArgument: no hosts although the shape needs communication processes; a host's
/// name cannot be written in a topology; the tree would be too large. Also fails like place_evenly,
/// place_fuzzily and read_topology_file, and if a file puts more processes on a host than it has
/// room for: `x.topo:3: no room for node1:1: node1 has room for 1 communication processes; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape,
                       const Choice& choice, const std::string& front_end_host);

/// Plans a topology file. The first process is the front end; the name of its host is not looked
/// up. All other processes are communication processes on the hosts that the file names.
///
/// A name in the file means the first host of that name. If there is none, it means the only host
/// that is equal up to the first dot, if one of the two names has no dot ("node12" and
/// "node12.cluster.org"). "localhost" means the host called `front_end_host`.
///
/// Fails with kNotFound if a name matches no host, or several hosts by its first part: `x.topo:3:
/// host node9 is not part of this job; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Adds to `hosts` the file's hosts that match none of them by the rules above. They are added
/// without back ends, each once, in the order of the file. For callers that can start processes on
/// hosts without a back end. A name that matches several hosts is not added; plan_tree then refuses
/// it. The file's front end is ignored.
void add_foreign_hosts(std::vector<tree::Host>& hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Returns the reason why a communication process is on its host, in one clause. For displays of
/// the tree that do not have the plan. Examples: "even: fewest processes first, 2 there"; "fuzzy:
/// score 0.74, very good 0.41, good 0.33, fair 0.26" (at most four grades of at least 0.005,
/// largest first); "the topology file says so". `hosts` are the hosts of the plan.
std::string reason_of(const Plan& plan, const PlannedCommProcess& process,
                      std::span<const tree::Host> hosts);

/// Returns the host of every back end, host by host. This is the argument of attach() for all back
/// ends.
std::vector<HostId> hosts_of_back_ends(std::span<const tree::Host> hosts);

/// Returns the plan as text for people: the steps of the policy (even.h, fuzzy.h), the tree with
/// hosts, and how the back ends of the hosts attach. Every step can be checked by hand. `hosts` are
/// the hosts of the plan.
std::string explain(const Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem::placement
