#pragma once

// The rules of fuzzy placement: factors with membership functions and weights, grades with values,
// and how they are combined. They are the input of steps 1-3 and 5 in fuzzy.h. docs/placement.md
// has an example computed by hand.
//
// In a configuration file; every part has a default (`default_fuzzy_rules`):
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

/// A membership function: 0 up to a, rising to 1 at b, 1 up to c, falling to 0 at d, 0 above d. a
/// <= b <= c <= d, a < d. With b = c it is a triangle. With a = b the left end is a shoulder, where
/// the membership is 1; with c = d the same holds for the right end.
struct Trapezoid {
  double a = 0, b = 0, c = 0, d = 0;
  bool operator==(const Trapezoid&) const = default;
};

/// The membership of `x`, 0 to 1.
double membership(const Trapezoid& function, double x);

/// A grade of the judgement set V with its value g in the score.
struct Grade {
  std::string name;
  double value = 0;
  bool operator==(const Grade&) const = default;
};

/// A factor of the set U with its weight a and its functions, one for each grade, in the order of
/// the grades. Values below the lowest a of the functions count as that a; values above the highest
/// d count as that d.
struct Factor {
  Fact fact{};
  double weight = 0;
  std::vector<Trapezoid> functions;
  bool operator==(const Factor&) const = default;
};

/// Returns a value for which all functions of a factor are 0; nullopt if there is none. Exact: the
/// functions are linear between their corners, so testing the corners and the midpoints is enough.
std::optional<double> find_gap(std::span<const Trapezoid> functions);

/// Weights from a pairwise-comparison matrix P (Saaty's analytic hierarchy process): factor i has
/// p_ij times the weight of factor j. The weights are the principal eigenvector, scaled to a sum of
/// 1. With the largest eigenvalue l and n factors:
///
///   consistency index CI = (l - n) / (n - 1)      0 if p_ij p_jk = p_ik for all i, j, k
///   random index RI      = 0 0 0.58 0.90 1.12 1.24 1.32 for n = 1..7: CI of random matrices
///   consistency ratio CR = CI / RI; 0 for n <= 2
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

/// Maximum consistency ratio. A matrix with a higher ratio contradicts itself and is refused.
constexpr double kMaxConsistencyRatio = 0.1;

/// Fails with kInvalidArgument: no rows, or more than kFacts; a row of the wrong length; an entry
/// that is not above 0 (and at most 1000); a diagonal that is not 1; p_ij p_ji that differs by more
/// than 2 % from 1 (so 0.33 may stand for a third); a consistency ratio above kMaxConsistencyRatio.
Result<Comparisons> compare(std::vector<std::vector<double>> matrix);

/// How memberships are combined into the grades of a host (step 6).
enum class Composition {
  kWeightedAverage,  ///< b_j = sum of a_i r_ij: every factor counts by its weight.
  /// b_j = max over i of min(a_i, r_ij) (Zadeh): only the strongest factor counts.
  kMaxMin,
};
std::string_view to_text(Composition composition);

/// How the score of a host is computed from its grades (step 8).
enum class Scoring {
  kGradeValues,        ///< S = sum of b_j g_j: every grade counts by its share.
  kMaximumMembership,  ///< S = g of the grade with the largest b_j; on ties the better grade.
};
std::string_view to_text(Scoring scoring);

/// All rules. Rules from default_fuzzy_rules and read_fuzzy_rules satisfy check().
struct FuzzyRules {
  std::vector<Grade> grades;    ///< In descending order of value.
  std::vector<Factor> factors;  ///< Each fact once.
  Composition composition = Composition::kWeightedAverage;
  /// With 0, all hosts have the same weights. Above 0, a host's bad factors count more for this
  /// host (fuzzy.h, step 5), so that much memory cannot compensate for a slow network.
  double emphasis = 0;
  /// The comparisons from which the weights were computed; nullopt if the weights were given
  /// directly.
  std::optional<Comparisons> comparisons{};
  Scoring scoring = Scoring::kGradeValues;
  bool operator==(const FuzzyRules&) const = default;
};

/// Returns the functions of a fact for the default grades, best grade first, as in
/// docs/placement.md. At each value they add up to 1.
std::vector<Trapezoid> default_functions(Fact fact);

/// Returns the default rules: grades excellent 1, good 0.6, fair 0.15, poor 0.05; factors idle
/// 0.30, run_queue 0.15, memory 0.15, network 0.15, round_trip 0.10, processes 0.15; weighted
/// average, emphasis 1.5; default_functions. docs/placement.md ("Does it pay?") shows why these
/// were chosen.
FuzzyRules default_fuzzy_rules();

constexpr std::size_t kMaxGrades = 9;
constexpr double kMaxEmphasis = 4;

/// Fails with kInvalidArgument and the reason: no grade or more than kMaxGrades, equal names, a
/// value outside 0 to 1, all values 0.
Result<void> check_grades(std::span<const Grade> grades);

/// Fails with kInvalidArgument and the reason: the number of functions is not the number of grades,
/// a function whose corners do not ascend, a gap (find_gap).
Result<void> check_functions(const Factor& factor, std::span<const Grade> grades);

/// Fails like both functions above. Also fails with kInvalidArgument if there is no factor, a
/// duplicate factor, a weight outside 0 to 1, an emphasis outside 0 to kMaxEmphasis, or if the sum
/// of the weights is not 1 (within 1e-6).
Result<void> check(const FuzzyRules& rules);

/// Returns true if a key of a configuration file belongs to these rules, that is, begins with
/// "fuzzy.".
bool is_fuzzy_key(std::string_view key);

/// Reads the rules from a configuration file; entries with other keys are skipped. Missing parts
/// come from default_fuzzy_rules. Grades, composition, score and emphasis have a default each.
/// Weights, and with them the choice of factors, have one default together. Functions have a
/// default for each factor, but only with the default grades. Factors are in the order of the lines
/// of weights or comparisons; columns of the comparisons are in the order of its rows.
///
/// `source` is the file's name in errors, which read `SOURCE:LINE: what, what to do`. Fails with
/// kInvalidArgument: an unknown key; a factor that is not a fact, or that has functions and no
/// weight; both weights and comparisons; two rows of comparisons on one line; a value that is not a
/// number (comparisons may be "1/3"); a function without 3 or 4 corners, for an unknown grade, or
/// missing for a grade; and all rules that check() and compare() refuse.
Result<FuzzyRules> read_fuzzy_rules(std::span<const ConfigEntry> entries, std::string_view source);

}  // namespace xylem::placement
