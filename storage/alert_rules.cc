#include "storage/alert_rules.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "storage/summary_internal.h"

namespace xylem::storage {
namespace {

constexpr std::array kKinds = {AlertKind::kStalled, AlertKind::kImbalance, AlertKind::kLate,
                               AlertKind::kLoss};
/// A value that falls below so much of the threshold ends an alert.
constexpr double kCloses = 0.75;
/// Stalled ranks of a world that are told at the same time: of a host that hangs, some are enough.
constexpr std::size_t kMostStalled = 16;
/// Of no rank in particular.
constexpr std::uint64_t kNoRank = ~std::uint64_t{0};

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double share) { return number(100 * share, 0) + " %"; }

double seconds(Nanos ns) { return static_cast<double>(ns) / kSecond; }

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
  }
  return "";
}

std::optional<AlertKind> parse_alert_kind(const std::string& name) {
  for (const AlertKind kind : kKinds) {
    if (name == alert_kind_name(kind)) return kind;
  }
  return std::nullopt;
}

AlertRules::AlertRules(AlertLimits limits) : limits_(limits) {
  limits_.span_ns = std::max<Nanos>(limits_.span_ns, kParts);
}

void AlertRules::adopt(std::span<const Alert> open, std::int64_t last_id) {
  last_id_ = last_id;
  for (const Alert& alert : open) {
    open_[{alert.kind, {alert.world, alert.rank.value_or(kNoRank)}}] = {alert, alert.at_ns};
  }
}

void AlertRules::adopt_rank(WorldId world, std::uint64_t rank, LeafId leaf, Nanos progress_ns,
                            std::uint64_t lost_calls) {
  RankState& state = worlds_[world][rank];
  state.leaf = leaf;
  state.progress_ns = std::max(state.progress_ns, progress_ns);
  state.lost += lost_calls;
}

