#include "backend/leaf/slewed_line.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace xylem::backend {
namespace {

Nanos bounded(Nanos ns) { return std::clamp(ns, -SlewedLine::kFarthest, SlewedLine::kFarthest); }

}  // namespace

Nanos SlewedLine::at(Nanos x) const {
  CHECK(is_set());
  // The time is nearly always in one of the last pieces.
  auto piece = pieces_.rbegin();
  while (piece->from > x && std::next(piece) != pieces_.rend()) ++piece;
  return value_at(*piece, bounded(x));
}

Nanos SlewedLine::final_offset() const { return pieces_.back().value - pieces_.back().from; }

LineChange SlewedLine::aim(Nanos from, Nanos offset) {
  from = std::max<Nanos>(1, bounded(from));
  offset = bounded(offset);
  if (!is_set()) {
    pieces_.push_back({0, offset, 0});
    return LineChange::kFirst;
  }
  const Nanos value = at(from);
  const Nanos change = from + offset - value;
  const bool is_jump = std::abs(change) > kJump;
  if (change == 0 && pieces_.back().from <= from) return LineChange::kNone;
  const bool is_changing = pieces_.back().from > from;
  if (!is_jump && is_changing) return LineChange::kNone;
  while (pieces_.back().from >= from && pieces_.size() > 1) pieces_.pop_back();
  if (is_jump) {
    pieces_.push_back({from, from + offset, 0});
  } else {
    const double least = std::abs(static_cast<double>(change)) / kMaxSlopeOff;
    const Nanos duration = std::max(kCatchUp, static_cast<Nanos>(least) + 1);
    const double slope_off = static_cast<double>(change) / static_cast<double>(duration);
    pieces_.push_back({from, value, slope_off});
    const Nanos end = from + duration;
    // The exact end of the piece, in ns, so that the line has no gap. The next change corrects the
    // rounding.
    pieces_.push_back({end, value_at(pieces_.back(), end), 0});
  }
  while (pieces_.size() > kPieces) pieces_.pop_front();
  return is_jump ? LineChange::kStep : LineChange::kSlew;
}

Nanos LineReader::look_up(Nanos x) {
  CHECK(line_.is_set());
  x = bounded(x);
  const auto& pieces = line_.pieces_;
  auto piece = pieces.rbegin();
  while (piece->from > x && std::next(piece) != pieces.rend()) ++piece;
  piece_ = *piece;
  const bool is_first = std::next(piece) == pieces.rend();
  from_ = is_first ? -SlewedLine::kFarthest : piece->from;
  end_ = piece == pieces.rbegin() ? SlewedLine::kFarthest : std::prev(piece)->from;
  return SlewedLine::value_at(piece_, x);
}

}  // namespace xylem::backend
