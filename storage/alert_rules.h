#pragma once

// When to tell somebody about a run: rules over windows.
//
// Four rules, each off or with a threshold. A rank is *stalled* when it made no MPI call for so
// long while others of its world did, or when one of its calls took so long. *Imbalance* is how
// far the rank with the least share of time in MPI is below the mean of its world: the others wait
// while it computes. *Late* is the same of time in collectives alone, which a rank that comes last
// hardly spends there. *Loss* counts calls that are in no window.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

namespace xylem::storage {

/// Thresholds; none: the rule is off.
struct AlertLimits {
  std::optional<Nanos> stalled_ns = 10 * kSecond;
  /// Shares of time, 0 to 1. Below, a code of unequal ranks is told of all the time; above, only
  /// what costs a third of the run.
  std::optional<double> imbalance = 0.3, late = 0.3;
  std::optional<std::uint64_t> lost_calls = 1;
  /// Shares are of so much time, and a loss is over when there was none for as long. Longer is
  /// calmer and later.
  Nanos span_ns = 10 * kSecond;
  bool operator==(const AlertLimits&) const = default;
};

enum class AlertKind : std::uint8_t { kStalled, kImbalance, kLate, kLoss };
/// "stalled", "imbalance", "late", "loss".
const char* alert_kind_name(AlertKind kind);
std::optional<AlertKind> parse_alert_kind(const std::string& name);

struct Alert {
  std::int64_t id = 0;
  Nanos at_ns = 0;
  std::optional<Nanos> until_ns;  ///< None: it still is so.
  AlertKind kind{};
  WorldId world{};
  std::optional<std::uint64_t> rank;  ///< None: not known.
  std::string text;                   ///< A sentence for people.
  double value = 0;                   ///< At its worst: seconds, a share, or calls.
  double threshold = 0;
  bool operator==(const Alert&) const = default;
};

/// What a process did in a window.
struct WindowNote {
  WorldId world{};
  std::uint64_t rank = 0;
  LeafId leaf{};
  Nanos begin_ns = 0, end_ns = 0;
  std::uint64_t calls = 0, mpi_ns = 0, collective_ns = 0;
  std::uint64_t max_ns = 0;  ///< The longest call,
  std::string max_function;  ///< and of what; may be empty when it is shorter than stalled_ns.
};

/// Judges windows; pure: its clock is the end of the newest window. Each alert is raised once,
/// when its rule holds over a whole span, and closed when the value has fallen below three quarters
/// of the threshold (a stall: with the next call), so that what swings about the threshold is one
/// alert. Some 200 bytes a rank.
class AlertRules {
 public:
  explicit AlertRules(AlertLimits limits);

  /// Goes on with what a former front end raised; before the first note.
  void adopt(std::span<const Alert> open, std::int64_t last_id);
  /// And with a rank that it knew and that had not ended: its calls up to then, and those of them
  /// that are lost, were told of by it.
  void adopt_rank(WorldId world, std::uint64_t rank, LeafId leaf, Nanos progress_ns,
                  std::uint64_t lost_calls);

  void note(const WindowNote& window);
  /// Windows of these leaves up to then are known, whatever is in them.
  void note_leaf(LeafId leaf, Nanos end_ns);
  /// Calls of the rank that met a full ring, so far.
  void note_lost(WorldId world, std::uint64_t rank, std::uint64_t lost_calls);
  /// Calls of unknown ranks that were given up, once each.
  void note_given_up(std::uint64_t calls);
  /// Makes no calls any more.
  void note_ended(WorldId world, std::uint64_t rank);

  /// What was raised, closed or became worse since the last time; to be kept by id. Looks at the
  /// ranks only when a fifth of a span has passed.
  std::vector<Alert> settle();
  /// The run is over: closes what is open.
  std::vector<Alert> finish();

  const AlertLimits& limits() const { return limits_; }

 private:
  static constexpr std::size_t kParts = 5;  ///< Of a span; one more is being filled.
  /// Of a rank that has not been heard of since a front end took over.
  static constexpr Nanos kNoWindow = std::numeric_limits<Nanos>::max();
  struct Sums {
    std::uint64_t mpi_ns = 0, collective_ns = 0;
  };
  struct RankState {
    LeafId leaf{};
    Nanos first_ns = kNoWindow, progress_ns = 0;
    std::uint64_t lost = 0;
    bool ended = false;
    std::array<Sums, kParts + 1> parts{};
  };
  using World = std::map<std::uint64_t, RankState>;
  using Key = std::pair<AlertKind, std::pair<WorldId, std::uint64_t>>;
  struct LongCall {
    std::uint64_t rank = 0, max_ns = 0;
    std::string function;
    Nanos end_ns = 0;
  };
  struct Open {
    Alert alert;
    Nanos worsened_ns = 0;
  };

  RankState& rank_of(WorldId world, std::uint64_t rank, LeafId leaf, Nanos begin_ns);
  Nanos part_ns() const { return limits_.span_ns / static_cast<Nanos>(kParts); }
  void start_part(std::int64_t part);
  void judge_stalls(WorldId id, const World& world);
  void judge_long_call(WorldId id);
  void judge_shares(AlertKind kind, double threshold, WorldId id, const World& world);
  void judge_losses();
  void raise(AlertKind kind, WorldId world, std::optional<std::uint64_t> rank, double value,
             double threshold, std::string text, Nanos at_ns);
  void worsen(Open& open, double value);
  void close(std::map<Key, Open>::iterator open, Nanos until_ns);

  AlertLimits limits_;
  std::map<WorldId, World> worlds_;
  std::map<LeafId, Nanos> leaf_seen_ns_;
  std::map<WorldId, LongCall> long_calls_;
  std::map<WorldId, Nanos> long_call_told_ns_;
  std::map<std::pair<WorldId, std::optional<std::uint64_t>>, std::uint64_t> new_losses_;
  std::map<Key, Open> open_;
  std::vector<Alert> changed_;
  std::optional<Nanos> now_ns_;
  std::int64_t part_ = 0;  ///< Of the run, that is being filled.
  std::int64_t judged_ = 0;
  std::int64_t last_id_ = 0;
};

}  // namespace xylem::storage
