#include "backend/leaf/tick_clock.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace xylem::backend {
namespace {

constexpr int kTries = 16;
// Far beyond the life of a machine, far below overflow: hostile ticks end here.
constexpr double kFarthestNs = 4e18;
constexpr Nanos kLatest = 4'000'000'000'000'000'000;
// The last piece has no end; of ticks beyond this, decades by any clock, a reader keeps nothing.
constexpr std::uint64_t kLongestPiece = std::uint64_t{1} << 62;

std::uint64_t read_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(monotonic_now());
#endif
}

double ticks_between(std::uint64_t from, std::uint64_t to) {
  return to >= from ? static_cast<double>(to - from) : -static_cast<double>(from - to);
}

}  // namespace

TickPair read_tick_pair() {
  TickPair best;
  best.error_ns = std::numeric_limits<Nanos>::max();
  for (int i = 0; i < kTries; ++i) {
    const Nanos before = monotonic_now();
    const std::uint64_t ticks = read_ticks();
    const Nanos after = monotonic_now();
    const Nanos error = (after - before + 1) / 2;
    if (error < best.error_ns) best = {ticks, before + (after - before) / 2, error};
  }
  return best;
}

void TickClock::add(const TickPair& pair) {
  if (!pairs_.empty()) {
    Piece& last = pairs_.back();
    if (pair.monotonic_ns < next_pair() || pair.ticks <= last.begin.ticks) return;
    last.ns_per_tick = static_cast<double>(pair.monotonic_ns - last.begin.monotonic_ns) /
                       ticks_between(last.begin.ticks, pair.ticks);
    // What the slope may be off by, carried over the open end that it is used for.
    const double doubt = static_cast<double>(pair.error_ns + last.begin.error_ns);
    const double stretch = static_cast<double>(kPiece) /
                           static_cast<double>(pair.monotonic_ns - last.begin.monotonic_ns);
    error_ns_ = std::max(pair.error_ns, last.begin.error_ns) +
                static_cast<Nanos>(doubt * std::min(stretch, 25.0));
    pairs_.push_back({pair, last.ns_per_tick});
  } else {
    error_ns_ = pair.error_ns;
    pairs_.push_back({pair, 0});
  }
  if (pairs_.size() > kPieces) pairs_.pop_front();
}

Nanos TickClock::next_pair() const {
  if (pairs_.empty()) return 0;
  return pairs_.back().begin.monotonic_ns + (pairs_.size() == 1 ? kFirstPiece : kPiece);
}

Nanos TickClock::to_monotonic(std::uint64_t ticks) const {
  CHECK(is_ready());
  // Nearly always in the last piece or the one before.
  auto piece = pairs_.rbegin();
  while (piece->begin.ticks > ticks && std::next(piece) != pairs_.rend()) ++piece;
  const double ns = std::clamp(ticks_between(piece->begin.ticks, ticks) * piece->ns_per_tick,
                               -kFarthestNs, kFarthestNs);
  return piece->begin.monotonic_ns + static_cast<Nanos>(ns);
}

Nanos record_time(const TickClock& clock, capture::ClockKind kind, std::uint64_t ticks) {
  if (kind == capture::ClockKind::kTsc) return clock.to_monotonic(ticks);
  return static_cast<Nanos>(std::min<std::uint64_t>(ticks, kLatest));
}

bool TickReader::look_up(std::uint64_t ticks) {
  const auto& pieces = clock_.pairs_;
  auto piece = pieces.rbegin();
  while (piece != pieces.rend() && piece->begin.ticks > ticks) ++piece;
  if (!clock_.is_ready() || piece == pieces.rend()) return false;
  const double longest = kFarthestNs / std::max(piece->ns_per_tick, 1.0);
  // Ticks of a piece do not begin anew at 0.
  std::uint64_t length = std::numeric_limits<std::uint64_t>::max() - piece->begin.ticks;
  length = std::min({length, static_cast<std::uint64_t>(longest), kLongestPiece});
  if (piece != pieces.rbegin()) {
    length = std::min(length, std::prev(piece)->begin.ticks - piece->begin.ticks);
  }
  begin_ = piece->begin;
  ns_per_tick_ = piece->ns_per_tick;
  length_ = length;
  return ticks - begin_.ticks < length_;
}

}  // namespace xylem::backend
