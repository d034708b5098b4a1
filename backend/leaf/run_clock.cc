#include "backend/leaf/run_clock.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace xylem::backend {
namespace {

// Copies the newest pieces and returns how many.
template <typename Pieces, typename Array>
std::uint32_t copy_newest(const Pieces& from, Array& to) {
  const std::size_t count = std::min(from.size(), to.size());
  std::copy(from.end() - static_cast<std::ptrdiff_t>(count), from.end(), to.begin());
  return static_cast<std::uint32_t>(count);
}

// The number of pieces in a damaged memo is limited to the real number.
template <typename Array>
auto known(const Array& pieces, std::uint32_t count) {
  return std::span(pieces).first(std::min<std::size_t>(count, pieces.size()));
}

bool is_far(Nanos ns) { return ns < -RunClock::kFarthest || ns > RunClock::kFarthest; }

bool is_possible(const LinePiece& piece) {
  return std::abs(piece.slope_off) <= SlewedLine::kMaxSlopeOff && !is_far(piece.from) &&
         !is_far(piece.value);
}
// No processor counts 1000 ticks per ns, or less than one tick per ms.
bool is_possible_rate(double ns_per_tick) { return ns_per_tick >= 1e-3 && ns_per_tick <= 1e6; }
bool is_possible(const TickPiece& piece) {
  return is_possible_rate(piece.ns_per_tick) && !is_far(piece.ns);
}
Nanos begin_of(const LinePiece& piece) { return piece.from; }
std::uint64_t begin_of(const TickPiece& piece) { return piece.ticks; }

template <typename Pieces>
bool are_possible(const Pieces& pieces) {
  return std::all_of(pieces.begin(), pieces.end(), [](const auto& p) { return is_possible(p); }) &&
         std::is_sorted(pieces.begin(), pieces.end(),
                        [](const auto& a, const auto& b) { return begin_of(a) < begin_of(b); });
}

}  // namespace

RunClock::RunClock(const ClockMemo& memo) {
  const auto pieces = known(memo.run, memo.run_pieces);
  if (!pieces.empty() && are_possible(pieces)) line_ = SlewedLine(pieces);
}

LineChange RunClock::follow(Nanos now, Nanos offset_ns, Nanos epoch_ns) {
  const Nanos offset = std::clamp(offset_ns, -kFarthest / 2, kFarthest / 2) -
                       std::clamp(epoch_ns, -kFarthest / 2, kFarthest / 2);
  return line_.aim(now + kLead, offset);
}

Nanos RunClock::to_run(Nanos monotonic) const { return std::max<Nanos>(0, line_.at(monotonic)); }

ClockMemo memo_of(const TickClock& ticks, const RunClock& run) {
  ClockMemo memo;
  memo.tick_pieces = copy_newest(ticks.pieces(), memo.ticks);
  memo.run_pieces = copy_newest(run.line().pieces(), memo.run);
  memo.last_pair = ticks.last_pair();
  if (memo.tick_pieces == ticks.pieces().size()) memo.older_ns_per_tick = ticks.older_ns_per_tick();
  return memo;
}

TickClock tick_clock_of(const ClockMemo& memo) {
  const auto pieces = known(memo.ticks, memo.tick_pieces);
  if (!are_possible(pieces) || is_far(memo.last_pair.monotonic_ns)) return {};
  const bool is_whole = is_possible_rate(memo.older_ns_per_tick);
  return {pieces, memo.last_pair, is_whole ? memo.older_ns_per_tick : 0};
}

}  // namespace xylem::backend
