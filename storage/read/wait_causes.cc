#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "base/saturating.h"
#include "storage/read/wait_causes_internal.h"

namespace xylem::storage {
namespace {

constexpr Rank kManyRanks{std::numeric_limits<std::uint32_t>::max()};

}  // namespace

std::size_t WaitCauses::RowHash::operator()(const RowKey& key) const noexcept {
  std::uint64_t mixed =
      (std::uint64_t{raw(key.rank)} << 32 | raw(key.cause)) * 0x9e3779b97f4a7c15ull;
  mixed ^= mixed >> 29 ^ (std::uint64_t{raw(key.root)} << 32 | raw(key.function));
  mixed *= 0xbf58476d1ce4e5b9ull;
  mixed ^=
      mixed >> 32 ^ (std::uint64_t{raw(key.world)} << 8 | static_cast<std::uint64_t>(key.kind));
  return static_cast<std::size_t>(mixed * 0x94d049bb133111ebull >> 16);
}

void WaitCauses::add(ThreadOf waiting, FunctionIndex function, Nanos end_ns,
                     const std::vector<WaitSpan>& spans) {
  if (spans.empty()) return;
  waits_.push_back({waiting, function, static_cast<std::uint32_t>(spans.size()), spans_.size(),
                    spans.front().begin_ns, spans.back().end_ns, end_ns});
  spans_.insert(spans_.end(), spans.begin(), spans.end());
}

void WaitCauses::follow(Nanos known) {
  if (known <= known_ && waits_.size() <= max_kept_) return;
  known_ = known = std::max(known, known_);
  // The order does not depend on the order in which the waits were added.
  const auto order = [](const Wait& wait) {
    return std::tuple(wait.end_ns, wait.begin_ns, wait.thread.process, wait.thread.thread);
  };
  const auto is_due = [known](const Wait& wait) { return wait.end_ns <= known; };
  auto due = std::partition(waits_.begin(), waits_.end(), is_due);
  std::sort(waits_.begin(), due, [&](const Wait& a, const Wait& b) { return order(a) < order(b); });
  const auto left = static_cast<std::size_t>(waits_.end() - due);
  if (left > max_kept_) {
    std::sort(due, waits_.end(), [&](const Wait& a, const Wait& b) { return order(a) < order(b); });
    const auto forced = due;
    due += static_cast<std::ptrdiff_t>(left - max_kept_ / 2);
    std::for_each(forced, due, [this](const Wait& wait) {
      Nanos& sum = unfollowed_[processes_[raw(wait.thread.process)].world];
      sum = saturating_add(sum, saturating_subtract(wait.end_ns, wait.begin_ns));
    });
  }
  std::for_each(waits_.begin(), due, [this](const Wait& wait) { follow_one(wait); });
  compact({due, waits_.end()});
  Nanos earliest = known;
  for (const Wait& wait : waits_) earliest = std::min(earliest, wait.begin_ns);
  forget(earliest);
  if (parts_ > max_kept_) limit_history();
}

void WaitCauses::compact(std::vector<Wait> left) {
  std::vector<WaitSpan> spans;
  for (Wait& wait : left) {
    const auto first = spans_.begin() + static_cast<std::ptrdiff_t>(wait.first);
    wait.first = spans.size();
    spans.insert(spans.end(), first, first + wait.count);
  }
  waits_ = std::move(left);
  spans_ = std::move(spans);
}

void WaitCauses::follow_one(const Wait& wait) {
  ++calls_;
  History& own = histories_[wait.thread];
  for (std::size_t i = 0; i < wait.count; ++i) follow_span(wait, spans_[wait.first + i], own);
  const bool is_in_history = !own.parts.empty() && own.parts.back().end_ns == wait.end_ns;
  if (is_in_history) own.parts.back().end_ns = wait.call_end_ns;
}

// The parts of the span in which the cause waited have the root cause of that wait. In the rest the
// cause is the root cause.
void WaitCauses::follow_span(const Wait& wait, const WaitSpan& span, History& own) {
  const Rank cause = processes_[raw(span.cause.process)].rank;
  Nanos at = span.begin_ns;
  const auto found = histories_.find(span.cause);
  if (found != histories_.end() && !(span.cause == wait.thread)) {
    const History& history = found->second;
    if (at < history.cut_at) {
      unfollowed_[processes_[raw(wait.thread.process)].world] +=
          std::min(span.end_ns, history.cut_at) - at;
    }
    auto part = std::upper_bound(history.parts.begin() + static_cast<std::ptrdiff_t>(history.first),
                                 history.parts.end(), at,
                                 [](Nanos time, const Part& of) { return time < of.end_ns; });
    for (; part != history.parts.end() && part->begin_ns < span.end_ns; ++part) {
      const Nanos begin = std::max(at, part->begin_ns), end = std::min(span.end_ns, part->end_ns);
      add_part(wait, span, at, begin, cause, own);
      add_part(wait, span, begin, end, part->root, own);
      at = end;
    }
  }
  add_part(wait, span, at, span.end_ns, cause, own);
}

void WaitCauses::add_part(const Wait& wait, const WaitSpan& span, Nanos begin, Nanos end, Rank root,
                          History& own) {
  if (begin >= end) return;
  const Process& process = processes_[raw(wait.thread.process)];
  const Rank cause = processes_[raw(span.cause.process)].rank;
  // Only clocks that differ can make a circle. A rank is not the cause of its own wait.
  if (root == process.rank) root = cause;
  RowKey key{process.world, process.rank, cause, root, wait.function, span.kind};
  if (rows_.size() >= kMaxWaitRows && !rows_.contains(key)) key.cause = key.root = kManyRanks;
  Sum& sum = rows_[key];
  sum.time_ns = saturating_add(sum.time_ns, saturating_subtract(end, begin));
  if (sum.latest_call != calls_) ++sum.calls;
  sum.latest_call = calls_;
  // A part that is not in order comes from clocks that differ; it is not in the history.
  if (!own.parts.empty() && begin < own.parts.back().end_ns) return;
  own.parts.push_back({begin, end, root});
  ++parts_;
}

void WaitCauses::forget(Nanos before) {
  for (auto at = histories_.begin(); at != histories_.end();) {
    History& history = at->second;
    auto& parts = history.parts;
    while (history.first < parts.size() && parts[history.first].end_ns <= before) {
      ++history.first;
      --parts_;
    }
    if (history.first > parts.size() / 2) {
      parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(history.first));
      history.first = 0;
    }
    at = parts.empty() && history.cut_at <= before ? histories_.erase(at) : std::next(at);
  }
}

