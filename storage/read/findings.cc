// What makes a world slow, as sentences. Each rule returns at most one finding with its cost: the
// share of the world's time that could be won. The costs decide the order.

#include "storage/read/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/quantity_text.h"
#include "base/saturating.h"
#include "storage/alert/alert_text_internal.h"
#include "storage/read/finding_rules_internal.h"
#include "storage/read/under_way.h"

namespace xylem::storage {
namespace {

constexpr std::size_t kMaxHeadlines = 3;
/// Ranks are named with the slowest one if they are above the mean by this part of its distance.
/// Waits count as equally long if one has this part of the other's time.
constexpr double kAlike = 0.75;
/// From this share on, the longest wait of a rank stands for all its waits with the same root
/// cause.
constexpr double kNearlyAll = 0.95;
/// From this share on, all waits count as analysed.
constexpr double kCompleteCoverage = 0.995;

/// The ranks of one world.
struct WorldRanks {
  std::vector<const RankActivity*> ranks;
  double thread_ns = 0;  ///< Time of all threads.
};

/// Finds what is worth a sentence about one world.
class WorldRules {
 public:
  WorldRules(const Activity& activity, const FindingLimits& limits, const WorldEfficiency& world,
             const WorldRanks& ranks, bool names_world)
      : activity_(activity),
        limits_(limits),
        world_(world),
        ranks_(ranks),
        runtime_ns_(static_cast<double>(world.runtime_ns)),
        prefix_(names_world ? "world " + std::to_string(raw(world.world)) + ": " : "") {
    for (const FunctionActivity& function : activity.functions) {
      if (function.world == world.world) mpi_ns_ += static_cast<double>(function.time_ns);
    }
  }

  std::vector<Costly> find() {
    if (world_.runtime_ns < limits_.runtime_ns) return {};
    for (auto rule : {&WorldRules::imbalance, &WorldRules::wait, &WorldRules::function,
                      &WorldRules::small_messages}) {
      (this->*rule)();
    }
    for (auto& it : find_by_rules(activity_, limits_, world_, ranks_.thread_ns, message_share())) {
      add(it.cost, std::move(it.finding));
    }
    return std::move(found_);
  }

  Finding headline(bool stands_out) const {
    const bool is_short = world_.runtime_ns < limits_.runtime_ns;
    Finding finding;
    finding.kind = is_short ? FindingKind::kTooShort : FindingKind::kEfficiency;
    finding.world = world_.world;
    finding.estimated = world_.estimated;
    if (is_short) {
      finding.severity = Severity::kNote;
      finding.value = runtime_ns_ / kSecond;
      finding.text = prefix_ + "only " + duration_text(world_.runtime_ns) +
                     " between MPI_Init and MPI_Finalize: too short to judge";
      return finding;
    }
    const bool is_low = world_.parallel() < limits_.efficiency;
    finding.severity = is_low                                 ? Severity::kWarning
                       : stands_out || world_.lost_calls != 0 ? Severity::kNote
                                                              : Severity::kGood;
    finding.value = world_.parallel();
    const std::string tilde = about(world_.estimated);
    finding.text = prefix_ + (finding.severity == Severity::kGood ? "nothing stands out: " : "") +
                   "parallel efficiency " + tilde + whole_percent_text(world_.parallel()) +
                   " = load balance " + tilde + whole_percent_text(world_.load_balance()) +
                   " x communication efficiency " + tilde +
                   whole_percent_text(world_.communication()) + " (" + count_text(world_.ranks) +
                   (world_.ranks == 1 ? " rank, " : " ranks, ") + duration_text(world_.runtime_ns) +
                   lost_text() + ")";
    return finding;
  }

 private:
  std::string lost_text() const {
    if (world_.lost_calls == 0) return {};
    return ", without " + count_text(world_.lost_calls) +
           (world_.lost_calls == 1 ? " lost call" : " lost calls");
  }

