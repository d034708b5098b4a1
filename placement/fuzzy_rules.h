#pragma once

// The rules of fuzzy placement: factors with membership functions and weights, grades with values,
// and the way to combine them. The rules are the input of the steps in fuzzy.h. docs/placement.md
// has an example computed by hand.
//
// In a configuration file, the rules have this form. Every part has a default
// (default_fuzzy_rules()):
//
//   [fuzzy]
//   composition = "weighted-average"        # or "max-min"
//   score = "grade-values"                  # or "maximum-membership"
//   emphasis = 1.5                          # how much more a host's bad factors count
//   [fuzzy.grades]                          # grades V, each with its value g, 0 to 1
//   good = 1
//   bad = 0.25
//   [fuzzy.weights]                         # weights A; the keys are the factors U
//   idle = 0.6
//   memory = 0.4
//   [fuzzy.comparisons]                     # instead of weights: one row for each factor
//   idle   = [1, 2]
//   memory = ["1/2", 1]
//   [fuzzy.functions.idle]                  # [a, b, c] a triangle, [a, b, c, d] a trapezoid
//   good = [0.2, 0.8, 1, 1]
//   bad  = [0, 0, 0.2, 0.8]

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "placement/facts.h"

namespace xylem::placement {

/// A membership function. It is 0 below `a` and above `d`, and 1 from `b` to `c`. It rises from `a`
/// to `b`, and falls from `c` to `d`. Always a <= b <= c <= d and a < d. If b = c, the function is
/// a triangle. If a = b, the membership is 1 already at `a`. If c = d, it is still 1 at `d`.
struct Trapezoid {
  double a = 0, b = 0, c = 0, d = 0;
  bool operator==(const Trapezoid&) const = default;
};

/// Returns the membership of `x`, from 0 to 1.
double membership(const Trapezoid& function, double x);

/// A grade of the set V. `value` is g, which is used for the score.
struct Grade {
  std::string name;
  double value = 0;
  bool operator==(const Grade&) const = default;
};

/// A factor of the set U. It has a weight and one function for each grade, in the order of the
/// grades. A value below the lowest `a` of all functions counts as that `a`. A value above the
/// highest `d` counts as that `d`.
struct Factor {
  Fact fact{};
  double weight = 0;
  std::vector<Trapezoid> functions;
  bool operator==(const Factor&) const = default;
};

/// Returns a value for which all functions of a factor are 0; nullopt if there is no such value.
/// The answer is exact: the functions are linear between their corners, so it is enough to test the
/// corners and the midpoints.
std::optional<double> find_gap(std::span<const Trapezoid> functions);

/// Weights from a matrix P of pairwise comparisons (Saaty's analytic hierarchy process). p_ij is
/// the weight of factor i divided by the weight of factor j. The weights are the principal
/// eigenvector of P, scaled so that their sum is 1. Let l be the largest eigenvalue and n the
/// number of factors:
///
///   consistency index CI = (l - n) / (n - 1); it is 0 if p_ij p_jk = p_ik for all i, j, k
///   random index RI      = 0 0 0.58 0.90 1.12 1.24 1.32 for n = 1..7: mean CI of random matrices
///   consistency ratio CR = CI / RI; it is 0 for n <= 2
///
/// Example: the rows 1 3 5, 1/3 1 3, 1/5 1/3 1 give l = 3.0385, weights 0.6370 0.2583 0.1047, CI =
/// 0.0193, CR = 0.0332.
struct Comparisons {
  std::vector<std::vector<double>> matrix;
  std::vector<double> weights;
  double eigenvalue = 0;
  double consistency_index = 0;
  double random_index = 0;
  double consistency_ratio = 0;
  bool operator==(const Comparisons&) const = default;
};

/// Maximum consistency ratio. A matrix with a higher ratio is refused, because its comparisons
/// contradict each other.
constexpr double kMaxConsistencyRatio = 0.1;

/// Computes weights from a matrix. Fails with kInvalidArgument in these cases:
/// - no rows, more than kFacts rows, or a row of the wrong length;
/// - an entry outside 0 < p_ij <= 1000, or an entry of the diagonal that is not 1;
/// - a product p_ij p_ji that differs from 1 by more than 2 % (0.33 is close enough to 1/3);
/// - a consistency ratio above kMaxConsistencyRatio.
Result<Comparisons> compare(std::vector<std::vector<double>> matrix);

/// The way to combine memberships into the grades of a host (step 6).
enum class Composition {
  kWeightedAverage,  ///< b_j = sum of a_i r_ij: every factor counts according to its weight.
  /// b_j = max over i of min(a_i, r_ij) (Zadeh): only the strongest factor counts.
  kMaxMin,
};
std::string_view to_text(Composition composition);

/// The way to compute the score of a host from its grades (step 8).
enum class Scoring {
  kGradeValues,        ///< S = sum of b_j g_j: every grade counts.
  kMaximumMembership,  ///< S = g of the grade with the largest b_j; on ties the better grade.
};
std::string_view to_text(Scoring scoring);

/// All rules. For rules from default_fuzzy_rules() and read_fuzzy_rules(), check() succeeds.
struct FuzzyRules {
  std::vector<Grade> grades;    ///< In descending order of value.
  std::vector<Factor> factors;  ///< Each fact once.
  Composition composition = Composition::kWeightedAverage;
  /// If it is 0, all hosts have the same weights. If it is above 0, the bad factors of a host count
  /// more for this host (step 5). Therefore, plenty of memory on a host cannot compensate for its
  /// slow network.
  double emphasis = 0;
  /// The comparisons from which the weights were computed; nullopt if the weights were given
  /// directly.
  std::optional<Comparisons> comparisons{};
  Scoring scoring = Scoring::kGradeValues;
  bool operator==(const FuzzyRules&) const = default;
};

/// Returns the functions of a fact for the default grades, best grade first. docs/placement.md
/// lists them. At each value, the sum of the functions is 1.
std::vector<Trapezoid> default_functions(Fact fact);

/// Returns the default rules, with default_functions(). docs/placement.md ("Does it pay?") shows
/// why they were chosen.
/// - Grades: excellent 1, good 0.6, fair 0.15, poor 0.05.
/// - Weights: idle 0.30, run_queue 0.15, memory 0.15, network 0.15, round_trip 0.10, processes
///   0.15.
/// - Composition: weighted average. Emphasis: 1.5.
FuzzyRules default_fuzzy_rules();

constexpr std::size_t kMaxGrades = 9;
constexpr double kMaxEmphasis = 4;

/// Fails with kInvalidArgument if there is no grade, or if there are more than kMaxGrades. Also
/// fails if two names are equal, if a value is outside 0 to 1, or if all values are 0.
Result<void> check_grades(std::span<const Grade> grades);

/// Fails with kInvalidArgument if the number of functions is not the number of grades. Also fails
/// if the corners of a function do not ascend, or if find_gap() finds a gap.
Result<void> check_functions(const Factor& factor, std::span<const Grade> grades);

/// Fails if check_grades() or check_functions() fails. Also fails with kInvalidArgument in these
/// cases:
/// - no factor, or a factor that occurs twice;
/// - a weight outside 0 to 1, or weights with a sum that differs from 1 by more than 1e-6;
/// - an emphasis outside 0 to kMaxEmphasis.
Result<void> check(const FuzzyRules& rules);

/// Returns true if a key of a configuration file belongs to these rules: it is "fuzzy" or begins
/// with "fuzzy.".
bool is_fuzzy_key(std::string_view key);

/// Reads the rules from a configuration file; entries with other keys are skipped. Missing parts
/// come from default_fuzzy_rules():
/// - Grades, composition, score and emphasis have separate defaults.
/// - All weights together have one default. If a file has weights or comparisons, these also choose
///   the factors.
/// - Each factor has default functions, but only if the grades have the default names.
///
/// Factors are in the order of the lines of weights or comparisons. The columns of the comparisons
/// are in the same order as the rows.
///
/// `source` is the file's name in error messages, which have the form `SOURCE:LINE: what, what to
/// do`. Fails if check() or compare() fails. Also fails with kInvalidArgument in these cases:
/// - an unknown key, or a value that is not a number (a comparison may be "1/3");
/// - a factor that is not a fact, or that has functions but no weight;
/// - both weights and comparisons, or two rows of comparisons on one line;
/// - a function for an unknown grade, or one that does not have 3 or 4 corners;
/// - a grade without a function.
Result<FuzzyRules> read_fuzzy_rules(std::span<const ConfigEntry> entries, std::string_view source);

}  // namespace xylem::placement
