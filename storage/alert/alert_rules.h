#pragma once

// Rules over windows that raise alerts about a run.
//
// There are four rules. Each is off or has a threshold.
//
// The threshold of *stalled* is a time. A rank is stalled if it made no MPI call for this time.
// Meanwhile other ranks of its world made calls, or wait inside a call. A world is stalled if all
// its ranks are inside calls and no call ended for this time. A single call that lasted this long
// is reported when it ends.
//
// *Imbalance* compares the shares of time that ranks spend in MPI. Its value is the mean share of
// the world minus the smallest share. The ranks with the smallest shares compute while the others
// wait. *Late* is the same for the time in collectives. It compares only ranks that use the same
// collectives. The rank that arrives last spends almost no time in the collective.
//
// *Loss* counts lost calls: a ring was full, or windows or events were given up. A lost host also
// raises this alert.

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

namespace xylem::storage {

/// Thresholds. nullopt: the rule is off.
struct AlertLimits {
  /// A shorter limit reports every checkpoint that one rank writes. A longer limit delays the alert
  /// for a hanging job. A job whose ranks all compute never raises this alert.
  std::optional<Nanos> stalled_ns = 10 * kSecond;
  /// Shares of time, 0 to 1. With limits far below 0.3, programs with unequal ranks always raise
  /// alerts. With higher limits, an alert is raised only if more than a third of the run is lost by
  /// waiting.
  std::optional<double> imbalance = 0.3, late = 0.3;
  std::optional<std::uint64_t> lost_calls = 1;
  /// Shares are measured over this time. An alert for losses is closed after this long without a
  /// new loss. A longer span gives fewer and later alerts.
  Nanos span_ns = 10 * kSecond;
  bool operator==(const AlertLimits&) const = default;
};

enum class AlertKind : std::uint8_t { kStalled, kImbalance, kLate, kLoss };
/// "stalled", "imbalance", "late", "loss".
const char* alert_kind_name(AlertKind kind);
std::optional<AlertKind> parse_alert_kind(const std::string& name);

/// The subject of an alert: ranks of a world, one rank, events of a rank, windows of a host, or a
/// lost host.
enum class AlertSubject : std::uint8_t { kWorld, kRank, kEvents, kHost, kLostHost };
/// "world", "rank", "events", "host", "lost_host".
const char* alert_subject_name(AlertSubject subject);
std::optional<AlertSubject> parse_alert_subject(const std::string& name);

/// An open alert is identified by kind, subject, and the world, rank or leaf that the subject
/// names.
struct Alert {
  std::int64_t id = 0;
  Nanos at_ns = 0;
  std::optional<Nanos> until_ns = {};  ///< nullopt: the alert is open.
  AlertKind kind{};
  std::optional<AlertSubject> subject = {};  ///< nullopt: the alert is from a file with a schema
                                             ///< before 16.
  WorldId world{};
  /// The worst of several ranks; nullopt: unknown, or all ranks.
  std::optional<std::uint64_t> rank = {};
  /// The host's leaf, if the alert is about a host; nullopt: several hosts.
  std::optional<LeafId> leaf = {};
  /// A sentence for people; programs must not parse it. It describes the present state; after the
  /// end of the alert, the worst state.
  std::string text;
  double value = 0;  ///< Worst value: seconds, a share, or calls.
  double threshold = 0;
  bool at_least = false;  ///< At least `value` calls were lost; the exact number is unknown.
  bool operator==(const Alert&) const = default;
};

/// The calls of a process in a window.
struct WindowNote {
  WorldId world{};
  std::uint64_t rank = 0;
  LeafId leaf{};
  Nanos begin_ns = 0, end_ns = 0;
  std::uint64_t calls = 0, mpi_ns = 0, collective_ns = 0;
  std::uint64_t max_ns = 0;  ///< Duration of the longest call.
  /// Function of the longest call. May be empty if the call is shorter than stalled_ns.
  std::string max_function;
  std::uint64_t collective_calls = 0;
  /// Set of collectives used, one bit each; several collectives may share a bit.
  std::uint64_t collectives = 0;
};

/// A process that makes no calls, reported by its agent.
struct SilenceNote {
  WorldId world{};
  std::uint64_t rank = 0;
  LeafId leaf{};
  Nanos since_ns = 0;
  std::uint64_t captured = 0;  ///< Number of its calls so far.
  std::string inside;          ///< The function that has not returned; empty: none, or unknown.
  bool stopped = false;        ///< A signal has stopped the process.
  bool outside = false;        ///< The process is known to be inside no call.
};

/// A lost host.
struct LostHostNote {
  LeafId leaf{};
  /// Ranks of the host that had not ended.
  std::vector<std::pair<WorldId, std::uint64_t>> ranks;
  std::uint64_t missing_calls = 0;  ///< Calls that these ranks reported but that are not stored.
};

/// Judges windows. Does no I/O. The present time is the end of the newest window. An alert is
/// raised once, when its rule has been true for a whole span. It is closed when the value is below
/// three quarters of the threshold. So a value around the threshold gives only one alert. (A stall
/// is closed with the next call.) *Stalled*, *imbalance* and *late* have at most one open alert for
/// each world. It may be about several ranks, and these may change. The alert stays open if at
/// least one of its ranks was already in it at the previous evaluation. If none was, it is closed
/// and a new alert is raised. Uses about 400 bytes for each rank.
class AlertRules {
 public:
  explicit AlertRules(AlertLimits limits);

  /// Continues with the open alerts of a former front end. Call it before the first note.
  void adopt(std::span<const Alert> open, std::int64_t last_id);
  /// Continues with a rank that the former front end knew and that had not ended. The rank has
  /// already reported the given calls and lost calls.
  void adopt_rank(WorldId world, std::uint64_t rank, LeafId leaf, Nanos progress_ns,
                  std::uint64_t captured, std::uint64_t lost_calls);

