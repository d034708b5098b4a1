#include "placement/fuzzy.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "placement/room.h"

namespace xylem::placement {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<const RowMajor>;
using VectorView = Eigen::Map<const Eigen::RowVectorXd>;

/// Quotas that differ by less than this are the same number, computed in two ways.
constexpr double kEqual = 1e-9;

/// Minimum for the score of a single factor. Grades may have the value 0.
constexpr double kMinAlone = 0.01;

Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

HostId host_id(std::size_t at) { return HostId{static_cast<std::uint32_t>(at)}; }

/// Keeps the factors that are known for at least one host, and scales their weights to sum 1.
Result<void> leave_out_unknown(FuzzyPlacement& placement, std::span<const FactValues> facts) {
  std::vector<Factor>& factors = placement.rules.factors;
  std::erase_if(factors, [&](const Factor& factor) {
    if (std::ranges::any_of(facts,
                            [&](const FactValues& it) { return it[factor.fact].has_value(); }))
      return false;
    placement.left_out.push_back(factor.fact);
    return true;
  });
  if (placement.left_out.empty()) return {};
  double sum = 0;
  for (const Factor& factor : factors) sum += factor.weight;
  if (!(sum > 0)) {
    return unexpected(Code::kInvalidArgument,
                      "fuzzy placement knows no factor with a weight of any host; tell some of "
                      "them, or place evenly");
  }
  for (Factor& factor : factors) factor.weight /= sum;
  return {};
}

/// The host's own weights: step 5. `it` has its values and the matrix.
std::vector<double> emphasised(const FuzzyRules& rules, const Evaluation& it) {
  std::vector<double> weights;
  for (const Factor& factor : rules.factors) weights.push_back(factor.weight);
  if (!(rules.emphasis > 0)) return weights;
  const std::size_t grades = rules.grades.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!it.values[i]) continue;
    double alone = 0;
    for (std::size_t j = 0; j < grades; ++j) {
      alone += it.matrix[i * grades + j] * rules.grades[j].value;
    }
    weights[i] /= std::pow(std::max(alone, kMinAlone), rules.emphasis);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;  // Above 0: some weight is.
  return weights;
}

Evaluation evaluate(const FuzzyRules& rules, const FactValues& facts) {
  const std::size_t grades = rules.grades.size();
  Evaluation it;
  it.values.reserve(rules.factors.size());
  it.memberships.reserve(rules.factors.size() * grades);
  for (const Factor& factor : rules.factors) {
    it.values.push_back(facts[factor.fact]);
    const double min = std::ranges::min(factor.functions, {}, &Trapezoid::a).a;
    const double max = std::ranges::max(factor.functions, {}, &Trapezoid::d).d;
    for (const Trapezoid& function : factor.functions) {
      it.memberships.push_back(it.values.back()
                                   ? membership(function, std::clamp(*it.values.back(), min, max))
                                   : 1 / static_cast<double>(grades));
    }
  }
  it.matrix = it.memberships;
  Eigen::Map<RowMajor> matrix(it.matrix.data(), index(rules.factors.size()), index(grades));
  for (auto row : matrix.rowwise()) row /= row.sum();  // Above 0: check() leaves no gaps.
  it.weights = emphasised(rules, it);
  it.composed = compose(it.weights, it.matrix, rules.composition);
  it.grades = it.composed;
  Eigen::Map<Eigen::RowVectorXd> normal(it.grades.data(), index(grades));
  normal /= normal.sum();
  if (rules.scoring == Scoring::kMaximumMembership) {
    it.score = rules.grades[strongest_grade(it)].value;
    return it;
  }
  for (std::size_t j = 0; j < grades; ++j) it.score += it.grades[j] * rules.grades[j].value;
  return it;
}

