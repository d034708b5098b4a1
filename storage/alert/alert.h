#pragma once

// An alert about a run. alert_rules.h raises alerts.

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"

namespace xylem::storage {

enum class AlertKind : std::uint8_t { kStalled, kImbalance, kLate, kLoss, kOversubscribed };
/// "stalled", "imbalance", "late", "loss", "oversubscribed".
const char* alert_kind_name(AlertKind kind);
std::optional<AlertKind> parse_alert_kind(const std::string& name);

/// The subject of an alert: ranks of a world, one rank, events of a rank, a host or its windows, or
/// a lost host.
enum class AlertSubject : std::uint8_t { kWorld, kRank, kEvents, kHost, kLostHost };
/// "world", "rank", "events", "host", "lost_host".
const char* alert_subject_name(AlertSubject subject);
std::optional<AlertSubject> parse_alert_subject(const std::string& name);

/// An alert. While it is open, it is identified by its kind, its subject, and the world, rank or
/// leaf of the subject.
struct Alert {
  std::int64_t id = 0;
  Nanos at_ns = 0;
  std::optional<Nanos> until_ns = {};  ///< nullopt: the alert is open.
  AlertKind kind{};
  std::optional<AlertSubject> subject = {};  ///< nullopt: the file has a schema before 16.
  WorldId world{};
  /// The rank, or the worst of several ranks; for a lost host, its first rank. nullopt: unknown, or
  /// all ranks.
  std::optional<Rank> rank = {};
  /// The host's leaf, if the alert is about a host; nullopt: several hosts, or no host.
  std::optional<LeafId> leaf = {};
  /// A sentence for people; programs must not parse it. While the alert is open, the text describes
  /// the present state; afterwards it describes the worst state.
  std::string text;
  double value = 0;  ///< Worst value: seconds, a share, calls, or ranks per core.
  double threshold = 0;
  /// True if at least `value` calls were lost, but the exact number is unknown.
  bool at_least = false;
  bool operator==(const Alert&) const = default;
};

}  // namespace xylem::storage
