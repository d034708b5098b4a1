#pragma once

// From hosts to a tree: what is typed (a shape or a topology file, and a policy) and what is there
// (hosts, back ends, processes) give a plan that names a host for every communication process.
//
//   auto plan = plan_tree(hosts, *parse_shape("kary:2"), {}, "login1");  // who starts where
//   auto leaves = plan->internal_leaves;                                 // who may be attached to
//   auto parents = attach(hosts_of_back_ends(hosts), leaves);            // see attach.h
//
// The tree is planned once, when gathering is complete; back ends that come later are attached to
// the same internal leaves by attach_one.

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

/// What decides which hosts carry the communication processes of a shape.
enum class Policy {
  kEven,   ///< even.h: levels Host::processes.
  kFuzzy,  ///< fuzzy.h: by scores from what is known of the hosts.
};

/// "even", "fuzzy". Fails with kInvalidArgument and a sentence that lists the policies.
Result<Policy> parse_policy(std::string_view text);
std::string to_text(Policy policy);

/// How hosts are chosen for the communication processes of a shape.
struct Choice {
  Policy policy = Policy::kEven;
  std::vector<std::uint64_t> room{};  ///< By host, see room_of; empty: no limits.
  /// For kFuzzy. `facts` has an entry a host; empty is facts_of(hosts): what the list tells itself.
  FuzzyRules rules = default_fuzzy_rules();
  std::vector<HostFacts> facts{};
};

/// A communication process to be started.
struct CommProcess {
  NodeId node{};            ///< From 1, breadth first.
  HostId host{};            ///< Where, in the host list that was planned for.
  NodeId parent{};          ///< kFrontEndNode, or a communication process before this one.
  std::uint32_t level = 0;  ///< From 1; back ends of an internal leaf are one level deeper.
};

/// A planned tree. A value; nothing is started by it.
struct Plan {
  tree::Topology topology;                    ///< Names and skeleton; prints as MRNet's text.
  std::vector<CommProcess> comm_processes;    ///< Node n is entry n - 1.
  std::vector<InternalLeaf> internal_leaves;  ///< By node id, never empty, without back ends.
  std::optional<EvenPlacement> even;          ///< How kEven decided, ...
  std::optional<FuzzyPlacement> fuzzy;        ///< ... or kFuzzy; both nullopt for a file.
};

/// Plans a shape: as many communication processes as it wants for the back ends of all hosts, on
/// the hosts that the choice says, in breadth-first order (fill_order of the policy). A shape that
/// is a file is read and planned as below: it names the hosts, so of the choice only the room
/// counts.
///
/// `front_end_host` is the name of the front end's host, in the topology only: the front end is
/// where it is, on one of the hosts or not, and does not count as a load. Processes are numbered by
/// host name: the front end is 0 on its host, communication processes take the numbers that follow,
/// in order of their nodes. Two hosts of one name share the numbers.
///
/// Fails with kInvalidArgument: no hosts although the shape wants communication processes; a host's
/// name cannot be written in a topology; the tree would be too large. And as place_evenly,
/// place_fuzzily and read_topology_file; and a file that puts more on a host than it has room for:
/// `x.topo:3: no room for node1:1: node1 has room for 1 communication processes; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::Shape& shape,
                       const Choice& choice, const std::string& front_end_host);

/// Plans a topology file: its processes but the first are communication processes on the hosts that
/// it names. The first is the front end, which is where it is: its host's name is not looked up.
///
/// A name of the file is the host of that name; or the one host that equals it up to the first dot,
/// where one of the two has no dot ("node12" and "node12.cluster.org"); or, as "localhost", the
/// host called `front_end_host`. Of several hosts with one full name it means the first.
///
/// Fails with kNotFound when a name is none of the hosts, or fits several by its first part:
/// `x.topo:3: host node9 is not part of this job; ...`.
Result<Plan> plan_tree(std::span<const tree::Host> hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Adds to `hosts` those that the file names and that are none of them by the rules above, without
/// back ends, each once, in the order of the file: for whoever can start processes where no back
/// end is. What fits several hosts is left for plan_tree to refuse; the file's front end is not
/// looked at.
void add_foreign_hosts(std::vector<tree::Host>& hosts, const tree::TopologyFile& file,
                       const std::string& front_end_host);

/// Why a communication process of the plan is where it is, in one clause, for whoever sees the tree
/// later without the plan: "even: fewest processes first, 2 there", "fuzzy: score 0.74, very good
/// 0.41, good 0.33, fair 0.26" (grades of 0.005 and more, by falling share; four at most), "the
/// topology file says so". `hosts` as planned for.
std::string reason_of(const Plan& plan, const CommProcess& process,
                      std::span<const tree::Host> hosts);

/// The host of every back end, host by host: what attach() takes when all are there.
std::vector<HostId> hosts_of_back_ends(std::span<const tree::Host> hosts);

/// The plan for a person: the steps of the policy (even.h, fuzzy.h), the tree with hosts, and how
/// the back ends of the hosts attach, each checkable by hand. `hosts` as planned for.
std::string explain(const Plan& plan, std::span<const tree::Host> hosts);

}  // namespace xylem::placement