  /// The share of T by which the slowest rank is above the mean.
  double imbalance_share() const {
    return (static_cast<double>(world_.max_useful_ns) - world_.mean_useful_ns) / runtime_ns_;
  }

  void add(double cost, Finding finding) {
    finding.world = world_.world;
    finding.text = prefix_ + finding.text;
    found_.push_back({cost, std::move(finding)});
  }

  std::string host_of(const std::vector<Rank>& ranks) const {
    if (activity_.hosts.size() < 2) return {};
    const HostActivity* host = nullptr;
    for (const RankActivity* rank : ranks_.ranks) {
      if (!std::ranges::binary_search(ranks, rank->rank)) continue;
      const auto found = std::ranges::find(activity_.hosts, rank->leaf, &HostActivity::leaf);
      if (found == activity_.hosts.end() || (host != nullptr && host != &*found)) return {};
      host = &*found;
    }
    return host == nullptr ? "" : host->name;
  }

  void imbalance() {
    const double above = static_cast<double>(world_.max_useful_ns) - world_.mean_useful_ns;
    const double cost = imbalance_share();
    if (world_.ranks < 2 || cost < limits_.imbalance) return;
    std::vector<Rank> slow;
    for (const RankActivity* rank : ranks_.ranks) {
      const auto useful = static_cast<double>(rank->useful_ns());
      if (useful - world_.mean_useful_ns >= kAlike * above) slow.push_back(rank->rank);
    }
    std::ranges::sort(slow);
    const std::string tilde = about(world_.estimated);
    const bool is_one = slow.size() == 1;
    Finding finding;
    finding.kind = FindingKind::kImbalance;
    finding.rank = world_.slowest;
    finding.host = host_of(slow);
    finding.value = cost;
    finding.estimated = world_.estimated;
    finding.text = ranks_text(slow, finding.host) +
                   (is_one ? " computes longest: " : " compute longest: up to ") + tilde +
                   duration_text(world_.max_useful_ns) + ", " + tilde +
                   duration_text(static_cast<Nanos>(above)) + " above the mean of all ranks" +
                   (is_one ? "; the others wait for it" : "; the others wait for them");
    add(cost, std::move(finding));
  }

  bool is_of_world(const WaitActivity& wait) const {
    return wait.world == world_.world && wait.rank != wait.peer;
  }

  /// Of the estimates. A wait for the slowest rank explains others: a rank that waits for it makes
  /// more ranks wait. So it is preferred if it is about as long as the longest.
  const WaitActivity* longest_estimate() const {
    const WaitActivity *longest = nullptr, *for_slowest = nullptr;
    for (const WaitActivity& wait : activity_.waits) {
      if (!is_of_world(wait) || wait.reason) continue;
      if (longest == nullptr || wait.time_ns > longest->time_ns) longest = &wait;
      if (wait.peer != world_.slowest) continue;
      if (for_slowest == nullptr || wait.time_ns > for_slowest->time_ns) for_slowest = &wait;
    }
    if (for_slowest == nullptr) return longest;
    const auto time_ns = static_cast<double>(for_slowest->time_ns);
    return time_ns >= kAlike * static_cast<double>(longest->time_ns) ? for_slowest : longest;
  }

  /// The share of T that a rank waits.
  double share_of_time(const WaitActivity& wait) const {
    return share_of(static_cast<double>(wait.time_ns), runtime_ns_);
  }

  /// The root cause with the most waiting, of those for which a rank waits long. It is the one to
  /// remove first. Many ranks that each wait a little may add up to more.
  const WaitActivity* costliest_wait() const {
    const WaitActivity* costliest = nullptr;
    for (const WaitActivity& wait : activity_.waits) {
      if (!is_of_world(wait) || !wait.reason || share_of_time(wait) < limits_.wait) continue;
      if (costliest == nullptr || wait.reason->in_all_ns > costliest->reason->in_all_ns)
        costliest = &wait;
    }
    return costliest;
  }

