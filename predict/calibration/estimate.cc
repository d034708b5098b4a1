#include "predict/calibration/estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/quantity_text.h"
#include "predict/replay/replay.h"
#include "predict/trace/rank_builder.h"

namespace xylem::predict {
namespace {

Unexpected refused(const std::string& what) { return unexpected(Code::kInvalidArgument, what); }

/// Deterministic random numbers (splitmix64).
class Random {
 public:
  std::size_t below(std::size_t limit) {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return static_cast<std::size_t>((x ^ x >> 31) % limit);
  }

 private:
  std::uint64_t state_ = 0;
};

/// The rounds that count, an index for each; a round may come several times.
using Rounds = std::vector<std::size_t>;

double median_of(const std::vector<double>& times, const Rounds& rounds) {
  std::vector<double> chosen;
  chosen.reserve(rounds.size());
  for (const std::size_t it : rounds) chosen.push_back(times[it]);
  const auto middle = chosen.begin() + static_cast<std::ptrdiff_t>(chosen.size() / 2);
  std::nth_element(chosen.begin(), middle, chosen.end());
  if (chosen.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(chosen.begin(), middle)) / 2;
}

Rounds all_rounds(std::size_t count) {
  Rounds rounds(count);
  for (std::size_t i = 0; i < count; ++i) rounds[i] = i;
  return rounds;
}

Rounds drawn_rounds(std::size_t count, Random& random) {
  Rounds rounds(count);
  for (std::size_t& it : rounds) it = random.below(count);
  return rounds;
}

/// `time` = intercept[line] + per_byte * further bytes. Errors count relative to `scale`.
struct Point {
  std::size_t line;
  double further_bytes;
  double time;
  double scale;

  double weight() const { return 1 / (scale * scale); }
};

struct Lines {
  std::array<double, 2> intercept{};
  double per_byte = 0;
};

/// The least squares of relative errors for lines of one slope. A line that `is_at_zero` begins at
/// 0. Intercepts are eliminated: each is the weighted mean of what the slope leaves.
Lines fit_freely(std::span<const Point> points, const std::array<bool, 2>& is_at_zero) {
  std::array<double, 2> weight{}, bytes{}, time{};
  for (const Point& it : points) {
    const double w = it.weight();
    weight[it.line] += w;
    bytes[it.line] += w * it.further_bytes;
    time[it.line] += w * it.time;
  }
  std::array<double, 2> mean_bytes{}, mean_time{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (is_at_zero[i] || weight[i] <= 0) continue;
    mean_bytes[i] = bytes[i] / weight[i];
    mean_time[i] = time[i] / weight[i];
  }
  double above = 0, below = 0;
  for (const Point& it : points) {
    const double w = it.weight();
    const double x = it.further_bytes - mean_bytes[it.line];
    above += w * x * (it.time - mean_time[it.line]);
    below += w * x * x;
  }
  Lines lines;
  lines.per_byte = below > 0 ? std::max(above / below, 0.0) : 0;
  for (std::size_t i = 0; i < 2; ++i) {
    lines.intercept[i] = mean_time[i] - lines.per_byte * mean_bytes[i];
  }
  return lines;
}

/// The same with no number below 0.
Lines fit(std::span<const Point> points) {
  std::array<bool, 2> is_at_zero{};
  Lines lines = fit_freely(points, is_at_zero);
  for (std::size_t i = 0; i < 2; ++i) is_at_zero[i] = lines.intercept[i] < 0;
  if (is_at_zero[0] || is_at_zero[1]) lines = fit_freely(points, is_at_zero);
  for (double& it : lines.intercept) it = std::max(it, 0.0);
  return lines;
}

struct Numbers {
  double latency = 0, overhead = 0, gap = 0, gap_per_byte = 0, overhead_per_byte = 0;
  double send = 0, receive = 0;
  double end_to_end = 0;     ///< 2 o + L
  double copy_per_byte = 0;  ///< O before it was limited to G.
};

std::vector<Point> points_of_trains(const Samples& samples, const Rounds& rounds) {
  std::vector<Point> points;
  for (const auto& [bytes, times] : samples.one) {
    if (is_check_size(bytes)) continue;
    const double one = median_of(times, rounds);
    const double many = median_of(samples.many.at(bytes), rounds);
    const auto further = static_cast<double>(bytes - 1);
    points.push_back({0, further, one / 2, one / 2});
    points.push_back({1, further, (many - one) / (kTrain - 1), many / (kTrain - 1)});
  }
  return points;
}

Numbers estimate_once(const Samples& samples, const Rounds& rounds) {
  Numbers of;
  const Lines trains = fit(points_of_trains(samples, rounds));
  of.end_to_end = trains.intercept[0];
  of.gap = trains.intercept[1];
  of.gap_per_byte = trains.per_byte;
  std::vector<Point> sends;
  for (const auto& [bytes, times] : samples.send) {
    if (is_check_size(bytes)) continue;
    const double time = median_of(times, rounds);
    sends.push_back({0, static_cast<double>(bytes - 1), time, time});
  }
  of.copy_per_byte = fit(sends).per_byte;
  of.overhead_per_byte = std::min(of.copy_per_byte, of.gap_per_byte);
  of.send = median_of(samples.send.begin()->second, rounds);
  of.receive = median_of(samples.receive.begin()->second, rounds);
  of.overhead = (of.send + of.receive) / 2;
  of.latency = std::max(of.end_to_end - 2 * of.overhead, 0.0);
  return of;
}

/// The middle 95 % of `values`, widened to contain `value`.
Figure figure_of(double value, std::vector<double> values) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(values.size() - 1)))];
  };
  return {value, std::min(value, at(0.025)), std::max(value, at(0.975))};
}

