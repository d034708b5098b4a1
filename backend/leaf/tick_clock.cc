#include "backend/leaf/tick_clock.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <vector>

#include "base/check.h"

namespace xylem::backend {
namespace {

constexpr int kTries = 16;
// Limit for hostile ticks: far beyond the uptime of a machine, far below overflow.
constexpr double kFarthestNs = 4e18;
constexpr Nanos kLatest = 4'000'000'000'000'000'000;
// The last piece has no end. A reader handles ticks beyond this limit (decades on any clock) one by
// one.
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
  if (!has_pair_) {
    last_ = pair;
    has_pair_ = true;
    error_ns_ = pair.error_ns;
    return;
  }
  if (pair.monotonic_ns < next_pair() || pair.ticks <= last_.ticks) return;
  const Nanos span = pair.monotonic_ns - last_.monotonic_ns;
  const double rate = static_cast<double>(span) / ticks_between(last_.ticks, pair.ticks);
  if (pieces_.empty()) {
    pieces_.push_back({last_.ticks, last_.monotonic_ns, rate});
    older_ns_per_tick_ = rate;
  }
  Nanos line = to_monotonic(pair.ticks);
  if (pair.monotonic_ns - line > kJump) line = pair.monotonic_ns;
  const Nanos off = std::clamp(pair.monotonic_ns - line, -kJump, kJump);
  // The next pair is expected as late after this one as this one after the last. If it came later,
  // the line would be off by more than now, and by more again at each pair.
  const Nanos until_next = std::max(kPiece, span);
  // The rate is limited to between half and twice the rate, so that a step of the host's clock does
  // not stop the line.
  const double bend = static_cast<double>(off) / static_cast<double>(until_next);
  pieces_.push_back({pair.ticks, line, rate * std::clamp(1 + bend, 0.5, 2.0)});
  if (pieces_.size() > kPieces) {
    pieces_.pop_front();
    older_ns_per_tick_ = usual_rate();
  }

  // The error of the slope, over the length of the open end in which the slope is used.
  const auto doubt = static_cast<double>(pair.error_ns + last_.error_ns);
  const double stretch = static_cast<double>(until_next) / static_cast<double>(span);
  error_ns_ = std::max(pair.error_ns, last_.error_ns) + std::abs(off) +
              static_cast<Nanos>(doubt * std::min(stretch, 25.0));
  last_ = pair;
}

Nanos TickClock::next_pair() const {
  if (!has_pair_) return 0;
  return last_.monotonic_ns + (pieces_.empty() ? kFirstPiece : kPiece);
}

Nanos TickClock::time_at(const TickPiece& piece, std::uint64_t ticks) {
  const double ns =
      std::clamp(ticks_between(piece.ticks, ticks) * piece.ns_per_tick, -kFarthestNs, kFarthestNs);
  return piece.ns + static_cast<Nanos>(ns);
}

Nanos TickClock::to_monotonic(std::uint64_t ticks) const {
  CHECK(is_ready());
  // The ticks are nearly always in the last piece or the one before.
  auto piece = pieces_.rbegin();
  while (piece->ticks > ticks && std::next(piece) != pieces_.rend()) ++piece;
  if (piece->ticks > ticks) return time_at({piece->ticks, piece->ns, older_ns_per_tick_}, ticks);
  return time_at(*piece, ticks);
}

// The median of the pieces' rates.
double TickClock::usual_rate() const {
  std::vector<double> rates;
  rates.reserve(pieces_.size());
  for (const TickPiece& piece : pieces_) rates.push_back(piece.ns_per_tick);
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return *middle;
}

Nanos record_time(const TickClock& clock, capture::ClockKind kind, std::uint64_t ticks) {
  if (kind == capture::ClockKind::kTsc) return clock.to_monotonic(ticks);
  return static_cast<Nanos>(std::min<std::uint64_t>(ticks, kLatest));
}

bool TickReader::look_up(std::uint64_t ticks) {
  const auto& pieces = clock_.pieces_;
  auto piece = pieces.rbegin();
  while (piece != pieces.rend() && piece->ticks > ticks) ++piece;
  if (piece == pieces.rend()) return false;
  const double longest = kFarthestNs / std::max(piece->ns_per_tick, 1.0);
  // The ticks of a piece must not wrap around 0.
  std::uint64_t length = std::numeric_limits<std::uint64_t>::max() - piece->ticks;
  length = std::min({length, static_cast<std::uint64_t>(longest), kLongestPiece});
  if (piece != pieces.rbegin()) length = std::min(length, std::prev(piece)->ticks - piece->ticks);
  piece_ = *piece;
  length_ = length;
  return ticks - piece_.ticks < length_;
}

}  // namespace xylem::backend