  void wait() {
    const WaitActivity* const known = costliest_wait();
    const WaitActivity* const longest = known != nullptr ? known : longest_estimate();
    if (longest == nullptr) return;
    const double share = share_of_time(*longest);
    if (share < limits_.wait) return;
    Finding finding;
    finding.kind = FindingKind::kWait;
    finding.rank = longest->rank;
    finding.peer = longest->peer;
    finding.value = share;
    const auto covered = activity_.covered.find(world_.world);
    if (covered != activity_.covered.end()) finding.covered = covered->second;
    finding.estimated = world_.estimated || known == nullptr;
    const std::string time_text = about(finding.estimated) +
                                  duration_text(static_cast<Nanos>(longest->time_ns)) + " (" +
                                  whole_percent_text(share) + " of the time)";
    if (known == nullptr) {
      finding.text = rank_text(longest->rank) + " waits for " + rank_text(longest->peer) + ": " +
                     time_text + estimate_text(*longest, finding.covered);
      return add(share / static_cast<double>(world_.ranks), std::move(finding));
    }
    const WaitReason& reason = *longest->reason;
    finding.function = reason.function;
    finding.wait_kind = reason.kind;
    finding.root = reason.root;
    finding.text = rank_text(longest->rank) + reason_text(*longest, time_text, finding.covered);
    add(share_of(static_cast<double>(reason.in_all_ns), ranks_.thread_ns), std::move(finding));
  }

  static std::string rank_text(Rank rank) { return "rank " + std::to_string(raw(rank)); }

  bool is_slow(Rank rank) const {
    return imbalance_share() >= limits_.imbalance && rank == world_.slowest;
  }

  std::string slowest_text(Rank cause, const char* name) const {
    return is_slow(cause) ? std::string(", because ") + name + " computes longest" : "";
  }

  std::string estimate_text(const WaitActivity& wait, std::optional<double> covered) const {
    return " in " + calls_text(wait.calls) + " that received from it" +
           slowest_text(wait.peer, "it") + " (estimated from receives" +
           (covered ? ", " + whole_percent_text(*covered) + " of the time in MPI" : "") + ")";
  }

  /// `time_text` is all waiting of the rank with this root cause, maybe for several ranks.
  std::string reason_text(const WaitActivity& wait, const std::string& time_text,
                          std::optional<double> covered) const {
    const WaitReason& reason = *wait.reason;
    const std::string root = rank_text(reason.root), peer = rank_text(wait.peer);
    const std::string calls = " in " + calls_text(wait.calls) + " of " + reason.function + " (" +
                              wait_kind_words(reason.kind) + ")";
    const auto longest_ns = static_cast<double>(reason.longest_ns);
    std::string text;
    if (longest_ns < kNearlyAll * static_cast<double>(wait.time_ns)) {
      text = " waits " + time_text + " because of " + root +
             (is_slow(reason.root) ? ", which computes longest" : "") + "; the longest part is " +
             duration_text(static_cast<Nanos>(reason.longest_ns)) + " for " + peer + calls;
    } else {
      text = " waits for " + peer + ": " + time_text + calls;
      if (reason.root != wait.peer) text += "; the root cause is " + root;
      text += slowest_text(reason.root, reason.root == wait.peer ? "it" : root.c_str());
    }
    if (reason.ranks > 1) {
      text += "; " + count_text(reason.ranks) + " ranks wait because of " + root + ", " +
              duration_text(static_cast<Nanos>(reason.in_all_ns)) + " in all";
    }
    if (covered && *covered < kCompleteCoverage) {
      text += " (" + whole_percent_text(*covered) + " of the time in blocking calls is analysed)";
    }
    return text;
  }