Result<void> check_series(const char* name, const Series& series, std::size_t rounds) {
  for (const auto& [bytes, times] : series) {
    const std::string which = std::string(name) + " of " + count_text(bytes) + " bytes";
    if (bytes == 0) return refused(which + " cannot be measured");
    if (times.size() != rounds) {
      return refused("there are " + count_text(times.size()) + " times of " + which + ", and " +
                     count_text(rounds) + " rounds; measure again");
    }
    for (const double it : times) {
      if (!(it > 0) || !std::isfinite(it)) {
        return refused("a time of " + which + " is not above 0; measure again");
      }
    }
  }
  return {};
}

Result<std::size_t> check_samples(const Samples& samples) {
  if (samples.one.empty() || samples.send.empty() || samples.receive.empty()) {
    return refused("there are no times of messages, sends or receives; measure again");
  }
  const std::size_t rounds = samples.one.begin()->second.size();
  if (rounds < kMinRounds) {
    return refused("there are only " + count_text(rounds) + " rounds, and " +
                   count_text(kMinRounds) + " are needed; raise --limit or --repetitions");
  }
  for (const auto& [name, series] : {std::pair{"round trips", &samples.one},
                                     {"trains", &samples.many},
                                     {"sends", &samples.send},
                                     {"receives", &samples.receive}}) {
    if (auto good = check_series(name, *series, rounds); !good) return unexpected(good.error());
  }
  const Rounds all = all_rounds(rounds);
  std::size_t sizes = 0;
  for (const auto& [bytes, times] : samples.one) {
    const auto many = samples.many.find(bytes);
    if (many == samples.many.end()) {
      return refused("there are no trains of " + count_text(bytes) + " bytes; measure again");
    }
    if (!is_check_size(bytes)) ++sizes;
    if (bytes == samples.one.rbegin()->first &&
        median_of(many->second, all) <= median_of(times, all)) {
      return refused(count_text(kTrain) + " messages of " + count_text(bytes) +
                     " bytes do not take longer than one, which is not possible; measure again, on "
                     "a machine that does nothing else");
    }
  }
  if (sizes < 3) {
    return refused("there are only " + count_text(sizes) +
                   " sizes of messages, and 3 are needed; raise --limit");
  }
  return rounds;
}

/// A message and its answer. Rank 1 answers when it has the message.
Program round_trip(std::uint64_t bytes) {
  Program program;
  for (const std::uint32_t rank : {0U, 1U}) {
    RankBuilder builder;
    const Kind first = rank == 0 ? Kind::kSend : Kind::kReceive;
    const Kind second = rank == 0 ? Kind::kReceive : Kind::kSend;
    const std::uint32_t one = builder.add({.amount = bytes, .peer = 1 - rank, .kind = first});
    builder.require(builder.add({.amount = bytes, .peer = 1 - rank, .kind = second}), one);
    auto built = std::move(builder).finish();
    program.ranks.push_back(std::get<RankProgram>(std::move(built)));
  }
  return program;
}