void WaitCauses::limit_history() {
  const std::size_t each = max_kept_ / 2 / std::max<std::size_t>(1, histories_.size());
  for (auto& [thread, history] : histories_) {
    const std::size_t size = history.parts.size() - history.first;
    if (size <= each) continue;
    const auto last = history.parts.end() - static_cast<std::ptrdiff_t>(each);
    history.cut_at = std::prev(last)->end_ns;
    parts_ -= size - each;
    history.parts.erase(history.parts.begin(), last);
    history.first = 0;
  }
}

std::vector<WaitState> WaitCauses::rows(const std::vector<WaitFunction>& functions) const {
  std::vector<WaitState> rows;
  rows.reserve(rows_.size());
  for (const auto& [key, sum] : rows_) {
    WaitState& row = rows.emplace_back();
    row.world = key.world;
    row.rank = key.rank;
    if (key.cause != kManyRanks) {
      row.cause_rank = key.cause;
      row.root_rank = key.root;
    }
    row.kind = key.kind;
    row.function = functions[raw(key.function)].name;
    row.time_ns = sum.time_ns;
    row.calls = sum.calls;
  }
  std::ranges::sort(rows, [](const WaitState& a, const WaitState& b) {
    const auto order = [](const WaitState& row) {
      return std::tuple(-row.time_ns, row.world, row.rank, row.cause_rank, row.root_rank, row.kind,
                        std::string_view(row.function));
    };
    return order(a) < order(b);
  });
  return rows;
}

}  // namespace xylem::storage