AlertRules::RankState& AlertRules::rank_of(WorldId world, std::uint64_t rank, LeafId leaf,
                                           Nanos begin_ns) {
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

void AlertRules::note(const WindowNote& window) {
  RankState& rank = rank_of(window.world, window.rank, window.leaf, window.begin_ns);
  note_leaf(window.leaf, window.end_ns);
  if (window.calls != 0) rank.progress_ns = std::max(rank.progress_ns, window.end_ns);
  const std::int64_t part = floor_to(window.begin_ns, part_ns()) / part_ns();
  if (part <= part_ && part > part_ - static_cast<std::int64_t>(kParts + 1)) {
    Sums& sums = rank.parts[static_cast<std::size_t>(part - floor_to(part, kParts + 1))];
    sums.mpi_ns += window.mpi_ns;
    sums.collective_ns += window.collective_ns;
  }
  if (limits_.stalled_ns && window.max_ns >= static_cast<std::uint64_t>(*limits_.stalled_ns)) {
    LongCall& longest = long_calls_[window.world];
    if (window.max_ns > longest.max_ns) {
      longest = {window.rank, window.max_ns, window.max_function, window.end_ns};
    }
  }
}

void AlertRules::note_leaf(LeafId leaf, Nanos end_ns) {
  Nanos& seen = leaf_seen_ns_.try_emplace(leaf, end_ns).first->second;
  seen = std::max(seen, end_ns);
  // The first windows say when the run is; a part that is filled anew forgets what it held.
  if (!now_ns_) part_ = judged_ = floor_to(end_ns - 1, part_ns()) / part_ns();
  now_ns_ = std::max(now_ns_.value_or(end_ns), end_ns);
  const std::int64_t part = floor_to(*now_ns_ - 1, part_ns()) / part_ns();
  constexpr auto kSlots = static_cast<std::int64_t>(kParts + 1);
  if (part - part_ > kSlots) part_ = part - kSlots;
  while (part_ < part) start_part(++part_);
}

void AlertRules::start_part(std::int64_t part) {
  const auto place = static_cast<std::size_t>(part - floor_to(part, kParts + 1));
  for (auto& [id, world] : worlds_) {
    for (auto& [number, rank] : world) rank.parts[place] = {};
  }
}

void AlertRules::note_lost(WorldId world, std::uint64_t rank, std::uint64_t lost_calls) {
  const auto of_world = worlds_.find(world);
  if (of_world == worlds_.end()) return;
  const auto place = of_world->second.find(rank);
  if (place == of_world->second.end() || lost_calls <= place->second.lost) return;
  new_losses_[{world, rank}] += lost_calls - place->second.lost;
  place->second.lost = lost_calls;
}

void AlertRules::note_given_up(std::uint64_t calls) {
  if (calls != 0) new_losses_[{WorldId{}, std::nullopt}] += calls;
}

void AlertRules::note_ended(WorldId world, std::uint64_t rank) {
  const auto of_world = worlds_.find(world);
  if (of_world == worlds_.end()) return;
  const auto place = of_world->second.find(rank);
  if (place != of_world->second.end()) place->second.ended = true;
}

std::vector<Alert> AlertRules::settle() {
  if (!now_ns_) return {};
  if (limits_.lost_calls) judge_losses();
  if (judged_ < part_) {
    judged_ = part_;
    for (const auto& [id, world] : worlds_) {
      if (limits_.stalled_ns) {
        judge_stalls(id, world);
        judge_long_call(id);
      }
      if (limits_.imbalance) judge_shares(AlertKind::kImbalance, *limits_.imbalance, id, world);
      if (limits_.late) judge_shares(AlertKind::kLate, *limits_.late, id, world);
    }
  }
  return std::exchange(changed_, {});
}

std::vector<Alert> AlertRules::finish() {
  auto changed = settle();
  while (!open_.empty()) close(open_.begin(), now_ns_.value_or(0));
  std::ranges::move(std::exchange(changed_, {}), std::back_inserter(changed));
  return changed;
}

// A rank is as far as the windows of its leaf are: a host that is late is not a rank that stands.
void AlertRules::judge_stalls(WorldId id, const World& world) {
  const Nanos limit = *limits_.stalled_ns;
  Nanos newest = 0;
  for (const auto& [number, rank] : world) newest = std::max(newest, rank.progress_ns);
  std::size_t told = 0;
  for (const auto& [number, rank] : world) {
    const auto open = open_.find({AlertKind::kStalled, {id, number}});
    const auto seen = leaf_seen_ns_.find(rank.leaf);
    if (open != open_.end()) {
      ++told;
      if (seen == leaf_seen_ns_.end()) continue;
      const Nanos silent = seen->second - rank.progress_ns;
      if (rank.ended || silent < limit) {
        close(open, rank.progress_ns);
      } else {
        worsen(open->second, seconds(silent));
      }
    }
  }
  for (const auto& [number, rank] : world) {
    const auto seen = leaf_seen_ns_.find(rank.leaf);
    if (seen == leaf_seen_ns_.end()) continue;
    const Nanos silent = seen->second - rank.progress_ns;
    const bool others_go_on = newest >= rank.progress_ns + limit / 2;
    if (rank.ended || silent < limit || !others_go_on || told >= kMostStalled) continue;
    if (open_.contains({AlertKind::kStalled, {id, number}})) continue;
    ++told;
    raise(AlertKind::kStalled, id, number, seconds(silent), seconds(limit),
          "rank " + std::to_string(number) + " has made no MPI call for " +
              xylem::storage::number(seconds(silent), 1) + " s while others did",
          rank.progress_ns);
  }
}

// It is over when it shows. While one rank is late all others wait in such a call: one is told.
void AlertRules::judge_long_call(WorldId id) {
  const auto found = long_calls_.find(id);
  if (found == long_calls_.end()) return;
  const LongCall call = found->second;
  long_calls_.erase(found);
  const auto told = long_call_told_ns_.find(id);
  const Nanos begin = call.end_ns - static_cast<Nanos>(call.max_ns);
  if (told != long_call_told_ns_.end() && begin < told->second) return;
  long_call_told_ns_[id] = call.end_ns;
  const double took = seconds(static_cast<Nanos>(call.max_ns));
  Alert alert{++last_id_,
              begin,
              call.end_ns,
              AlertKind::kStalled,
              id,
              call.rank,
              "rank " + std::to_string(call.rank) + " was in one " +
                  (call.function.empty() ? "MPI call" : call.function) + " for " + number(took, 1) +
                  " s",
              took,
              seconds(*limits_.stalled_ns)};
  changed_.push_back(std::move(alert));
}

void AlertRules::judge_shares(AlertKind kind, double threshold, WorldId id, const World& world) {
  const auto parts = static_cast<std::int64_t>(kParts);
  const Nanos begin = (part_ - parts) * part_ns();
  const bool is_late = kind == AlertKind::kLate;
  // The part that is being filled is left out.
  const auto share_of = [&](const RankState& rank) {
    std::uint64_t sum = 0;
    for (std::int64_t part = part_ - parts; part < part_; ++part) {
      const Sums& sums = rank.parts[static_cast<std::size_t>(part - floor_to(part, kParts + 1))];
      sum += is_late ? sums.collective_ns : sums.mpi_ns;
    }
    return std::min(static_cast<double>(sum) / static_cast<double>(parts * part_ns()), 1.0);
  };
  double mean = 0;
  double least = 2;
  std::size_t ranks = 0;
  std::uint64_t lowest = 0;
  std::map<std::uint64_t, double> opened;  // Shares of ranks with an open alert.
  for (const auto& [number, rank] : world) {
    if (rank.ended || rank.first_ns > begin) continue;
    const double share = share_of(rank);
    mean += share;
    ++ranks;
    if (share < least) {
      least = share;
      lowest = number;
    }
    if (open_.contains({kind, {id, number}})) opened[number] = share;
  }
  mean /= std::max<double>(static_cast<double>(ranks), 1);
  bool is_told = false;
  for (auto open = open_.lower_bound({kind, {id, 0}});
       open != open_.end() && open->first.first == kind && open->first.second.first == id;) {
    const auto at = open++;
    const auto share = opened.find(at->first.second.second);
    const auto rank = world.find(at->first.second.second);
    // After a front end's death nobody knows for a span.
    const bool is_unknown =
        rank == world.end() || (!rank->second.ended && rank->second.first_ns > begin);
    is_told |= is_unknown;
    if (is_unknown) continue;
    if (ranks < 2 || share == opened.end() || mean - share->second < kCloses * threshold) {
      close(at, part_ * part_ns());
    } else {
      worsen(at->second, mean - share->second);
      is_told = true;
    }
  }
  if (is_told || ranks < 2 || mean - least < threshold) return;
  const std::string who = "rank " + std::to_string(lowest);
  raise(kind, id, lowest, mean - least, threshold,
        is_late ? who + " comes last to collectives: it spends " + percent(least) +
                      " of its time in them, the mean of all ranks is " + percent(mean)
                : who + " is in MPI " + percent(least) + " of its time, the mean of all ranks is " +
                      percent(mean) + ": the others wait for it",
        begin);
}

void AlertRules::judge_losses() {
  for (const auto& [where, calls] : std::exchange(new_losses_, {})) {
    const auto& [world, rank] = where;
    const auto open = open_.find({AlertKind::kLoss, {world, rank.value_or(kNoRank)}});
    const auto lost = static_cast<double>(calls);
    const auto threshold = static_cast<double>(*limits_.lost_calls);
    if (open != open_.end()) {
      worsen(open->second, open->second.alert.value + lost);
    } else if (lost >= threshold) {
      raise(AlertKind::kLoss, world, rank, lost, threshold,
            rank ? "calls of rank " + std::to_string(*rank) +
                       " were lost: its ring was full, the agent could not keep up"
                 : "windows were given up; `xylem report` says of which host and why",
            *now_ns_);
    } else {
      new_losses_[where] = calls;
    }
  }
  for (auto open = open_.begin(); open != open_.end();) {
    const auto at = open++;
    if (at->first.first == AlertKind::kLoss &&
        *now_ns_ - at->second.worsened_ns >= limits_.span_ns) {
      close(at, at->second.worsened_ns);
    }
  }
}

void AlertRules::raise(AlertKind kind, WorldId world, std::optional<std::uint64_t> rank,
                       double value, double threshold, std::string text, Nanos at_ns) {
  Alert alert{++last_id_, at_ns, {}, kind, world, rank, std::move(text), value, threshold};
  changed_.push_back(alert);
  open_[{kind, {world, rank.value_or(kNoRank)}}] = {std::move(alert), now_ns_.value_or(at_ns)};
}

void AlertRules::worsen(Open& open, double value) {
  if (value <= open.alert.value) return;
  open.alert.value = value;
  open.worsened_ns = now_ns_.value_or(open.alert.at_ns);
  changed_.push_back(open.alert);
}

void AlertRules::close(std::map<Key, Open>::iterator open, Nanos until_ns) {
  open->second.alert.until_ns = std::max(until_ns, open->second.alert.at_ns);
  changed_.push_back(std::move(open->second.alert));
  open_.erase(open);
}

}  // namespace xylem::storage
