#include "placement/fuzzy_rules.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "base/check.h"
#include "placement/number_text_internal.h"

namespace xylem::placement {
namespace {

constexpr double kWeightTolerance = 1e-6;
constexpr double kReciprocalTolerance = 0.02;
constexpr double kMaxOutweighed = 1000;

// T. L. Saaty, The Analytic Hierarchy Process, 1980: mean consistency index of random reciprocal
// matrices of 1, 2, ... rows.
constexpr std::array kRandomIndex = {0.0, 0.0, 0.58, 0.90, 1.12, 1.24, 1.32};
static_assert(kRandomIndex.size() == kFacts);

Unexpected wrong(const std::string& why) { return unexpected(Code::kInvalidArgument, why); }

/// The largest eigenvalue and its vector. A matrix of numbers above 0 has one eigenvalue that is
/// larger in size than all others; it is real, and its vector can be taken above 0 (Perron).
std::pair<double, Eigen::VectorXd> principal(const Eigen::MatrixXd& matrix) {
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix);
  Eigen::Index largest = 0;
  solver.eigenvalues().real().maxCoeff(&largest);
  Eigen::VectorXd vector = solver.eigenvectors().col(largest).real().cwiseAbs();
  vector /= vector.sum();
  return {solver.eigenvalues()[largest].real(), std::move(vector)};
}

Result<void> check_matrix(const std::vector<std::vector<double>>& matrix) {
  const std::size_t n = matrix.size();
  if (n == 0 || n > kFacts) return wrong("comparisons have no row, or too many");
  const auto cell = [](std::size_t row, std::size_t column) {
    return "row " + std::to_string(row + 1) + ", column " + std::to_string(column + 1);
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (matrix[i].size() != n) {
      return wrong("row " + std::to_string(i + 1) + " of the comparisons has " +
                   std::to_string(matrix[i].size()) + " entries for " + std::to_string(n) +
                   " rows; give a square matrix");
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (!(matrix[i][j] > 0 && matrix[i][j] <= kMaxOutweighed)) {
        return wrong("comparisons, " + cell(i, j) + ": " + shortest(matrix[i][j]) +
                     " is not above 0 and at most 1000");
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (matrix[i][i] != 1) {
      return wrong("comparisons, " + cell(i, i) + ": a factor outweighs itself once; write 1");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (std::abs(matrix[i][j] * matrix[j][i] - 1) > kReciprocalTolerance) {
        return wrong("comparisons, " + cell(i, j) + ": " + shortest(matrix[i][j]) +
                     " is not the reciprocal of " + shortest(matrix[j][i]) + " in row " +
                     std::to_string(j + 1) + ", column " + std::to_string(i + 1) + "; write \"1/" +
                     shortest(matrix[j][i]) + "\"");
      }
    }
  }
  return {};
}

}  // namespace

FuzzyRules default_fuzzy_rules() {
  const std::array weights = {std::pair{Fact::kIdle, 0.30},      std::pair{Fact::kRunQueue, 0.15},
                              std::pair{Fact::kMemory, 0.15},    std::pair{Fact::kNetwork, 0.15},
                              std::pair{Fact::kRoundTrip, 0.10}, std::pair{Fact::kProcesses, 0.15}};
  FuzzyRules rules;
  rules.grades = {{"excellent", 1}, {"good", 0.6}, {"fair", 0.15}, {"poor", 0.05}};
  rules.emphasis = 1.5;
  for (const auto& [fact, weight] : weights) {
    rules.factors.push_back({fact, weight, default_functions(fact)});
  }
  return rules;
}

double membership(const Trapezoid& function, double x) {
  if (x >= function.b && x <= function.c) return 1;
  if (x <= function.a || x >= function.d) return 0;
  if (x < function.b) return (x - function.a) / (function.b - function.a);
  return (function.d - x) / (function.d - function.c);
}

std::optional<double> find_gap(std::span<const Trapezoid> functions) {
  std::vector<double> corners;
  for (const Trapezoid& it : functions) corners.insert(corners.end(), {it.a, it.b, it.c, it.d});
  std::ranges::sort(corners);
  const auto is_covered = [&](double x) {
    return std::ranges::any_of(functions,
                               [x](const Trapezoid& it) { return membership(it, x) > 0; });
  };
  for (std::size_t i = 0; i < corners.size(); ++i) {
    if (!is_covered(corners[i])) return corners[i];
    if (i + 1 == corners.size() || corners[i] == corners[i + 1]) continue;
    const double middle = std::midpoint(corners[i], corners[i + 1]);
    if (!is_covered(middle)) return middle;
  }
  return std::nullopt;
}

std::string_view to_text(Composition composition) {
  return composition == Composition::kMaxMin ? "max-min" : "weighted-average";
}

std::string_view to_text(Scoring scoring) {
  return scoring == Scoring::kMaximumMembership ? "maximum-membership" : "grade-values";
}

Result<Comparisons> compare(std::vector<std::vector<double>> matrix) {
  if (auto good = check_matrix(matrix); !good) return unexpected(good.error());
  const std::size_t n = matrix.size();
  const auto size = static_cast<Eigen::Index>(n);
  Eigen::MatrixXd entries(size, size);
  for (std::size_t i = 0; i < n; ++i) {
    entries.row(static_cast<Eigen::Index>(i)) =
        Eigen::Map<const Eigen::RowVectorXd>(matrix[i].data(), size);
  }
  const auto [eigenvalue, vector] = principal(entries);
  Comparisons result;
  result.matrix = std::move(matrix);
  result.weights.assign(vector.begin(), vector.end());
  result.eigenvalue = eigenvalue;
  result.random_index = kRandomIndex[n - 1];
  if (n > 2) {
    result.consistency_index = (eigenvalue - static_cast<double>(n)) / (static_cast<double>(n) - 1);
    result.consistency_ratio = result.consistency_index / result.random_index;
  }
  if (result.consistency_ratio > kMaxConsistencyRatio) {
    return wrong("the comparisons contradict each other: consistency ratio " +
                 fixed(result.consistency_ratio) + ", principal eigenvalue " + fixed(eigenvalue) +
                 " of " + std::to_string(n) + " factors; change them until it is at most 0.1");
  }
  return result;
}

std::vector<Trapezoid> default_functions(Fact fact) {
  // The corners p < q < r < s of four functions that add up to 1 everywhere.
  const auto falling = [](double p, double q, double r, double s) {
    return std::vector<Trapezoid>{{p, p, p, q}, {p, q, q, r}, {q, r, r, s}, {r, s, s, s}};
  };
  const auto rising = [&](double p, double q, double r, double s) {
    auto functions = falling(p, q, r, s);
    std::ranges::reverse(functions);
    return functions;
  };
  switch (fact) {
    case Fact::kIdle:
      return rising(0.2, 0.4, 0.6, 0.8);
    case Fact::kRunQueue:
      return falling(0.25, 0.5, 1, 2);
    case Fact::kMemory:
      return rising(0.5, 2, 8, 32);
    case Fact::kNetwork:
      return rising(0.1, 1, 10, 40);
    case Fact::kRoundTrip:
      return falling(50, 100, 250, 1000);
    case Fact::kCores:
      return rising(1, 4, 16, 64);
    case Fact::kProcesses:
      return falling(0, 4, 16, 64);
  }
  CHECK(false);
  return {};
}

Result<void> check_grades(std::span<const Grade> grades) {
  if (grades.empty() || grades.size() > kMaxGrades) {
    return wrong("there are " + std::to_string(grades.size()) + " grades; give 1 to " +
                 std::to_string(kMaxGrades));
  }
  std::set<std::string_view> names;
  bool any = false;
  for (const Grade& grade : grades) {
    if (!names.insert(grade.name).second) {
      return wrong("grade " + grade.name + " is there twice; leave out one of the two");
    }
    if (!(grade.value >= 0 && grade.value <= 1)) {
      return wrong("grade " + grade.name + " has the value " + shortest(grade.value) +
                   "; give one from 0 to 1");
    }
    any = any || grade.value > 0;
  }
  if (!any) return wrong("every grade has the value 0; give the best one 1");
  return {};
}

Result<void> check_functions(const Factor& factor, std::span<const Grade> grades) {
  const std::string name(to_text(factor.fact));
  if (factor.functions.size() != grades.size()) {
    return wrong("factor " + name + " has " + std::to_string(factor.functions.size()) +
                 " functions for " + std::to_string(grades.size()) + " grades; give each one");
  }
  for (std::size_t j = 0; j < grades.size(); ++j) {
    const Trapezoid& it = factor.functions[j];
    const bool finite =
        std::isfinite(it.a) && std::isfinite(it.b) && std::isfinite(it.c) && std::isfinite(it.d);
    if (!finite || it.a > it.b || it.b > it.c || it.c > it.d || it.a >= it.d) {
      return wrong("the function of " + name + " for " + grades[j].name +
                   " does not rise from corner to corner; write a <= b <= c <= d with a < d");
    }
  }
  if (const auto gap = find_gap(factor.functions)) {
    return wrong("the functions of " + name + " leave a gap: at " + shortest(*gap) +
                 " no grade has a membership above 0; let neighbours overlap, and the outermost "
                 "ones end in shoulders (a = b, c = d)");
  }
  return {};
}

Result<void> check(const FuzzyRules& rules) {
  if (auto good = check_grades(rules.grades); !good) return good;
  std::set<Fact> facts;
  double sum = 0;
  for (const Factor& factor : rules.factors) {
    const std::string name(to_text(factor.fact));
    if (!facts.insert(factor.fact).second) {
      return wrong("factor " + name + " is there twice; leave out one of the two");
    }
    if (!(factor.weight >= 0 && factor.weight <= 1 + kWeightTolerance)) {
      return wrong("factor " + name + " has the weight " + shortest(factor.weight) +
                   "; give one from 0 to 1");
    }
    sum += factor.weight;
    if (auto good = check_functions(factor, rules.grades); !good) return good;
  }
  if (!(rules.emphasis >= 0 && rules.emphasis <= kMaxEmphasis)) {
    return wrong("the emphasis is " + shortest(rules.emphasis) + "; give one from 0 to " +
                 shortest(kMaxEmphasis));
  }
  if (facts.empty()) return wrong("there is no factor; give one a weight: idle = 1");
  if (std::abs(sum - 1) > kWeightTolerance) {
    return wrong("the weights sum to " + shortest(sum) +
                 ", not 1; change them, or give comparisons");
  }
  return {};
}

}  // namespace xylem::placement
