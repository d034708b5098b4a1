#pragma once

// Rules over windows that raise alerts about a run.
//
// There are five rules. Each rule has a threshold or is off.
//
// *Stalled* has a time as its threshold. A rank is stalled if it made no MPI call for this time,
// but other ranks of the world made calls or wait inside a call. There are two exceptions. A rank
// that a signal has stopped for this time is stalled, whatever the others do. If more than half of
// the ranks are outside of MPI, they are not stalled. A world is stalled if all ranks are inside
// calls and no call ended for this time. If a single call took longer than this time, and no alert
// of the world was open meanwhile, this is reported when the call ends.
//
// *Imbalance* compares the shares of time that ranks spend in MPI. Its value is the mean share of
// the world minus the smallest share. The ranks with the smallest shares compute while the others
// wait. *Late* compares the shares of time in collectives in the same way, but only between ranks
// that use the same collectives. The rank that arrives last spends almost no time in the
// collective.
//
// A run that is younger than a span is judged on *imbalance* by all of its time so far, from a
// quarter of a span and 2.5 s on. Then the last two parts of this time must each show the same rank
// below the mean by the threshold. So a wait at the start, such as one rank reading the input, is
// no alert if it is over.
//
// *Loss* counts lost calls. Calls are lost if a ring was full, or if windows or events were given
// up. A lost host also raises this alert.
//
// *Oversubscribed* compares the number of ranks of a host that have not ended, of all worlds, with
// the number of cores that they may use. More ranks than cores must last for 2 s.

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/alert/alert.h"

namespace xylem::storage {

/// Thresholds. nullopt: the rule is off.
struct AlertLimits {
  /// A short limit also raises alerts for intended waits, for example while one rank writes a
  /// checkpoint. A longer limit delays the alert for a hanging job. A job in which all ranks
  /// compute never raises this alert.
  std::optional<Nanos> stalled_ns = 10 * kSecond;
  /// Shares of time, 0 to 1. A low limit raises alerts for programs whose ranks differ a little.
  /// With a high limit, an alert is raised only if the other ranks wait for most of the time.
  std::optional<double> imbalance = 0.3, late = 0.3;
  std::optional<std::uint64_t> lost_calls = 1;
  /// Ranks per core. A higher limit is for programs whose ranks leave their cores while they wait.
  std::optional<double> oversubscribed = 1.0;
  /// Time over which shares are measured. An alert for losses is closed if there is no new loss for
  /// this time. A longer span gives fewer and later alerts.
  Nanos span_ns = 10 * kSecond;
  bool operator==(const AlertLimits&) const = default;
};

/// The calls of a process in a window.
struct WindowNote {
  WorldId world{};
  Rank rank{};
  LeafId leaf{};
  Nanos begin_ns = 0, end_ns = 0;
  std::uint64_t calls = 0, mpi_ns = 0, collective_ns = 0;
  std::uint64_t max_ns = 0;  ///< Duration of the longest call.
  /// Function of the longest call. May be empty if the call is shorter than stalled_ns.
  std::string max_function;
  std::uint64_t collective_calls = 0;
  /// The collectives that were used: each sets one bit, and several collectives may share a bit.
  std::uint64_t collectives = 0;
};

/// An agent's report that a process makes no calls.
struct SilenceNote {
  WorldId world{};
  Rank rank{};
  LeafId leaf{};
  Nanos since_ns = 0;
  std::uint64_t captured = 0;  ///< Number of the process's calls so far.
  std::string inside;    ///< The function that has not returned; empty: unknown, or there is none.
  bool stopped = false;  ///< True if a signal has stopped the process.
  bool outside = false;  ///< True if it is known that the process is not inside a call.
};

/// A lost host.
struct LostHostNote {
  LeafId leaf{};
  /// The host's ranks that had not ended.
  std::vector<std::pair<WorldId, Rank>> ranks;
  /// Number of calls that these ranks have reported but that are not stored.
  std::uint64_t missing_calls = 0;
};

/// Judges windows. Does no I/O. The present time is the end of the newest window. An alert is
/// raised once and stays open for some time:
/// - *Stalled* is closed at the next call, or when all ranks compute.
/// - *Imbalance* and *late* compare shares over a whole span, *imbalance* also over the first part
///   of a run. They are closed when the value is below three quarters of the threshold. So a value
///   around the threshold gives only one alert.
/// - *Loss* is closed if no call was lost for a span. An alert for a lost host is closed when the
///   host reports again.
/// - *Oversubscribed* is closed when the host has at most as many ranks as the limit allows.
///
/// *Stalled*, *imbalance* and *late* have at most one open alert for each world. It may be about
/// several ranks, and these ranks may change. It stays open if the next evaluation finds at least
/// one of these ranks again. Otherwise it is closed and a new alert is raised.
///
/// Uses about 600 bytes of memory for each rank. Not thread-safe.
class AlertRules {
 public:
  explicit AlertRules(AlertLimits limits);

