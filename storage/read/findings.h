#pragma once

// The findings of a run: sentences with numbers that say first what matters.
//
// The efficiencies are those of the POP centre of excellence ("POP Standard Metrics for Parallel
// Performance Analysis", https://pop-coe.eu/node/69). For a world of ranks i:
//
//   u_i  useful time: the time of rank i outside of MPI, between MPI_Init and MPI_Finalize
//   T    runtime: from the first end of MPI_Init to the last begin of MPI_Finalize
//
//   load balance             = mean(u) / max(u)
//   communication efficiency = max(u) / T
//   parallel efficiency      = mean(u) / T = load balance x communication efficiency
//
// For example, four ranks run for T = 10 s. Rank 0 computes for 9 s, the others for 5 s each:
// mean(u) = 6 s, max(u) = 9 s. Load balance is 67 %, communication efficiency 90 %, parallel
// efficiency 60 %.
//
// The time inside of MPI_Init and MPI_Finalize is in none of these numbers, and in no share of time
// in MPI here: in a short run it would be most of the time in MPI. If several threads of a rank
// call MPI, u_i is the mean over the threads, as in all shares of time in MPI (watched_internal.h).
//
// Everything here takes values and returns values. run_findings.h reads them from a run's file.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/read/wait_states.h"

namespace xylem::storage {

/// A rank between the end of its MPI_Init and the begin of its MPI_Finalize. While a rank runs,
/// `end_ns` is the newest time that is known of it. Times are nanoseconds of the run.
struct RankActivity {
  WorldId world{};
  Rank rank{};
  LeafId leaf{};  ///< The host.
  Nanos begin_ns = 0, end_ns = 0;
  std::uint64_t mpi_ns = 0;   ///< Time in MPI in this range, summed over the threads.
  std::uint64_t threads = 1;  ///< Largest number of threads that called MPI at the same time.
  bool estimated = false;     ///< `mpi_ns` includes estimated times.
  /// Time outside of MPI, 0 or more.
  Nanos useful_ns() const;
};

/// A function of a world, summed over its ranks.
struct FunctionActivity {
  WorldId world{};
  std::string name;
  std::uint64_t calls = 0, time_ns = 0, max_ns = 0;
  bool estimated = false;
  /// True for functions that send, receive, or complete sends and receives.
  bool moves_messages = false;
};

/// Why a rank waited, by wait states (wait_states.h).
struct WaitReason {
  WaitKind kind{};  ///< Of the longest wait, as `function`.
  std::string function;
  Rank root{};                   ///< The root cause.
  std::uint64_t longest_ns = 0;  ///< Of the rank's waiting with this root cause, the longest wait.
  std::uint64_t in_all_ns = 0, ranks = 0;  ///< Waiting with this root cause, and who waited.
};

/// A rank that waited for another one. Estimates: for each world and peer, the rank that waited
/// longest is enough. Wait states: for each world and root cause, the rank that waited longest;
/// `time_ns` is its waiting with this root cause, `peer` and `calls` are those of its longest wait.
struct WaitActivity {
  WorldId world{};
  Rank rank{}, peer{};
  std::uint64_t time_ns = 0, calls = 0;
  std::optional<WaitReason> reason = {};  ///< nullopt: an estimate.
};

/// Point-to-point messages of a world.
struct MessageActivity {
  WorldId world{};
  std::uint64_t messages = 0, bytes = 0;
  std::uint64_t bytes_between_hosts = 0;  ///< From a rank on one host to a rank on another.
  /// The ranks on different hosts of which the first sends most bytes to the second; 0 bytes: none.
  Rank source{}, destination{};
  std::uint64_t pair_bytes = 0;
};

/// Neighbouring ranks of a world: first, first + 1, ...
struct RankGroup {
  Rank first{};
  std::uint64_t ranks = 1;
  friend bool operator==(const RankGroup&, const RankGroup&) = default;
};

/// The useful times of the ranks of a world in slices of equal length.
struct SliceActivity {
  WorldId world{};
  Nanos slice_ns = 0;
  /// Sums over all slices: the largest useful time of a rank, and the mean of all ranks.
  double max_useful_ns = 0, mean_useful_ns = 0;
  /// The ranks that were slowest one after the other, at most kSlowestShown. Slices in which the
  /// slowest rank is near the mean do not count. In a large world, a group has several ranks.
  std::vector<RankGroup> slowest;
  bool has_more = false;  ///< The slowest rank has changed more often.
};
constexpr std::size_t kSlowestShown = 4;

/// How the ranks of a world computed in the part of the run that was looked at.
struct TurnActivity {
  WorldId world{};
  Nanos computing_ns = 0;      ///< At least one rank computed.
  Nanos alone_ns = 0;          ///< Exactly one rank computed.
  Nanos longest_alone_ns = 0;  ///< The same rank computed alone for at most this time in all.
};

/// Calls of a world that are lost. Their time counts as time outside of MPI.
struct LostActivity {
  WorldId world{};
  std::uint64_t calls = 0;
};

struct HostActivity {
  LeafId leaf{};
  std::string name;
  std::optional<double> cores;  ///< Cores that processes may use; nullopt: unknown.
};

/// The functions and ranks exclude MPI_Init and MPI_Finalize.
struct Activity {
  std::vector<RankActivity> ranks;  ///< An entry for each process.
  std::vector<FunctionActivity> functions;
  std::vector<WaitActivity> waits;  ///< Those of a world are all estimates, or none is.
  /// How much of a world `waits` are about, 0 to 1. An estimate: its share of the time in MPI. Wait
  /// states: the share of the time in blocking calls that is analysed.
  std::map<WorldId, double> covered;
  std::vector<MessageActivity> messages;
  std::vector<HostActivity> hosts;
  std::vector<LostActivity> lost;
  std::vector<SliceActivity> slices;  ///< At most one for each world.
  std::vector<TurnActivity> turns;    ///< At most one for each world.
};

/// The efficiency of a world, see above.
struct WorldEfficiency {
  WorldId world{};
  std::uint64_t ranks = 0;
  Nanos runtime_ns = 0;  ///< T; always above 0.
  Nanos max_useful_ns = 0;
  double mean_useful_ns = 0;
  Rank slowest{};  ///< The rank with the most useful time.
  std::uint64_t lost_calls = 0;
  bool estimated = false;  ///< Some calls were sampled, or are lost.
  /// From 0 to 1. load_balance() is 1 if no rank has computed.
  double load_balance() const;
  double communication() const;
  double parallel() const;
};

/// Returns the efficiency of each world in which time has passed, largest world (ranks x T) first.
std::vector<WorldEfficiency> efficiencies(const std::vector<RankActivity>& ranks);

/// True if about one rank of the world computes at a time, and all compute about as long. This may
/// have other reasons than turns, for example slow messages.
bool may_compute_in_turn(const WorldEfficiency& world);

enum class FindingKind : std::uint8_t {
  kEfficiency,  ///< The efficiencies of a world. `value`: parallel efficiency.
  kTooShort,    ///< The world ran for too short a time. `value`: T in seconds.
  kImbalance,   ///< `rank` computes longest. `value`: (max(u) - mean(u)) / T.
  /// `rank` waits because of `root`, most of all for `peer`; an estimate only knows `peer`.
  /// `value`: the share of T that it waits, for all peers with this root cause.
  kWait,
  kFunction,        ///< `function` takes most of the MPI time. `value`: share of the MPI time.
  kSmallMessages,   ///< Many small messages. `value`: mean size in bytes.
  kSerialised,      ///< Ranks compute in turn. `value`: mean number of ranks that compute.
  kOversubscribed,  ///< `host` has too few cores. `value`: ranks (or their threads) per core.
  /// Another rank is slowest at another time. `value`: the part of T by which the slowest rank of
  /// each slice is above the mean, less that of kImbalance.
  kMovingImbalance,
  /// Ranks that exchange much are on different hosts. `value`: share of the payload between hosts.
  kMapping,
  kCommunicators,  ///< Communicators are not freed. `value`: number of them, a rank.
};
/// "efficiency", "too_short", "imbalance", "wait", "function", "small_messages", "serialised",
/// "oversubscribed", "moving_imbalance", "mapping", "communicators".
const char* finding_kind_name(FindingKind kind);

enum class Severity : std::uint8_t {
  kGood,     ///< Nothing to do.
  kNote,     ///< A number that explains others.
  kWarning,  ///< Costs a large part of the time.
};
/// "good", "note", "warning".
const char* severity_name(Severity severity);

struct Finding {
  FindingKind kind{};
  Severity severity = Severity::kWarning;
  std::optional<WorldId> world = {};  ///< nullopt: the finding is about a host.
  std::optional<Rank> rank = {}, peer = {};
  std::string host = {}, function = {};  ///< Empty: none.
  double value = 0;
  /// True if `value` is estimated: calls were sampled or lost, or it is a wait and no wait states
  /// are known.
  bool estimated = false;
  /// Of a wait. The kind and the root cause are nullopt for an estimate; then `covered` is the
  /// share of the time in MPI that the estimate is about. Else it is the share of the time in
  /// blocking calls that is analysed.
  std::optional<WaitKind> wait_kind = {};
  std::optional<Rank> root = {};
  std::optional<double> covered = {};
  std::string text = {};  ///< One sentence without a full stop. Programs must not parse it.
};

/// The findings of a run, most important first.
struct Findings {
  std::vector<WorldEfficiency> worlds;  ///< At most kMaxEfficiencies.
  /// First the efficiency of at most three worlds. Then the other findings, sorted by the share of
  /// the run's time that they cost. A world without any warning has only its efficiency.
  std::vector<Finding> findings;
};

/// Number of findings that a person is shown at once.
constexpr std::size_t kShownFindings = 5;
constexpr std::size_t kMaxFindings = 20;
constexpr std::size_t kMaxEfficiencies = 32;

/// Thresholds of the findings.
struct FindingLimits {
  /// POP calls an efficiency below 80 % worth a closer look.
  double efficiency = 0.8;
  /// Share of T by which the slowest rank is above the mean.
  double imbalance = 0.1;
  double wait = 0.1;       ///< Share of T that a rank waits for another rank.
  double function = 0.15;  ///< Share of the ranks' time in one function.
  /// Messages are small up to this mean size, and many from this rate of a rank on, if calls that
  /// move messages take this share of the ranks' time.
  double small_bytes = 1024, messages_per_s = 1000, message_share = 0.15;
  /// The mapping is bad if at most this part of the payload stays within hosts that would stay
  /// there with a random mapping, and if calls that move messages take `message_share`.
  double within_hosts = 0.5;
  double communicators = 50;  ///< Communicators a rank that are made and not freed.
  /// In a shorter run the numbers are mostly those of the start and the end.
  Nanos runtime_ns = 100 * kMillisecond;
};

/// Never fails: what is unknown gives no finding.
Findings make_findings(const Activity& activity, const FindingLimits& limits = {});

}  // namespace xylem::storage
