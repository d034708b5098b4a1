// Keeps the notes about ranks and hosts and the open alerts, and judges losses and crowded hosts.
// alert_stalls.cc and alert_shares.cc have the other rules.

#include "storage/alert/alert_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/named.h"
#include "base/quantity_text.h"
#include "storage/alert/alert_text_internal.h"
#include "storage/summary_internal.h"

namespace xylem::storage {
namespace {

constexpr std::array kKinds = {AlertKind::kStalled, AlertKind::kImbalance, AlertKind::kLate,
                               AlertKind::kLoss, AlertKind::kOversubscribed};
constexpr std::array kSubjects = {AlertSubject::kWorld, AlertSubject::kRank, AlertSubject::kEvents,
                                  AlertSubject::kHost, AlertSubject::kLostHost};
/// `worsened_ns` of an adopted alert that has not been judged yet.
constexpr Nanos kNotYet = std::numeric_limits<Nanos>::max();
/// A key's number if the alert is about several hosts or names no rank.
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

}  // namespace

const char* alert_kind_name(AlertKind kind) {
  switch (kind) {
    case AlertKind::kStalled:
      return "stalled";
    case AlertKind::kImbalance:
      return "imbalance";
    case AlertKind::kLate:
      return "late";
    case AlertKind::kLoss:
      return "loss";
    case AlertKind::kOversubscribed:
      return "oversubscribed";
  }
  return "";
}

std::optional<AlertKind> parse_alert_kind(const std::string& name) {
  return find_named(kKinds, alert_kind_name, name);
}

const char* alert_subject_name(AlertSubject subject) {
  switch (subject) {
    case AlertSubject::kWorld:
      return "world";
    case AlertSubject::kRank:
      return "rank";
    case AlertSubject::kEvents:
      return "events";
    case AlertSubject::kHost:
      return "host";
    case AlertSubject::kLostHost:
      return "lost_host";
  }
  return "";
}

std::optional<AlertSubject> parse_alert_subject(const std::string& name) {
  return find_named(kSubjects, alert_subject_name, name);
}

AlertRules::AlertRules(AlertLimits limits) : limits_(limits) {
  limits_.span_ns = std::max<Nanos>(limits_.span_ns, kParts);
}

// ---- a former front end ----

void AlertRules::adopt(std::span<const Alert> open, std::int64_t last_id) {
  last_id_ = last_id;
  for (const Alert& alert : open) {
    Open adopted{alert, kNotYet, {}, alert.text, alert.rank, true};
    if (alert.rank) adopted.ranks = {*alert.rank};
    if (!open_.try_emplace(key_of(alert), std::move(adopted)).second) superfluous_.push_back(alert);
  }
}

void AlertRules::adopt_rank(WorldId world, Rank rank, LeafId leaf, Nanos progress_ns,
                            std::uint64_t captured, std::uint64_t lost_calls) {
  RankState& state = worlds_[world][rank];
  state.leaf = leaf;
  state.progress_ns = std::max(state.progress_ns, progress_ns);
  state.captured = std::max(state.captured, captured);
  state.lost += lost_calls;
}

// ---- what is noted ----

AlertRules::RankState& AlertRules::rank_of(WorldId world, Rank rank, LeafId leaf, Nanos begin_ns) {
  const auto [place, fresh] = worlds_[world].try_emplace(rank);
  if (fresh) {
    place->second.progress_ns = begin_ns;
  }
  if (place->second.first_ns == kNoWindow) {
    place->second.leaf = leaf;
    place->second.first_ns = begin_ns;
  }
  return place->second;
}

AlertRules::RankState* AlertRules::known_rank(WorldId world, Rank rank) {
  const auto of_world = worlds_.find(world);
  if (of_world == worlds_.end()) return nullptr;
  const auto place = of_world->second.find(rank);
  return place == of_world->second.end() ? nullptr : &place->second;
}

void AlertRules::note(const WindowNote& window) {
  RankState& rank = rank_of(window.world, window.rank, window.leaf, window.begin_ns);
  note_leaf(window.leaf, window.end_ns);
  if (window.calls != 0) {
    rank.progress_ns = std::max(rank.progress_ns, window.end_ns);
    rank.inside.clear();
    rank.stopped = rank.outside = false;
  }
  const std::int64_t part = floor_to(window.begin_ns, part_ns()) / part_ns();
  if (part <= part_ && part > part_ - kKeptParts) {
    Sums& sums = rank.parts[slot_of(part)];
    sums.mpi_ns += window.mpi_ns;
    sums.collective_ns += window.collective_ns;
    sums.collective_calls += window.collective_calls;
    sums.collectives |= window.collectives;
  }
  if (limits_.stalled_ns && window.max_ns >= static_cast<std::uint64_t>(*limits_.stalled_ns)) {
    LongCall& longest = long_calls_[window.world];
    if (window.max_ns > longest.max_ns) {
      longest = {window.rank, window.max_ns, window.max_function, window.end_ns};
    }
  }
}

void AlertRules::note_silence(const SilenceNote& silence) {
  // The time may be wrong. It is limited to the time that is known of the host.
  const Nanos seen = hosts_[silence.leaf].seen_ns.value_or(0);
  const Nanos since = std::clamp<Nanos>(silence.since_ns, 0, std::max<Nanos>(seen, 0));
  RankState& rank = rank_of(silence.world, silence.rank, silence.leaf, since);
  // A restarted agent counts from 0 again, so a smaller number is no progress.
  if (silence.captured > rank.captured) {
    rank.progress_ns = std::max(rank.progress_ns, since);
    rank.captured = silence.captured;
  }
  rank.inside = silence.inside;
  rank.stopped = silence.stopped;
  rank.outside = silence.outside;
}

void AlertRules::note_leaf(LeafId leaf, Nanos end_ns) {
  std::optional<Nanos>& seen = hosts_[leaf].seen_ns;
  seen = std::max(seen.value_or(end_ns), end_ns);
  // The first window sets the present part. A slot that is used again is cleared first.
  if (!now_ns_) part_ = judged_ = floor_to(end_ns - 1, part_ns()) / part_ns();
  now_ns_ = std::max(now_ns_.value_or(end_ns), end_ns);
  const std::int64_t part = floor_to(*now_ns_ - 1, part_ns()) / part_ns();
  if (part - part_ > kKeptParts) part_ = part - kKeptParts;
  while (part_ < part) start_part(++part_);
}

std::size_t AlertRules::slot_of(std::int64_t part) {
  return static_cast<std::size_t>(part - floor_to(part, kKeptParts));
}

void AlertRules::start_part(std::int64_t part) {
  const std::size_t place = slot_of(part);
  for (auto& [id, world] : worlds_) {
    for (auto& [number, rank] : world) rank.parts[place] = {};
  }
}

void AlertRules::note_ended(WorldId world, Rank rank) {
  if (RankState* const state = known_rank(world, rank)) state->ended = true;
}

bool AlertRules::is_judged(const RankState& rank) const {
  const auto host = hosts_.find(rank.leaf);
  return !rank.ended && host != hosts_.end() && host->second.seen_ns && !host->second.lost;
}

bool AlertRules::is_lost(const RankState& rank) const {
  const auto host = hosts_.find(rank.leaf);
  return host != hosts_.end() && host->second.lost;
}

// ---- losses ----

void AlertRules::note_lost(WorldId world, Rank rank, std::uint64_t lost_calls) {
  RankState* const state = known_rank(world, rank);
  if (state == nullptr || lost_calls <= state->lost) return;
  new_losses_[{AlertKind::kLoss, AlertSubject::kRank, world, raw(rank)}].calls +=
      lost_calls - state->lost;
  state->lost = lost_calls;
}

void AlertRules::note_given_up(std::optional<LeafId> leaf, std::optional<std::uint64_t> calls,
                               const std::string& why) {
  if (calls == std::uint64_t{0}) return;
  Loss& loss =
      new_losses_[{AlertKind::kLoss, AlertSubject::kHost, {}, leaf ? raw(*leaf) : kNoNumber}];
  loss.calls += calls.value_or(0);
  loss.is_known &= calls.has_value();
  loss.why = why;
}

void AlertRules::note_events_given_up(WorldId world, Rank rank, std::uint64_t calls,
                                      const std::string& why) {
  if (calls == 0) return;
  Loss& loss = new_losses_[{AlertKind::kLoss, AlertSubject::kEvents, world, raw(rank)}];
  loss.calls += calls;
  loss.why = why;
}

void AlertRules::note_host_lost(const LostHostNote& note) {
  Host& host = hosts_[note.leaf];
  if (std::exchange(host.lost, true) || !limits_.lost_calls || is_reported_lost(note.leaf)) return;
  Finding finding;
  WorldId world{};
  if (!note.ranks.empty()) world = note.ranks.front().first;
  for (const auto& [of, rank] : note.ranks) {
    if (of == world) finding.ranks.push_back(rank);
  }
  std::ranges::sort(finding.ranks);
  finding.text = "host " + name_of(note.leaf) + " is lost";
  if (!note.ranks.empty()) {
    finding.rank = finding.ranks.front();
    const std::size_t others = note.ranks.size() - finding.ranks.size();
    finding.text += " with " + ranks_text(finding.ranks, "") +
                    (others == 0 ? "" : " and " + std::to_string(others) + " of other worlds");
    finding.text += host.seen_ns ? ": what they did after " + duration_text(*host.seen_ns) +
                                       " of the run is not known"
                                 : ": what they did is not known";
  }
  if (note.missing_calls != 0) {
    finding.text += "; of what they did before, " + calls_text(note.missing_calls) +
                    (note.missing_calls == 1 ? " is missing" : " are missing");
  }
  finding.value = static_cast<double>(note.missing_calls);
  finding.threshold = static_cast<double>(*limits_.lost_calls);
  finding.at_ns = host.seen_ns.value_or(now_ns_.value_or(0));
  raise({AlertKind::kLoss, AlertSubject::kLostHost, world, raw(note.leaf)}, std::move(finding));
}

void AlertRules::note_host_found(LeafId leaf) {
  const auto host = hosts_.find(leaf);
  if (host == hosts_.end() || !std::exchange(host->second.lost, false)) return;
  for (auto open = open_.begin(); open != open_.end();) {
    const auto at = open++;
    const Key& key = at->first;
    if (key.subject != AlertSubject::kLostHost || key.number != raw(leaf)) continue;
    close(at, now_ns_.value_or(0));
  }
}

std::string AlertRules::loss_text(const Key& key, const Loss& loss) const {
  const std::string calls = loss.is_known ? calls_text(loss.calls) : "calls, not known how many,";
  const std::string were = loss.is_known && loss.calls == 1 ? " was " : " were ";
  switch (key.subject) {
    case AlertSubject::kRank:
      return calls + " of rank " + std::to_string(key.number) + were +
             "lost: its ring was full, the agent could not keep up";
    case AlertSubject::kEvents:
      return "events of " + calls + " of rank " + std::to_string(key.number) +
             " were given up: " + loss.why;
    default:
      return calls + " of " + source_name(key.number) + were + "given up: " + loss.why;
  }
}

std::string AlertRules::source_name(std::uint64_t number) const {
  if (number == kNoNumber) return "several hosts";
  return "host " + name_of(LeafId{static_cast<std::uint32_t>(number)});
}

void AlertRules::judge_loss(const Key& key, const Loss& loss) {
  const auto open = open_.find(key);
  Loss all = loss;
  Finding finding;
  finding.threshold = static_cast<double>(*limits_.lost_calls);
  finding.at_ns = now_ns_.value_or(0);
  if (key.subject == AlertSubject::kRank || key.subject == AlertSubject::kEvents) {
    finding.rank = Rank{static_cast<std::uint32_t>(key.number)};
    finding.ranks = {*finding.rank};
  }
  if (open != open_.end()) {
    all.calls += static_cast<std::uint64_t>(open->second.alert.value);
    all.is_known &= !open->second.alert.at_least;
  } else if (static_cast<double>(loss.calls) < finding.threshold && loss.is_known) {
    new_losses_[key] = loss;
    return;
  }
  finding.value = static_cast<double>(all.calls);
  finding.at_least = !all.is_known;
  finding.text = loss_text(key, all);
  hold(key, std::move(finding));
}

void AlertRules::judge_losses() {
  for (const auto& [key, loss] : std::exchange(new_losses_, {})) judge_loss(key, loss);
  if (!now_ns_) return;
  for (auto open = open_.begin(); open != open_.end();) {
    const auto at = open++;
    if (at->first.kind != AlertKind::kLoss || at->first.subject == AlertSubject::kLostHost) {
      continue;
    }
    Nanos& worsened_ns = at->second.worsened_ns;
    worsened_ns = std::min(worsened_ns, *now_ns_);
    if (*now_ns_ - worsened_ns < limits_.span_ns) continue;
    close(at, worsened_ns);
  }
}

// ---- hosts with too many ranks ----

// The end of a rank is reported up to a second late. So ranks of two jobs that follow each other at
// once may seem to run at the same time.
void AlertRules::judge_hosts() {
  constexpr Nanos kLasts = 2 * kSecond;
  std::map<LeafId, std::uint64_t> ranks;
  for (const auto& [id, world] : worlds_) {
    for (const auto& [number, rank] : world) {
      if (is_judged(rank)) ++ranks[rank.leaf];
    }
  }
  for (auto& [leaf, host] : hosts_) {
    const Key key{AlertKind::kOversubscribed, AlertSubject::kHost, {}, raw(leaf)};
    if (!host.cores || *host.cores <= 0 || host.lost) continue;
    const std::uint64_t count = ranks[leaf];
    const double per_core = static_cast<double>(count) / *host.cores;
    if (per_core <= *limits_.oversubscribed) {
      host.crowded_ns.reset();
      if (const auto open = open_.find(key); open != open_.end()) close(open, *now_ns_);
      continue;
    }
    if (!host.crowded_ns) host.crowded_ns = *now_ns_;
    if (*now_ns_ - *host.crowded_ns < kLasts && !open_.contains(key)) continue;
    Finding finding;
    finding.value = per_core;
    finding.threshold = *limits_.oversubscribed;
    finding.at_ns = *host.crowded_ns;
    finding.text = "host " + name_of(leaf) + " has " + count_text(count) +
                   (count == 1 ? " rank on " : " ranks on ") + cores_text(*host.cores) +
                   ": ranks share cores";
    hold(key, std::move(finding));
  }
}

// ---- what is open ----

AlertRules::Key AlertRules::key_of(const Alert& alert) {
  Key key{alert.kind, alert.subject.value_or(AlertSubject::kWorld), alert.world, 0};
  switch (key.subject) {
    case AlertSubject::kWorld:
      break;
    case AlertSubject::kRank:
    case AlertSubject::kEvents:
      key.number = alert.rank ? raw(*alert.rank) : kNoNumber;
      break;
    case AlertSubject::kHost:
    case AlertSubject::kLostHost:
      key.number = alert.leaf ? raw(*alert.leaf) : kNoNumber;
  }
  return key;
}

bool AlertRules::is_reported_lost(LeafId leaf) const {
  return std::ranges::any_of(open_, [&](const auto& entry) {
    return entry.first.subject == AlertSubject::kLostHost && entry.first.number == raw(leaf);
  });
}

// Closes alerts of a former front end: duplicates, and lost hosts that were heard of again before
// this front end took over.
void AlertRules::close_superfluous() {
  for (auto open = open_.begin(); open != open_.end();) {
    const auto at = open++;
    if (at->first.subject != AlertSubject::kLostHost) continue;
    const auto host = hosts_.find(LeafId{static_cast<std::uint32_t>(at->first.number)});
    if (host == hosts_.end() || !host->second.lost) close(at, now_ns_.value_or(0));
  }
  for (Alert& alert : std::exchange(superfluous_, {})) {
    alert.until_ns = std::max(now_ns_.value_or(0), alert.at_ns);
    changed_.push_back(std::move(alert));
  }
}

std::vector<Alert> AlertRules::judge() {
  close_superfluous();
  if (limits_.lost_calls) judge_losses();
  if (now_ns_ && judged_ < part_) {
    const bool is_look = floor_to(judged_, kPartsOfLook) < floor_to(part_, kPartsOfLook);
    judged_ = part_;
    for (const auto& [id, world] : worlds_) {
      if (is_look && limits_.stalled_ns) {
        judge_stalls(id, world);
        judge_long_call(id);
      }
      const std::optional<Span> young = limits_.imbalance ? young_span(world) : std::nullopt;
      if (limits_.imbalance && (young || is_look)) {
        judge_shares(AlertKind::kImbalance, *limits_.imbalance, id, world,
                     young ? *young : whole_span());
      }
      if (is_look && limits_.late) {
        judge_shares(AlertKind::kLate, *limits_.late, id, world, whole_span());
      }
    }
    if (limits_.oversubscribed) judge_hosts();
  }
  return std::exchange(changed_, {});
}

std::vector<Alert> AlertRules::finish() {
  auto changed = judge();
  while (!open_.empty()) close(open_.begin(), now_ns_.value_or(0));
  std::ranges::move(std::exchange(changed_, {}), std::back_inserter(changed));
  return changed;
}

std::string AlertRules::name_of(LeafId leaf) const {
  const auto host = hosts_.find(leaf);
  if (host != hosts_.end() && !host->second.name.empty()) return host->second.name;
  return "of leaf " + std::to_string(raw(leaf));
}

std::string AlertRules::who(const World& world, const Ranks& ranks) const {
  std::optional<LeafId> host;
  bool is_one = hosts_.size() > 1;
  for (const Rank rank : ranks) {
    const auto found = world.find(rank);
    if (found == world.end()) continue;
    is_one &= !host || *host == found->second.leaf;
    host = found->second.leaf;
  }
  is_one = is_one && host && hosts_.contains(*host) && !hosts_.at(*host).name.empty();
  return ranks_text(ranks, is_one ? name_of(*host) : "");
}

void AlertRules::hold(const Key& key, Finding finding) {
  const auto found = open_.find(key);
  if (found != open_.end()) {
    Ranks both;
    std::ranges::set_intersection(found->second.ranks, finding.ranks, std::back_inserter(both));
    const bool is_same = found->second.ranks.empty() || finding.ranks.empty() || !both.empty();
    if (!is_same) close(found, now_ns_.value_or(finding.at_ns));
  }
  const auto place = open_.find(key);
  if (place == open_.end()) return raise(key, std::move(finding));
  Open& open = place->second;
  open.is_adopted = false;
  const Alert before = open.alert;
  open.ranks = std::move(finding.ranks);
  open.alert.rank = finding.rank;
  open.alert.text = std::move(finding.text);
  open.alert.at_least = finding.at_least;
  if (finding.value >= open.alert.value) {
    if (finding.value > open.alert.value) open.worsened_ns = now_ns_.value_or(finding.at_ns);
    open.alert.value = finding.value;
    open.worst_text = open.alert.text;
    open.worst_rank = open.alert.rank;
  }
  if (open.alert != before) changed_.push_back(open.alert);
}

void AlertRules::raise(const Key& key, Finding finding) {
  Alert alert{.id = ++last_id_,
              .at_ns = finding.at_ns,
              .kind = key.kind,
              .subject = key.subject,
              .world = key.world,
              .rank = finding.rank,
              .text = finding.text,
              .value = finding.value,
              .threshold = finding.threshold,
              .at_least = finding.at_least};
  const bool is_of_host =
      key.subject == AlertSubject::kHost || key.subject == AlertSubject::kLostHost;
  if (is_of_host && key.number != kNoNumber) {
    alert.leaf = LeafId{static_cast<std::uint32_t>(key.number)};
  }
  changed_.push_back(alert);
  const Nanos now = now_ns_.value_or(finding.at_ns);
  open_[key] = {std::move(alert),        now,          std::move(finding.ranks),
                std::move(finding.text), finding.rank, false};
}

void AlertRules::close(std::map<Key, Open>::iterator open, Nanos until_ns) {
  Alert& alert = open->second.alert;
  alert.until_ns = std::max(until_ns, alert.at_ns);
  alert.text = std::move(open->second.worst_text);
  alert.rank = open->second.worst_rank;
  changed_.push_back(std::move(alert));
  open_.erase(open);
}

}  // namespace xylem::storage