  /// Continues with the open alerts of a former front end. Call it before the first note.
  void adopt(std::span<const Alert> open, std::int64_t last_id);
  /// Continues with a rank that has not ended and that the former front end knew. `captured` and
  /// `lost_calls` are the numbers that the rank has already reported.
  void adopt_rank(WorldId world, Rank rank, LeafId leaf, Nanos progress_ns, std::uint64_t captured,
                  std::uint64_t lost_calls);

  /// Sets the name of a host for alert texts. Call it before the host's first alert.
  void name_host(LeafId leaf, const std::string& name) { hosts_[leaf].name = name; }

  /// Notes the calls of a rank in a window. Call it once for each rank and window in which the rank
  /// was in MPI. Windows of different leaves may come in any order. A window that ends after all
  /// others moves the present time forward.
  void note(const WindowNote& window);
  /// Call it after note() and note_leaf() for all windows of the leaf up to `silence.since_ns`.
  void note_silence(const SilenceNote& silence);
  /// Tells the rules that all windows of this leaf up to `end_ns` are noted, including empty
  /// windows.
  void note_leaf(LeafId leaf, Nanos end_ns);
  /// Notes how many calls of the rank were lost because a ring was full. `lost_calls` is the total
  /// so far.
  void note_lost(WorldId world, Rank rank, std::uint64_t lost_calls);
  /// Notes that calls of a host were given up. Call it once for each loss. `leaf` is nullopt if the
  /// calls come from several hosts. `calls` is the number of calls; nullopt: unknown.
  void note_given_up(std::optional<LeafId> leaf, std::optional<std::uint64_t> calls,
                     const std::string& why);
  /// Notes that the events of `calls` calls of a rank were given up. Call it once for each loss.
  void note_events_given_up(WorldId world, Rank rank, std::uint64_t calls, const std::string& why);
  /// Notes that a host is lost. While the host is lost, its ranks are not judged. A second call for
  /// the same host changes nothing.
  void note_host_lost(const LostHostNote& note);
  void note_host_found(LeafId leaf);
  /// Notes how many cores the processes of a host may use. Without it, the host is not judged.
  void note_cores(LeafId leaf, double cores) { hosts_[leaf].cores = cores; }
  /// Notes that the rank will make no more calls.
  void note_ended(WorldId world, Rank rank);

  /// Returns the alerts that were raised, closed or changed since the last call. The caller stores
  /// each by its id. Ranks are evaluated at most five times per span, in the first span of a run
  /// ten times.
  std::vector<Alert> judge();
  /// Ends the evaluation: closes all open alerts. Returns the changed alerts, as judge() does.
  std::vector<Alert> finish();

  const AlertLimits& limits() const { return limits_; }

 private:
  /// Number of parts in a span. A whole span ends with every second part. So two more parts are
  /// kept: one is being filled, and one may be later than the span.
  static constexpr std::int64_t kParts = 10;
  static constexpr std::int64_t kPartsOfLook = 2;
  static constexpr std::int64_t kKeptParts = kParts + 2;
  /// Value of `first_ns` for a rank without a window since this front end took over.
  static constexpr Nanos kNoWindow = std::numeric_limits<Nanos>::max();
  struct Sums {
    std::uint64_t mpi_ns = 0, collective_ns = 0, collective_calls = 0, collectives = 0;
  };
  struct RankState {
    LeafId leaf{};
    Nanos first_ns = kNoWindow, progress_ns = 0;
    std::uint64_t captured = 0, lost = 0;
    bool ended = false, stopped = false, outside = false;
    std::string inside;
    std::array<Sums, kKeptParts> parts{};
  };
  using World = std::map<Rank, RankState>;
  struct Host {
    std::optional<Nanos> seen_ns;
    std::string name;
    bool lost = false;
    std::optional<double> cores;
    std::optional<Nanos> crowded_ns;  ///< Since when the host has too many ranks.
  };
  /// Parts of the run in which shares are measured.
  struct Span {
    std::int64_t first = 0, end = 0;  ///< Parts [first, end).
    Nanos begin_ns = 0, length_ns = 0;
    bool is_young = false;  ///< It is all of the run so far, not a whole span.
  };
  /// Identifies an open alert. The number is the subject's rank or leaf.
  struct Key {
    AlertKind kind{};
    AlertSubject subject{};
    WorldId world{};
    std::uint64_t number = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Ranks = std::vector<Rank>;  ///< In ascending order.
  /// The result of a rule that raises an alert.
  struct Finding {
    Ranks ranks;
    std::optional<Rank> rank;  ///< The worst of the ranks.
    double value = 0, threshold = 0;
    std::string text;
    Nanos at_ns = 0;
    bool at_least = false;
  };
  struct LongCall {
    Rank rank{};
    std::uint64_t max_ns = 0;
    std::string function;
    Nanos end_ns = 0;
  };
  struct Loss {
    std::uint64_t calls = 0;
    bool is_known = true;
    std::string why;
  };
  struct Open {
    Alert alert;
    Nanos worsened_ns = 0;
    Ranks ranks;
    std::string worst_text;
    std::optional<Rank> worst_rank;
    bool is_adopted = false;  ///< It was raised by a former front end, and not judged since.
  };
  struct Standing;
  struct Cohort;

