#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity_text.h"
#include "storage/alert/alert_text_internal.h"
#include "storage/read/finding_rules_internal.h"

namespace xylem::storage {
namespace {

/// Ranks may compute in turn if about one of them computes at a time, and all compute about as
/// long.
constexpr double kMinInTurn = 0.3, kMaxInTurn = 1.5, kEvenLoad = 0.5;
constexpr std::uint64_t kMinRanksInTurn = 3;
/// While any rank computes, several may compute at once for at most this part of the time that
/// chance would give. The same rank may compute for at most this part of the time with one rank.
constexpr double kOfChance = 1.0 / 3, kMaxOfOneRank = 0.6;

double above_mean(const WorldEfficiency& world) {
  return static_cast<double>(world.max_useful_ns) - world.mean_useful_ns;
}

/// Over the whole run, ranks that are slow one after the other look alike. So each slice of time is
/// judged alone.
std::optional<Costly> find_moving_imbalance(const Activity& activity, const FindingLimits& limits,
                                            const WorldEfficiency& world) {
  const auto slices = std::ranges::find(activity.slices, world.world, &SliceActivity::world);
  if (slices == activity.slices.end() || slices->slowest.size() < 2) return {};
  const auto runtime_ns = static_cast<double>(world.runtime_ns);
  const double cost = slice_imbalance(activity, world) - share_of(above_mean(world), runtime_ns);
  if (cost < limits.imbalance) return {};
  std::string names;
  for (const RankGroup& group : slices->slowest) {
    names += (names.empty() ? "" : ", ") + std::to_string(raw(group.first));
    if (group.ranks > 1) names += "-" + std::to_string(raw(group.first) + group.ranks - 1);
  }
  const std::string tilde = about(world.estimated);
  const auto above_ns = static_cast<Nanos>(slices->max_useful_ns - slices->mean_useful_ns);
  Finding finding;
  finding.kind = FindingKind::kMovingImbalance;
  finding.value = cost;
  finding.estimated = world.estimated;
  finding.text = "the slowest rank changes (" + names + (slices->has_more ? ", ..." : "") +
                 "): in slices of " + duration_text(slices->slice_ns) + " it computes " + tilde +
                 duration_text(above_ns) +
                 " longer than the mean of all ranks, over the whole run only " + tilde +
                 duration_text(static_cast<Nanos>(above_mean(world))) + "; the others wait for it";
  return Costly{cost, std::move(finding)};
}

/// The share of the computing time in which exactly one rank computes, if ranks compute
/// independently of each other.
double alone_by_chance(const WorldEfficiency& world) {
  const auto ranks = static_cast<double>(world.ranks);
  const double computes = world.parallel();
  const double alone = ranks * computes * std::pow(1 - computes, ranks - 1);
  return share_of(alone, 1 - std::pow(1 - computes, ranks));
}

std::optional<Costly> find_serialised(const Activity& activity, const FindingLimits& limits,
                                      const WorldEfficiency& world) {
  if (!may_compute_in_turn(world) || world.parallel() >= limits.efficiency) return {};
  const auto turns = std::ranges::find(activity.turns, world.world, &TurnActivity::world);
  if (turns == activity.turns.end()) return {};
  const auto alone = static_cast<double>(turns->alone_ns);
  const double share = share_of(alone, static_cast<double>(turns->computing_ns));
  if (1 - share > kOfChance * (1 - alone_by_chance(world))) return {};
  if (static_cast<double>(turns->longest_alone_ns) > kMaxOfOneRank * alone) return {};
  Finding finding;
  finding.kind = FindingKind::kSerialised;
  finding.value = world.parallel() * static_cast<double>(world.ranks);
  finding.estimated = world.estimated;
  finding.text = "ranks compute in turn: on average " + about(world.estimated) +
                 number_text(finding.value, 1) + " of " + count_text(world.ranks) +
                 " ranks compute at a time, and for " + whole_percent_text(share) +
                 " of the computing time only one";
  return Costly{1 - world.communication(), std::move(finding)};
}

/// The share of the payload that goes between hosts, on average over all ways to put these ranks on
/// these hosts. It is the same for every job: the share of pairs on different hosts.
double random_between_hosts(const Activity& activity, WorldId world) {
  std::map<LeafId, double> on_host;
  double ranks = 0;
  for (const RankActivity& rank : activity.ranks) {
    if (rank.world != world) continue;
    ++on_host[rank.leaf];
    ++ranks;
  }
  double within = 0;
  for (const auto& [leaf, number] : on_host) within += number * (number - 1);
  return ranks < 2 ? 0 : 1 - within / (ranks * (ranks - 1));
}

std::optional<Costly> find_mapping(const Activity& activity, const FindingLimits& limits,
                                   const WorldEfficiency& world, double message_share) {
  const auto of = std::ranges::find(activity.messages, world.world, &MessageActivity::world);
  if (of == activity.messages.end() || of->pair_bytes == 0) return {};
  const double between =
      share_of(static_cast<double>(of->bytes_between_hosts), static_cast<double>(of->bytes));
  const double random = random_between_hosts(activity, world.world);
  if (random >= 1 || message_share < limits.message_share) return {};
  if (1 - between > limits.within_hosts * (1 - random)) return {};
  Finding finding;
  finding.kind = FindingKind::kMapping;
  finding.rank = of->source;
  finding.peer = of->destination;
  finding.value = between;
  finding.text = whole_percent_text(between) +
                 " of the payload of messages goes between hosts, with ranks on hosts at random it"
                 " would be " +
                 whole_percent_text(random) + "; rank " + std::to_string(raw(of->source)) +
                 " sends most to rank " + std::to_string(raw(of->destination)) +
                 " on another host (" + bytes_text(of->pair_bytes) +
                 "): put ranks that exchange much on the same host";
  return Costly{message_share, std::move(finding)};
}

constexpr std::string_view kMakers[] = {"MPI_Comm_dup",
                                        "MPI_Comm_dup_with_info",
                                        "MPI_Comm_idup",
                                        "MPI_Comm_idup_with_info",
                                        "MPI_Comm_create",
                                        "MPI_Comm_create_group",
                                        "MPI_Comm_create_from_group",
                                        "MPI_Comm_split",
                                        "MPI_Comm_split_type",
                                        "MPI_Cart_create",
                                        "MPI_Cart_sub",
                                        "MPI_Graph_create",
                                        "MPI_Dist_graph_create",
                                        "MPI_Dist_graph_create_adjacent",
                                        "MPI_Intercomm_create",
                                        "MPI_Intercomm_merge"};

/// A call of MPI_Comm_split may make no communicator for a rank, so the number is a maximum.
std::optional<Costly> find_communicators(const Activity& activity, const FindingLimits& limits,
                                         const WorldEfficiency& world, double thread_ns) {
  const auto ranks = static_cast<double>(std::max<std::uint64_t>(world.ranks, 1));
  double made = 0, freed = 0, making_ns = 0;
  bool is_estimated = false;
  std::string names;
  for (const FunctionActivity& of : activity.functions) {
    if (of.world != world.world || of.calls == 0) continue;
    if (of.name == "MPI_Comm_free" || of.name == "MPI_Comm_disconnect") {
      freed += static_cast<double>(of.calls) / ranks;
    } else if (std::ranges::find(kMakers, of.name) != std::end(kMakers)) {
      made += static_cast<double>(of.calls) / ranks;
      making_ns += static_cast<double>(of.time_ns);
      is_estimated |= of.estimated;
      names += (names.empty() ? "" : ", ") + of.name;
    }
  }
  if (made - freed < limits.communicators) return {};
  const double cost = share_of(making_ns, thread_ns);
  Finding finding;
  finding.kind = FindingKind::kCommunicators;
  finding.value = made - freed;
  finding.text = "a rank makes up to " + count_text(static_cast<std::uint64_t>(made)) +
                 " communicators on average (" + names + ") and frees " +
                 (freed == 0  ? "none"
                  : freed < 1 ? "almost none"
                              : count_text(static_cast<std::uint64_t>(freed))) +
                 " of them: an MPI library has room for a limited number; making them takes " +
                 about(is_estimated) + whole_percent_text(cost) + " of all time";
  return Costly{cost, std::move(finding)};
}

}  // namespace

bool may_compute_in_turn(const WorldEfficiency& world) {
  const double at_once = world.parallel() * static_cast<double>(world.ranks);
  return world.ranks >= kMinRanksInTurn && at_once >= kMinInTurn && at_once <= kMaxInTurn &&
         world.load_balance() >= kEvenLoad;
}

double slice_imbalance(const Activity& activity, const WorldEfficiency& world) {
  const auto slices = std::ranges::find(activity.slices, world.world, &SliceActivity::world);
  if (slices == activity.slices.end()) return 0;
  return share_of(slices->max_useful_ns - slices->mean_useful_ns,
                  static_cast<double>(world.runtime_ns));
}

std::vector<Costly> find_by_rules(const Activity& activity, const FindingLimits& limits,
                                  const WorldEfficiency& world, double thread_ns,
                                  double message_share) {
  std::vector<Costly> found;
  const auto keep = [&found](std::optional<Costly> it) {
    if (!it) return false;
    found.push_back(*std::move(it));
    return true;
  };
  // While the slow one of an imbalance computes, the others wait too. So ranks are said to compute
  // in turn only if nothing else explains it.
  if (!keep(find_moving_imbalance(activity, limits, world))) {
    keep(find_serialised(activity, limits, world));
  }
  keep(find_mapping(activity, limits, world, message_share));
  keep(find_communicators(activity, limits, world, thread_ns));
  return found;
}

}  // namespace xylem::storage