/// Step 9 for `left` processes and all hosts that can take some. `room` is what is left.
FuzzyRound deal(const std::vector<Evaluation>& hosts, const std::vector<std::uint64_t>& room,
                std::uint64_t left) {
  FuzzyRound round;
  round.comm_processes = left;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (room[i] == 0 || !(hosts[i].score > 0)) continue;
    round.scores += hosts[i].score;
    FuzzyShare share;
    share.host = host_id(i);
    share.room = room[i];
    round.shares.push_back(share);
  }
  std::uint64_t rest = left;
  for (FuzzyShare& share : round.shares) {
    share.quota = static_cast<double>(left) * hosts[raw(share.host)].score / round.scores;
    share.whole = std::min(static_cast<std::uint64_t>(share.quota + kEqual), rest);
    share.rest = std::max(0.0, share.quota - static_cast<double>(share.whole));
    rest -= share.whole;
  }
  std::vector<FuzzyShare*> by_remainder;
  for (FuzzyShare& share : round.shares) by_remainder.push_back(&share);
  std::ranges::stable_sort(by_remainder, std::greater<>(), [](const FuzzyShare* share) {
    return std::llround(share->rest / kEqual);
  });
  for (std::size_t i = 0; i < std::min<std::uint64_t>(rest, by_remainder.size()); ++i) {
    by_remainder[i]->one_more = true;
  }
  for (FuzzyShare& share : round.shares) {
    share.gets = std::min(share.whole + (share.one_more ? 1 : 0), share.room);
  }
  return round;
}

}  // namespace

std::size_t strongest_grade(const Evaluation& host) {
  std::size_t strongest = 0;
  for (std::size_t j = 1; j < host.grades.size(); ++j) {
    if (host.grades[j] > host.grades[strongest] + kEqual) strongest = j;
  }
  return strongest;
}

std::vector<double> compose(std::span<const double> weights, std::span<const double> matrix,
                            Composition composition) {
  CHECK(!weights.empty() && matrix.size() % weights.size() == 0);
  const VectorView a(weights.data(), index(weights.size()));
  const MatrixView r(matrix.data(), index(weights.size()), index(matrix.size() / weights.size()));
  std::vector<double> composed(matrix.size() / weights.size());
  Eigen::Map<Eigen::RowVectorXd> b(composed.data(), index(composed.size()));
  if (composition == Composition::kWeightedAverage) {
    b = a * r;
  } else {
    for (Eigen::Index j = 0; j < r.cols(); ++j) {
      b(j) = r.col(j).transpose().cwiseMin(a).maxCoeff();
    }
  }
  return composed;
}

Result<FuzzyPlacement> place_fuzzily(const FuzzyRules& rules, std::span<const FactValues> facts,
                                     std::uint64_t comm_processes,
                                     std::span<const std::uint64_t> room) {
  CHECK(room.empty() || room.size() == facts.size());
  if (auto fits = check_room(comm_processes, facts.size(), room); !fits) {
    return unexpected(std::move(fits.error()));
  }
  FuzzyPlacement placement{rules, {}, {}, {}, std::vector<std::uint64_t>(facts.size())};
  if (facts.empty()) return placement;
  if (auto known = leave_out_unknown(placement, facts); !known) {
    return unexpected(std::move(known.error()));
  }
  placement.hosts.reserve(facts.size());
  for (const FactValues& host : facts) {
    placement.hosts.push_back(evaluate(placement.rules, host));
  }
  std::vector<std::uint64_t> left_room(room.begin(), room.end());
  if (room.empty()) left_room.assign(facts.size(), kUnlimited);
  for (std::uint64_t left = comm_processes; left > 0;) {
    FuzzyRound round = deal(placement.hosts, left_room, left);
    if (round.shares.empty()) {
      return unexpected(Code::kInvalidArgument,
                        std::to_string(left) + " of " + std::to_string(comm_processes) +
                            " communication processes fit only on hosts whose score is 0; give "
                            "the lowest grade a value above 0, or ask for fewer");
    }
    for (const FuzzyShare& share : round.shares) {
      placement.added[raw(share.host)] += share.gets;
      if (share.room != kUnlimited) left_room[raw(share.host)] -= share.gets;
      left -= share.gets;
    }
    placement.rounds.push_back(std::move(round));
  }
  return placement;
}

std::vector<HostId> fill_order(const FuzzyPlacement& placement) {
  std::vector<std::pair<double, HostId>> places;
  for (std::size_t i = 0; i < placement.added.size(); ++i) {
    for (std::uint64_t j = 1; j <= placement.added[i]; ++j) {
      places.emplace_back(static_cast<double>(j) / placement.hosts[i].score, host_id(i));
    }
  }
  std::ranges::sort(places);
  std::vector<HostId> order;
  order.reserve(places.size());
  for (const auto& [place, host] : places) order.push_back(host);
  return order;
}

}  // namespace xylem::placement
