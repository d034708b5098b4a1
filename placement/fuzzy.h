#pragma once

// Fuzzy placement: the comprehensive evaluation of claim 4 of the overlay patent. Every host gets a
// score from its facts, and communication processes are distributed by score.
//
// The steps, with nf factors, mf grades, n communication processes and m hosts:
//
//   1, 2  factors U, grades V with values g_1 .. g_mf (fuzzy_rules.h)
//   3     r_ij: the membership of the host's factor i in grade j
//   4     R = (r_ij), each row divided by its sum
//   5     weights A = (a_1 .. a_nf) with sum 1. With an emphasis e above 0, each host has its own
//         weights: each a_i / x_i^e, divided by their sum. x_i = sum_j r_ij g_j is the score of
//         factor i alone (at least 0.01). This is variable-weight synthesis: a host's weakest
//         factors count more, because a tree waits for its slowest node
//   6     B = A o R: weighted average b_j = sum a_i r_ij, or max-min b_j = max min(a_i, r_ij)
//   7     B divided by its sum
//   8     score S = sum b_j g_j, between the lowest g and the highest. With maximum membership,
//         S is the g of the grade with the largest b_j; on ties the better grade
//   9     host h gets n S_h / (S_1 + ... + S_m), by largest remainder: its whole part, and one more
//         for the largest fractions until all are placed. On ties the lowest index wins. Numbers
//         that are equal to nine places are ties, as in a calculation by hand
//
// Example: A = (.5, .3, .2) and R = (.6 .3 .1 / .2 .5 .3 / .1 .4 .5). The weighted average is
// B = (.38, .38, .24). Max-min gives (.5, .3, .3), divided by its sum (.4545, .2727, .2727).
// With scores .8 .6 .4 .2 and n = 5, the quotas are 2 1.5 1 .5 and the whole parts 2 1 1 0. One
// process is left. The fractions .5 and .5 are equal, so the lower index gets it: 2 2 1 0.
//
// Unknown facts: if a factor is known of no host, it is left out and the other weights are divided
// by their sum. If a factor is known of some hosts, all other hosts have the row 1/mf .. 1/mf for
// it. So an unknown fact counts neither for nor against a host and is not emphasised (x_i is 1).
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

/// Step 6: computes A o R, not yet divided by its sum. `matrix` holds R row by row, one row for
/// each weight. Its size must be a multiple of the number of weights, which must not be 0.
std::vector<double> compose(std::span<const double> weights, std::span<const double> matrix,
                            Composition composition);

/// The steps to one host's score. Matrices are stored row by row, with a row for each factor and a
/// column for each grade.
struct Evaluation {
  std::vector<std::optional<double>> values;  ///< By factor; nullopt: not known.
  std::vector<double> memberships;            ///< Step 3. Rows of unknown facts are 1/mf.
  std::vector<double> matrix;                 ///< Step 4.
  /// Step 5. Without emphasis these are the weights of the rules.
  std::vector<double> weights;
  std::vector<double> composed;  ///< Step 6.
  std::vector<double> grades;    ///< Step 7.
  double score = 0;              ///< Step 8.
};

/// Returns the index of the grade with the largest membership (step 8 by maximum membership). If
/// memberships differ by less than 1e-9, the best of these grades wins.
std::size_t strongest_grade(const Evaluation& host);

/// One host's share in one round of step 9.
struct FuzzyShare {
  HostId host{};
  double quota = 0;  ///< n S_h / sum, with n processes in this round.
  /// Whole part of the quota. Rounded up if the quota is less than 1e-9 below an integer.
  std::uint64_t whole = 0;
  /// quota - whole, never below 0. Values that differ by 1e-9 count as equal.
  double rest = 0;
  bool one_more = false;   ///< The host gets one more because of its fraction.
  std::uint64_t room = 0;  ///< Room when the round began; kUnlimited: no limit.
  std::uint64_t gets = 0;  ///< whole, plus one if one_more, limited by room.
};

/// A round of step 9, with all hosts that have room and a score above 0.
struct FuzzyRound {
  std::uint64_t comm_processes = 0;
  double scores = 0;  ///< Sum of the scores.
  std::vector<FuzzyShare> shares;
};

/// The result of fuzzy placement, with its steps.
struct FuzzyPlacement {
  /// The rules used: the factors that are known, and their final weights.
  FuzzyRules rules;
  std::vector<Fact> left_out;  ///< Factors that are known of no host.
  std::vector<Evaluation> hosts;
  std::vector<FuzzyRound> rounds;    ///< Empty if there is nothing to place.
  std::vector<std::uint64_t> added;  ///< By host. The sum is the number of processes asked for.
};

/// Places `comm_processes` on hosts with these facts. `room` has an entry for each host; empty: no
/// limits. The same input gives the same result. A round takes time proportional to the hosts times
/// their logarithm. Further rounds occur only if hosts run out of room; every round except the last
/// fills a host.
///
/// `rules` must have passed check(). Fails with kInvalidArgument: check_room's reasons; no factor
/// with a weight is known of any host; the remaining room is only on hosts whose score is 0.
Result<FuzzyPlacement> place_fuzzily(const FuzzyRules& rules, std::span<const FactValues> facts,
                                     std::uint64_t comm_processes,
                                     std::span<const std::uint64_t> room = {});

/// Returns the order in which hosts take their processes. Entry k is the host of communication
/// process k (node k + 1, breadth first). The j-th process of a host is sorted by j / S; on ties
/// the lowest index is first. So the best hosts carry the upper levels, and a host's processes are
/// spread over the order. Needs 16 bytes of temporary memory for each process.
std::vector<HostId> fill_order(const FuzzyPlacement& placement);

/// Returns every number of the placement as text, for `xylem place --explain`: grades, weights (and
/// where they come from), functions, then each host, then the rounds. docs/placement.md has an
/// example computed by hand. Given numbers are printed as short as possible, results with four
/// decimal places.
std::string explain(std::span<const tree::Host> hosts, const FuzzyPlacement& placement);

}  // namespace xylem::placement