  void function() {
    const FunctionActivity* longest = nullptr;
    for (const FunctionActivity& function : activity_.functions) {
      if (function.world != world_.world) continue;
      if (longest == nullptr || function.time_ns > longest->time_ns) longest = &function;
    }
    if (longest == nullptr) return;
    const auto time_ns = static_cast<double>(longest->time_ns);
    const double cost = share_of(time_ns, ranks_.thread_ns);
    if (cost < limits_.function) return;
    const std::string tilde = about(longest->estimated);
    const auto mean = mean_duration(longest->calls, static_cast<Nanos>(longest->time_ns),
                                    static_cast<Nanos>(longest->max_ns), longest->estimated);
    Finding finding;
    finding.kind = FindingKind::kFunction;
    finding.function = longest->name;
    finding.value = share_of(time_ns, mpi_ns_);
    finding.estimated = longest->estimated;
    finding.text = longest->name + " takes " + tilde + whole_percent_text(finding.value) +
                   " of the time in MPI and " + tilde + whole_percent_text(cost) +
                   " of all time: " + calls_text(longest->calls) +
                   (mean ? ", " + tilde + duration_text(*mean) + " each" : "");
    // While the others wait for the slowest rank, they are in a function. That is the cost of the
    // imbalance.
    const double own =
        cost - std::min(cost, std::max(imbalance_share(), slice_imbalance(activity_, world_)));
    if (own < limits_.function) finding.severity = Severity::kNote;
    add(own, std::move(finding));
  }

  /// True for the functions of this world that move messages.
  bool is_mover(const FunctionActivity& of) const {
    return of.world == world_.world && of.moves_messages;
  }

  /// The share of all time in calls that move messages.
  double message_share() const {
    double time_ns = 0;
    for (const FunctionActivity& of : activity_.functions) {
      if (is_mover(of)) time_ns += static_cast<double>(of.time_ns);
    }
    return share_of(time_ns, ranks_.thread_ns);
  }

  void small_messages() {
    double messages = 0, bytes = 0;
    for (const MessageActivity& of : activity_.messages) {
      if (of.world != world_.world) continue;
      messages += static_cast<double>(of.messages);
      bytes += static_cast<double>(of.bytes);
    }
    const double cost = message_share();
    const double rate = messages * kSecond / (static_cast<double>(world_.ranks) * runtime_ns_);
    if (messages < 1 || bytes > limits_.small_bytes * messages) return;
    if (rate < limits_.messages_per_s || cost < limits_.message_share) return;
    Finding finding;
    finding.kind = FindingKind::kSmallMessages;
    finding.value = bytes / messages;
    const bool is_estimated = std::ranges::any_of(
        activity_.functions,
        [this](const FunctionActivity& of) { return is_mover(of) && of.estimated; });
    finding.text = count_text(static_cast<std::uint64_t>(messages)) + " messages of " +
                   bytes_text(static_cast<std::uint64_t>(std::llround(finding.value))) +
                   " on average; the calls that move them take " + about(is_estimated) +
                   whole_percent_text(cost) + " of all time: fewer and larger messages may help";
    add(cost, std::move(finding));
  }