  /// Sets the name of a host for alert texts. Call it before the host's first alert.
  void name_host(LeafId leaf, const std::string& name) { hosts_[leaf].name = name; }

  void note(const WindowNote& window);
  /// Before this call, pass the windows of the leaf up to `silence.since_ns` to note() and
  /// note_leaf().
  void note_silence(const SilenceNote& silence);
  /// Tells the rules that all windows of this leaf up to `end_ns` are noted, including empty
  /// windows.
  void note_leaf(LeafId leaf, Nanos end_ns);
  /// `lost_calls` is the rank's total so far: the number of calls that were lost because a ring was
  /// full.
  void note_lost(WorldId world, std::uint64_t rank, std::uint64_t lost_calls);
  /// Notes that calls of a host were given up. Call it once for each loss. `leaf` is nullopt if the
  /// calls are of several hosts. `calls` is the number of calls; nullopt: unknown.
  void note_given_up(std::optional<LeafId> leaf, std::optional<std::uint64_t> calls,
                     const std::string& why);
  /// Notes that events of a rank were given up. `calls` is the number of calls whose events are
  /// lost. Call it once for each loss.
  void note_events_given_up(WorldId world, std::uint64_t rank, std::uint64_t calls,
                            const std::string& why);
  /// Notes that a host is lost. While the host is lost, its ranks are not judged. A second call for
  /// the same host changes nothing.
  void note_host_lost(const LostHostNote& note);
  void note_host_found(LeafId leaf);
  /// The rank makes no more calls.
  void note_ended(WorldId world, std::uint64_t rank);

  /// Returns the alerts that were raised, closed or changed since the last call. The caller stores
  /// each by its id. Ranks are evaluated at most five times per span.
  std::vector<Alert> judge();
  /// The run has ended: closes all open alerts.
  std::vector<Alert> finish();

  const AlertLimits& limits() const { return limits_; }

 private:
  /// Number of complete parts in a span. One more part is being filled.
  static constexpr std::size_t kParts = 5;
  /// Value of `first_ns` for a rank that has had no window since this front end took over.
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
    std::array<Sums, kParts + 1> parts{};
  };
  using World = std::map<std::uint64_t, RankState>;
  struct Host {
    std::optional<Nanos> seen_ns;
    std::string name;
    bool lost = false;
  };
  /// Identifies an open alert. The number is the subject's rank or leaf.
  struct Key {
    AlertKind kind{};
    AlertSubject subject{};
    WorldId world{};
    std::uint64_t number = 0;
    auto operator<=>(const Key&) const = default;
  };
  using Ranks = std::vector<std::uint64_t>;  ///< In ascending order.
  /// What a rule has found when it raises an alert.
  struct Finding {
    Ranks ranks;
    std::optional<std::uint64_t> rank;  ///< The worst of the ranks.
    double value = 0, threshold = 0;
    std::string text;
    Nanos at_ns = 0;
    bool at_least = false;
  };
  struct LongCall {
    std::uint64_t rank = 0, max_ns = 0;
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
    std::optional<std::uint64_t> worst_rank;
  };
  struct Standing;
  struct Cohort;

  RankState& rank_of(WorldId world, std::uint64_t rank, LeafId leaf, Nanos begin_ns);
  RankState* known_rank(WorldId world, std::uint64_t rank);
  Nanos part_ns() const { return limits_.span_ns / static_cast<Nanos>(kParts); }
  void start_part(std::int64_t part);
  bool is_judged(const RankState& rank) const;
  bool is_lost(const RankState& rank) const;  ///< The rank's host is lost.

  void judge_stalls(WorldId id, const World& world);
  Standing who_stands(const World& world) const;
  Ranks behind(const World& world, const Standing& standing, const Ranks& ranks) const;
  std::optional<Finding> stall_of(const World& world, const Standing& standing) const;
  std::string stall_text(const World& world, const Standing& standing, const Ranks& ranks,
                         std::uint64_t longest, const std::string& took) const;
  void judge_long_call(WorldId id);
  void judge_shares(AlertKind kind, double threshold, WorldId id, const World& world);
  Cohort cohort_of(AlertKind kind, const World& world, Ranks ranks) const;
  std::vector<Cohort> cohorts(AlertKind kind, const World& world) const;
  Sums span_of(const RankState& rank) const;
  Finding share_finding(AlertKind kind, double threshold, const World& world, const Cohort& cohort,
                        Ranks low) const;
  bool is_unknown(const Open& open, const World& world) const;
  void judge_losses();
  void judge_loss(const Key& key, const Loss& loss);
  std::string loss_text(const Key& key, const Loss& loss) const;
  /// The source of windows that were given up: "host node01" or "several hosts".
  std::string source_name(std::uint64_t number) const;
  std::string name_of(LeafId leaf) const;
  /// Returns "rank 3 (node01)" and so on. The host is named if all ranks are on one host and the
  /// run has several.
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
  /// Calls that began before this time are already reported.
  std::map<WorldId, Nanos> stall_told_ns_;
  std::map<Key, Loss> new_losses_;
  std::map<Key, Open> open_;
  std::vector<Alert> superfluous_;  ///< Duplicates among the alerts of a former front end.
  std::vector<Alert> changed_;
  std::optional<Nanos> now_ns_;
  std::int64_t part_ = 0;  ///< Number of the part of the run that is being filled.
  std::int64_t judged_ = 0;
  std::int64_t last_id_ = 0;
};

}  // namespace xylem::storage