  RankState& rank_of(WorldId world, Rank rank, LeafId leaf, Nanos begin_ns);
  RankState* known_rank(WorldId world, Rank rank);
  Nanos part_ns() const { return limits_.span_ns / static_cast<Nanos>(kParts); }
  /// Returns the slot of a part in RankState::parts.
  static std::size_t slot_of(std::int64_t part);
  void start_part(std::int64_t part);
  bool is_judged(const RankState& rank) const;
  bool is_lost(const RankState& rank) const;  ///< Returns whether the rank's host is lost.

  void judge_stalls(WorldId id, const World& world);
  Standing who_stands(const World& world) const;
  Ranks behind(const World& world, const Standing& standing, const Ranks& ranks) const;
  std::optional<Finding> stall_of(const World& world, const Standing& standing) const;
  std::string stall_text(const World& world, const Standing& standing, const Ranks& ranks,
                         Rank longest, const std::string& took) const;
  void judge_long_call(WorldId id);
  void judge_shares(AlertKind kind, double threshold, WorldId id, const World& world,
                    const Span& span);
  Cohort cohort_of(AlertKind kind, const World& world, Ranks ranks, const Span& span) const;
  std::vector<Cohort> cohorts(AlertKind kind, const World& world, const Span& span) const;
  Span whole_span() const;
  /// Returns all of a young world's time so far; nullopt if the world is old enough for a whole
  /// span, or too young.
  std::optional<Span> young_span(const World& world) const;
  /// Returns whether the last parts of the span each show one of these ranks below the mean.
  bool lasts(const World& world, const Cohort& cohort, const Ranks& low, double threshold,
             const Span& span) const;
  Sums sums_of(const RankState& rank, const Span& span) const;
  Finding share_finding(AlertKind kind, double threshold, const World& world, const Cohort& cohort,
                        Ranks low, const Span& span) const;
  bool is_unknown(const Open& open, const World& world) const;
  void judge_hosts();
  void judge_losses();
  void judge_loss(const Key& key, const Loss& loss);
  std::string loss_text(const Key& key, const Loss& loss) const;
  /// Returns the source of windows that were given up: "host node01" or "several hosts".
  std::string source_name(std::uint64_t number) const;
  std::string name_of(LeafId leaf) const;
  /// Returns the ranks as text, for example "rank 3 (node01)". The host is named if all these ranks
  /// are on one host and the run has several hosts.
  std::string who(const World& world, const Ranks& ranks) const;

  static Key key_of(const Alert& alert);
  /// Returns whether an alert for the loss of this host is open.
  bool is_reported_lost(LeafId leaf) const;
  void close_superfluous();
  /// Raises an alert or changes the open alert with this key. If the open alert is about other
  /// ranks, it is closed first.
  void hold(const Key& key, Finding finding);
  void raise(const Key& key, Finding finding);
  void close(std::map<Key, Open>::iterator open, Nanos until_ns);

  AlertLimits limits_;
  std::map<WorldId, World> worlds_;
  std::map<LeafId, Host> hosts_;
  std::map<WorldId, LongCall> long_calls_;
  std::map<WorldId, Nanos> stall_told_ns_;  ///< Calls that began before this are reported.
  std::map<Key, Loss> new_losses_;
  std::map<Key, Open> open_;
  std::vector<Alert> superfluous_;  ///< Duplicates among the alerts of a former front end.
  std::vector<Alert> changed_;
  std::optional<Nanos> now_ns_;
  std::int64_t part_ = 0;  ///< The part that is being filled, counted from the start of the run.
  std::int64_t judged_ = 0;
  std::int64_t last_id_ = 0;
};

}  // namespace xylem::storage