std::vector<Check> check_with(const LogGps& parameters, const Samples& samples,
                              const Rounds& rounds) {
  std::vector<Check> checks;
  for (const auto& [bytes, times] : samples.one) {
    if (!is_check_size(bytes)) continue;
    const auto predicted = replay(round_trip(bytes), parameters);
    CHECK(predicted);  // Two ranks that answer each other never wait forever.
    checks.push_back(
        {bytes, median_of(times, rounds) / 2, static_cast<double>(predicted->makespan_ns) / 2});
  }
  return checks;
}

std::vector<std::string> doubts_about(const Numbers& of, const std::vector<Check>& checks) {
  std::vector<std::string> doubts;
  double worst = 0;
  for (const Check& it : checks) {
    worst = std::max(worst, std::abs(it.predicted_ns / it.measured_ns - 1));
  }
  if (worst > kDoubtfulError) {
    doubts.push_back("A size that was not used is predicted with an error of " +
                     percent_text(worst) +
                     ": the machine was busy, or its messages do not follow the model");
  }
  if (of.end_to_end < 2 * of.overhead) {
    doubts.emplace_back(
        "MPI_Send and MPI_Recv together take longer than half a round trip, so L is 0");
  }
  if (of.copy_per_byte > of.gap_per_byte) {
    doubts.emplace_back("MPI_Send takes longer per byte than a message, so O was limited to G");
  }
  return doubts;
}

Femtoseconds rounded(double ns, double unit_fs) {
  const double fs = std::round(ns * 1e6 / unit_fs) * unit_fs;
  return Femtoseconds{static_cast<std::uint64_t>(
      std::clamp(fs, 0.0, static_cast<double>(static_cast<std::uint64_t>(kMaxParameter))))};
}

}  // namespace

bool is_check_size(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && std::countr_zero(bytes) % 2 == 1;
}

LogGps Calibration::parameters() const {
  constexpr double kWholeNs = 1e6, kFourDigits = 100;  // fs
  return {rounded(latency.value, kWholeNs),
          rounded(overhead.value, kWholeNs),
          rounded(gap.value, kWholeNs),
          rounded(gap_per_byte.value, kFourDigits),
          rounded(overhead_per_byte.value, kFourDigits),
          eager.returns};
}

Figure median_figure(const std::vector<double>& times) {
  Random random;
  std::vector<double> values;
  for (unsigned i = 0; i < kResamples; ++i) {
    values.push_back(median_of(times, drawn_rounds(times.size(), random)));
  }
  return figure_of(median_of(times, all_rounds(times.size())), std::move(values));
}

Result<Calibration> estimate(const Samples& samples) {
  const auto rounds = check_samples(samples);
  if (!rounds) return unexpected(rounds.error());
  const Rounds all = all_rounds(*rounds);
  const Numbers best = estimate_once(samples, all);
  std::vector<Numbers> drawn;
  Random random;
  for (unsigned i = 0; i < kResamples; ++i) {
    drawn.push_back(estimate_once(samples, drawn_rounds(*rounds, random)));
  }
  const auto figure = [&](double Numbers::*of) {
    std::vector<double> values;
    values.reserve(drawn.size());
    for (const Numbers& it : drawn) values.push_back(it.*of);
    return figure_of(best.*of, std::move(values));
  };
  Calibration result;
  result.rounds = *rounds;
  result.latency = figure(&Numbers::latency);
  result.overhead = figure(&Numbers::overhead);
  result.gap = figure(&Numbers::gap);
  result.gap_per_byte = figure(&Numbers::gap_per_byte);
  result.overhead_per_byte = figure(&Numbers::overhead_per_byte);
  result.send_overhead = figure(&Numbers::send);
  result.receive_overhead = figure(&Numbers::receive);
  result.eager = samples.eager;
  result.checks = check_with(result.parameters(), samples, all);
  result.doubts = doubts_about(best, result.checks);
  return result;
}

}  // namespace xylem::predict
