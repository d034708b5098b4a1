#pragma once

// Estimates LogGPS from round trips between two ranks.
//
// The measurement is PRTT(n, 0, s) of T. Hoefler, A. Lichei, W. Rehm: Low-Overhead LogGP Parameter
// Assessment for Modern Interconnection Networks (PMEO-PDS 2007): the time of n messages of s bytes
// and one answer of s bytes. By the rules of the replay (network/loggps.h)
//
//   PRTT(1, 0, s) / 2                             = 2 o + L + (s-1) G
//   (PRTT(n, 0, s) - PRTT(1, 0, s)) / (n - 1)     =     g   + (s-1) G
//   MPI_Send(s)                                   =     o   + (s-1) O
//
// if O is at most G and o at most g. The left sides are medians over the repetitions. 2 o + L, g
// and G are those with the least sum of squares of relative errors in the first two lines, over all
// sizes that are not kept for the check; none is below 0. Relative, because the times differ by a
// factor of 1000 or more, and a prediction should be as good for small messages as for large ones.
// An error of the second line is relative to PRTT(n, 0, s) / (n - 1), from which it was computed:
// behind a long latency, the difference of two round trips may be almost 0 by chance, and must not
// count more for that.
// O is the slope of the third line, in the same way. o is the mean of MPI_Send and MPI_Recv for the
// smallest size. L is what remains of 2 o + L.
//
// Example: o = 500 ns, L = 1300 ns, G = 0.4 ns, s = 1 and s = 1001. The first left side is 2300 and
// 2700, so G = 400 / 1000 ns and 2 o + L = 2300 ns.
//
// An interval is the range of 95 % of the estimates from kResamples bootstrap samples: each draws
// as many rounds as were measured, with replacement, with a generator that always begins alike.
// (B. Efron, R. J. Tibshirani: An Introduction to the Bootstrap, 1993, percentile interval.) The
// rounds are drawn as a whole: what disturbs one time often disturbs its neighbours too.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "predict/calibration/samples.h"
#include "predict/network/loggps.h"

namespace xylem::predict {

/// An estimate, and the ends of its 95 % interval: low <= value <= high.
struct Figure {
  double value = 0, low = 0, high = 0;
};

constexpr unsigned kResamples = 1000;
/// Fewer rounds are refused: there would be no meaningful interval.
constexpr std::size_t kMinRounds = 10;

/// A larger error of the check is worth a sentence.
constexpr double kDoubtfulError = 0.5;

/// Sizes that only check the estimate: odd powers of two.
bool is_check_size(std::uint64_t bytes);

/// A size that was not used for the estimate. Half a round trip.
struct Check {
  std::uint64_t bytes = 0;
  double measured_ns = 0;   ///< The median.
  double predicted_ns = 0;  ///< Of the replay with the parameters as they are written to a file.
};

/// All in nanoseconds.
struct Calibration {
  std::size_t rounds = 0;
  Figure latency, overhead, gap, gap_per_byte, overhead_per_byte;
  Figure send_overhead, receive_overhead;  ///< Their mean is `overhead`.
  EagerLimit eager;
  std::vector<Check> checks;
  /// Sentences about what the model does not express.
  std::vector<std::string> doubts;

  /// The parameters as they are written to a file: times in whole nanoseconds, times per byte with
  /// four digits after the point, so that a tick of the replay is not needlessly short.
  LogGps parameters() const;
};

/// Estimates the parameters. Fails with kInvalidArgument and a sentence
/// - if there are fewer than kMinRounds rounds, or series of different lengths,
/// - if there are fewer than three sizes for the estimate, or no times of sends and receives,
/// - if a time is not positive, or a train of messages takes less time than one message.
Result<Calibration> estimate(const Samples& samples);

/// The median of the times with its interval. `times` is not empty.
Figure median_figure(const std::vector<double>& times);

}  // namespace xylem::predict