  const Activity& activity_;
  const FindingLimits& limits_;
  const WorldEfficiency& world_;
  const WorldRanks& ranks_;
  double runtime_ns_, mpi_ns_ = 0;
  std::string prefix_;
  std::vector<Costly> found_;
};

/// The largest number of ranks, or of their threads, that a host had at the same time.
struct Crowd {
  std::uint64_t ranks = 0, threads = 0;
};

std::map<LeafId, Crowd> crowds(const std::vector<RankActivity>& ranks) {
  struct Change {
    LeafId leaf{};
    Nanos at_ns = 0;
    std::int64_t ranks = 0, threads = 0;  // Who leaves counts before who comes.
    auto operator<=>(const Change&) const = default;
  };
  std::vector<Change> changes;
  for (const RankActivity& rank : ranks) {
    if (rank.end_ns <= rank.begin_ns) continue;
    const auto threads = static_cast<std::int64_t>(rank.threads);
    changes.push_back({rank.leaf, rank.begin_ns, 1, threads});
    changes.push_back({rank.leaf, rank.end_ns, -1, -threads});
  }
  std::ranges::sort(changes);
  std::map<LeafId, Crowd> most;
  std::int64_t now_ranks = 0, now_threads = 0;
  for (const Change& change : changes) {  // After a host's last change, nobody is left.
    now_ranks += change.ranks;
    now_threads += change.threads;
    Crowd& crowd = most[change.leaf];
    if (static_cast<std::uint64_t>(now_threads) <= crowd.threads) continue;
    crowd = {static_cast<std::uint64_t>(now_ranks), static_cast<std::uint64_t>(now_threads)};
  }
  return most;
}

/// The share of the ranks' time outside of MPI.
double computing_share(const std::vector<RankActivity>& ranks) {
  double useful_ns = 0, all_ns = 0;
  for (const RankActivity& rank : ranks) {
    if (rank.end_ns <= rank.begin_ns) continue;
    useful_ns += static_cast<double>(rank.useful_ns());
    all_ns += static_cast<double>(saturating_subtract(rank.end_ns, rank.begin_ns));
  }
  return share_of(useful_ns, all_ns);
}

/// The cost is the part of the computing time in which a rank waits for a core if all compute.
void find_oversubscribed(const Activity& activity, std::vector<Costly>& found) {
  const double computing = computing_share(activity.ranks);
  const std::map<LeafId, Crowd> most = crowds(activity.ranks);
  for (const HostActivity& host : activity.hosts) {
    const auto crowd = most.find(host.leaf);
    if (crowd == most.end() || !host.cores || *host.cores <= 0) continue;
    const auto threads = static_cast<double>(crowd->second.threads);
    if (threads <= *host.cores) continue;
    const bool has_threads = crowd->second.threads > crowd->second.ranks;
    Finding finding;
    finding.kind = FindingKind::kOversubscribed;
    finding.host = host.name;
    finding.value = threads / *host.cores;
    finding.text =
        "host " + host.name + " has " + count_text(crowd->second.ranks) +
        (crowd->second.ranks == 1 ? " rank" : " ranks") +
        (has_threads ? " with " + count_text(crowd->second.threads) + " threads in MPI" : "") +
        " on " + cores_text(*host.cores) + ": ranks share cores, each has at most " +
        whole_percent_text(*host.cores / threads) +
        " of one on average; the time that a rank waits for a core counts as computing";
    found.push_back({computing * (1 - *host.cores / threads), std::move(finding)});
  }
}

}  // namespace

Nanos RankActivity::useful_ns() const {
  if (end_ns <= begin_ns) return 0;
  const Nanos all = saturating_subtract(end_ns, begin_ns);
  const std::uint64_t in_mpi = mpi_ns / std::max<std::uint64_t>(threads, 1);
  return in_mpi >= static_cast<std::uint64_t>(all) ? 0 : all - static_cast<Nanos>(in_mpi);
}

double WorldEfficiency::load_balance() const {
  return max_useful_ns <= 0 ? 1 : share_of(mean_useful_ns, static_cast<double>(max_useful_ns));
}

double WorldEfficiency::communication() const {
  return share_of(static_cast<double>(max_useful_ns), static_cast<double>(runtime_ns));
}

double WorldEfficiency::parallel() const {
  return share_of(mean_useful_ns, static_cast<double>(runtime_ns));
}

const char* finding_kind_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::kEfficiency:
      return "efficiency";
    case FindingKind::kTooShort:
      return "too_short";
    case FindingKind::kImbalance:
      return "imbalance";
    case FindingKind::kWait:
      return "wait";
    case FindingKind::kFunction:
      return "function";
    case FindingKind::kSmallMessages:
      return "small_messages";
    case FindingKind::kSerialised:
      return "serialised";
    case FindingKind::kOversubscribed:
      return "oversubscribed";
    case FindingKind::kMovingImbalance:
      return "moving_imbalance";
    case FindingKind::kMapping:
      return "mapping";
    case FindingKind::kCommunicators:
      return "communicators";
  }
  return "";
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kGood:
      return "good";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
  }
  return "";
}

