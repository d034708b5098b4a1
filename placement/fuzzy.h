#pragma once

// Fuzzy placement: the comprehensive evaluation of claim 4 of the overlay patent. Every host gets a
// score from its facts, and communication processes are distributed by score.
//
// Requirements 1.2.2, with nf factors, mf grades, n communication processes and m hosts:
//
//   1, 2  factors U, grades V with values g_1 .. g_mf (fuzzy_rules.h)
//   3     r_ij: the membership of the host's factor i in grade j
//   4     R = (r_ij), each row divided by its sum
//   5     weights A = (a_1 .. a_nf), sum 1; then, with an emphasis e above 0, the host's own: each
//         a_i / x_i^e, divided by their sum, where x_i = sum_j r_ij g_j is what factor i alone
//         would score (at least 0.01). Variable-weight synthesis: a host's weakest factors count
//         more, because a tree waits for its slowest node
//   6     B = A o R: weighted average b_j = sum a_i r_ij, or max-min b_j = max min(a_i, r_ij)
//   7     B divided by its sum
//   8     score S = sum b_j g_j, between the lowest g and the highest; or by maximum membership
//         the g of the grade with the largest b_j, the better one of equals
//   9     host h gets n S_h / (S_1 + ... + S_m), by largest remainder: its whole part, and one more
//         for the largest fractions until all are placed; the lowest index on ties. Numbers equal
//         to nine places are ties, as in a calculation by hand
//
// By hand, A = (.5, .3, .2), R = (.6 .3 .1 / .2 .5 .3 / .1 .4 .5): weighted average B = (.38, .38,
// .24); max-min (.5, .3, .3), divided by its sum (.4545, .2727, .2727). Scores .8 .6 .4 .2 and
// n = 5: quotas 2 1.5 1 .5, whole parts 2 1 1 0, one left: .5 and .5 are equal, the lower index has
// it: 2 2 1 0.
//
// Unknown facts: a factor that is known of no host is left out, and the other weights are divided
// by their sum. If a factor is known of some hosts, the others have the row 1/mf .. 1/mf for it: an
// unknown fact counts neither for nor against a host, and is not emphasised (x_i is 1).
//
// Room (room.h): hosts that would get more than their room are filled, and step 9 distributes the
// rest among the hosts that have room left.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "placement/facts.h"
#include "placement/fuzzy_rules.h"
#include "tree/host.h"

namespace xylem::placement {

/// Step 6: A o R, not yet divided by its sum. `matrix` holds R row by row and has a row for each
/// weight; its size must be a multiple of the number of weights, which is not 0.
std::vector<double> compose(std::span<const double> weights, std::span<const double> matrix,
                            Composition composition);

/// The steps to one host's score. Matrices are stored row by row: a row per factor, a column per
/// grade.
struct Evaluation {
  std::vector<std::optional<double>> values;  ///< By factor; nullopt: not known.
  std::vector<double> memberships;            ///< Step 3; rows of what is not known are 1/mf.
  std::vector<double> matrix;                 ///< Step 4.
  std::vector<double> weights;                ///< Step 5; those of the rules without emphasis.
  std::vector<double> composed;               ///< Step 6.
  std::vector<double> grades;                 ///< Step 7.
  double score = 0;                           ///< Step 8.
};

/// The grade with the largest membership (step 8 by maximum membership), by its index; the best one
/// of those that differ by less than 1e-9.
std::size_t strongest_grade(const Evaluation& host);

/// One host's share in one round of step 9.
struct FuzzyShare {
  HostId host{};
  double quota = 0;         ///< n S_h / sum, with n processes in this round.
  std::uint64_t whole = 0;  ///< Whole part of the quota; rounded up if short by less than 1e-9.
  double rest = 0;          ///< quota - whole, never below 0. Two that differ by 1e-9 are equal.
  bool one_more = false;    ///< By its remainder.
  std::uint64_t room = 0;   ///< Left when the round began; kUnlimited.
  std::uint64_t gets = 0;   ///< whole and one_more, limited by room.
};

/// A round of step 9: all hosts that have room, and a score above 0.
struct FuzzyRound {
  std::uint64_t comm_processes = 0;
  double scores = 0;  ///< Their sum.
  std::vector<FuzzyShare> shares;
};

/// The result of fuzzy placement, with its steps.
struct FuzzyPlacement {
  FuzzyRules rules;            ///< With the factors that are known, and their final weights.
  std::vector<Fact> left_out;  ///< Factors that no host knows.
  std::vector<Evaluation> hosts;
  std::vector<FuzzyRound> rounds;    ///< None when there is nothing to place.
  std::vector<std::uint64_t> added;  ///< By host; they sum up to the number asked for.
};

/// Places `comm_processes` on hosts with these facts. `room` has an entry per host; empty: no
/// limits. The same input gives the same result. A round costs hosts times their logarithm. Further
/// rounds occur only when hosts run out of room; every round but the last fills a host.
///
/// `rules` must have passed check(). Fails with kInvalidArgument: check_room's reasons; no factor
/// with a weight is known of any host; the remaining room is only on hosts whose score is 0.
Result<FuzzyPlacement> place_fuzzily(const FuzzyRules& rules, std::span<const FactValues> facts,
                                     std::uint64_t comm_processes,
                                     std::span<const std::uint64_t> room = {});

/// The order in which hosts take their processes: entry k is the host of communication process k
/// (node k + 1, breadth first). A host's j-th process has the place j / S among all, the lowest
/// index first on ties: the best hosts carry the upper levels, and a host's processes are spread
/// over the order. Temporary memory: 16 bytes a process.
std::vector<HostId> fill_order(const FuzzyPlacement& placement);

/// Every number of the placement as text, for `xylem place --explain`: grades, weights (and where
/// they come from), functions, then each host, then the rounds. docs/placement.md has an example
/// worked by hand. Given numbers are printed as short as possible, results with four places.
std::string explain(std::span<const tree::Host> hosts, const FuzzyPlacement& placement);

}  // namespace xylem::placement
