#pragma once

// Converts times of one clock to another clock. The measured offset between the two improves with
// time.
//
// A new offset never changes a time that was converted before: only the later part of the line
// changes. A small change of the offset is not a step. The line approaches the new offset within a
// second:
//
//   other |              .-'        The offset is 0 at first. At t it becomes known as -3. The line
//   clock |           .-'           goes on where it is, with a smaller slope, until it is at the
//         |      .--''              new offset. So times stay in order, whatever the offset does.
//         |   .-'
//         +-------t------u----
//
// A change of more than kJump is a step. It happens only if a host had to begin without the front
// end's clock.

#include <cstddef>
#include <deque>
#include <span>

#include "base/clock.h"

namespace xylem::backend {

/// A part of the line, up to the beginning of the next part.
struct LinePiece {
  Nanos from = 0;
  Nanos value = 0;       ///< The line at `from`.
  double slope_off = 0;  ///< Slope minus 1.
  bool operator==(const LinePiece&) const = default;
};

/// The effect of a new offset on a line.
enum class LineChange {
  kNone,
  kFirst,  ///< The line is set for the first time.
  kSlew,
  kStep,
};

/// A function from ns to ns. It never decreases, except in a step back of more than kJump. Not
/// thread-safe.
class SlewedLine {
 public:
  /// Duration of a small change.
  static constexpr Nanos kCatchUp = 1 * kSecond;
  /// Maximum of |slope - 1|. A change that is too large for it takes longer than kCatchUp.
  static constexpr double kMaxSlopeOff = 1.0 / 16;
  /// A larger change of the offset is a step.
  static constexpr Nanos kJump = 1 * kSecond;
  /// Number of pieces that are kept. A change adds two, and changes come once a second at most. So
  /// all times of the last minutes are converted as before. Older times are converted with the
  /// offset at the begin of the oldest piece. A caller that needs older times again must keep them.
  static constexpr std::size_t kPieces = 512;
  /// Times beyond this are limited to it. Sums and differences of two of these do not overflow.
  static constexpr Nanos kFarthest = Nanos{1} << 60;

  SlewedLine() = default;
  /// Continues a line that pieces() has described. `pieces` must not be empty.
  explicit SlewedLine(std::span<const LinePiece> pieces) : pieces_(pieces.begin(), pieces.end()) {}

  /// Approaches the line `x + offset` from `from` on. No time after `from` may have been converted
  /// yet. The first call sets the whole line. A later call is ignored while a former change is
  /// still under way, unless it is a step.
  LineChange aim(Nanos from, Nanos offset);

  bool is_set() const noexcept { return !pieces_.empty(); }
  /// The line at `x`. Accepts any number without overflow. The line must be set.
  Nanos at(Nanos x) const;
  /// The offset (value minus x) that the line has after all changes under way.
  Nanos final_offset() const;

  const std::deque<LinePiece>& pieces() const noexcept { return pieces_; }

 private:
  friend class LineReader;
  // x is at most kFarthest from 0. Rounding keeps the order: x grows by 1 where the rounded product
  // shrinks by at most 1. The slope of a piece ends where the piece begins.
  static Nanos value_at(const LinePiece& piece, Nanos x) {
    const Nanos after = x - piece.from;
    if (piece.slope_off == 0 || after < 0) return piece.value + after;
    return piece.value + after + static_cast<Nanos>(static_cast<double>(after) * piece.slope_off);
  }

  std::deque<LinePiece> pieces_;
};

/// Fast at() for many consecutive times. It keeps the piece of the last time. Borrows the line;
/// valid until the line's next aim().
class LineReader {
 public:
  explicit LineReader(const SlewedLine& line) noexcept : line_(line) {}

  /// Equal to SlewedLine::at().
  Nanos operator()(Nanos x) {
    if (x < from_ || x >= end_) return look_up(x);
    return SlewedLine::value_at(piece_, x);
  }

 private:
  Nanos look_up(Nanos x);

  const SlewedLine& line_;
  LinePiece piece_;
  Nanos from_ = 0;  // The piece is valid for from_ <= x < end_.
  Nanos end_ = 0;
};

}  // namespace xylem::backend