std::vector<WorldEfficiency> efficiencies(const std::vector<RankActivity>& ranks) {
  struct Sum {
    WorldEfficiency world;
    Nanos begin_ns = 0, end_ns = 0;
    double useful_ns = 0;
  };
  std::map<WorldId, Sum> sums;
  for (const RankActivity& rank : ranks) {
    const auto [place, is_first] = sums.try_emplace(rank.world);
    Sum& sum = place->second;
    const Nanos useful = rank.useful_ns();
    if (is_first) {
      sum.world.world = rank.world;
      sum.begin_ns = rank.begin_ns;
      sum.end_ns = rank.end_ns;
      sum.world.slowest = rank.rank;
    }
    sum.begin_ns = std::min(sum.begin_ns, rank.begin_ns);
    sum.end_ns = std::max(sum.end_ns, rank.end_ns);
    if (useful > sum.world.max_useful_ns) {
      sum.world.max_useful_ns = useful;
      sum.world.slowest = rank.rank;
    }
    sum.useful_ns += static_cast<double>(useful);
    sum.world.estimated |= rank.estimated;
    ++sum.world.ranks;
  }
  std::vector<WorldEfficiency> worlds;
  for (auto& [id, sum] : sums) {
    if (sum.end_ns <= sum.begin_ns) continue;
    sum.world.runtime_ns = saturating_subtract(sum.end_ns, sum.begin_ns);
    sum.world.mean_useful_ns = sum.useful_ns / static_cast<double>(sum.world.ranks);
    worlds.push_back(sum.world);
  }
  std::ranges::stable_sort(worlds, std::greater<>(), [](const WorldEfficiency& world) {
    return static_cast<double>(world.ranks) * static_cast<double>(world.runtime_ns);
  });
  return worlds;
}

Findings make_findings(const Activity& activity, const FindingLimits& limits) {
  Findings answer;
  answer.worlds = efficiencies(activity.ranks);
  std::map<WorldId, WorldRanks> ranks;
  double all_ns = 0;
  for (const RankActivity& rank : activity.ranks) {
    WorldRanks& of = ranks[rank.world];
    of.ranks.push_back(&rank);
    if (rank.end_ns <= rank.begin_ns) continue;
    const double time_ns = static_cast<double>(rank.end_ns - rank.begin_ns) *
                           static_cast<double>(std::max<std::uint64_t>(rank.threads, 1));
    of.thread_ns += time_ns;
    all_ns += time_ns;
  }
  if (answer.worlds.size() > kMaxEfficiencies) answer.worlds.resize(kMaxEfficiencies);
  for (WorldEfficiency& world : answer.worlds) {
    const auto lost = std::ranges::find(activity.lost, world.world, &LostActivity::world);
    if (lost == activity.lost.end() || lost->calls == 0) continue;
    world.lost_calls = lost->calls;
    world.estimated = true;
  }
  std::vector<Costly> costly;
  find_oversubscribed(activity, costly);
  const bool is_crowded = !costly.empty();
  for (std::size_t i = 0; i < answer.worlds.size(); ++i) {
    const WorldEfficiency& world = answer.worlds[i];
    const WorldRanks& of = ranks[world.world];
    WorldRules rules(activity, limits, world, of, answer.worlds.size() > 1);
    std::vector<Costly> found = rules.find();
    if (i < kMaxHeadlines) answer.findings.push_back(rules.headline(is_crowded || !found.empty()));
    for (Costly& it : found) {
      it.cost *= share_of(of.thread_ns, all_ns);
      costly.push_back(std::move(it));
    }
  }
  std::ranges::stable_sort(costly, std::greater<>(), &Costly::cost);
  for (Costly& it : costly) {
    if (answer.findings.size() == kMaxFindings) break;
    answer.findings.push_back(std::move(it.finding));
  }
  return answer;
}

}  // namespace xylem::storage
