#pragma once

// Fuzzy placement: the method "fuzzy comprehensive evaluation", as in claim 4 of patent
// CN103051509A. Every host gets a score that is computed from its facts. The number of
// communication processes of a host is proportional to its score.
//
// The steps, with nf factors, mf grades, n communication processes and m hosts:
//
//   1, 2  factors U, grades V with values g_1 .. g_mf (fuzzy_rules.h)
//   3     m_ij: the membership of the host's factor i in grade j
//   4     R = (r_ij): r_ij = m_ij / (m_i1 + ... + m_i,mf), so the sum of each row is 1
//   5     weights A = (a_1 .. a_nf) with sum 1. If the emphasis e is above 0, each host has its own
//         weights: a_i / x_i^e, scaled so that their sum is 1. Let x_i = max(0.01, sum_j r_ij g_j).
//         The sum is the score that the host would get from factor i alone. So a host's weakest
//         factors count more (variable-weight synthesis). This is wanted, because a tree waits for
//         its slowest node
//   6     B = A o R: weighted average b_j = sum a_i r_ij, or max-min b_j = max min(a_i, r_ij)
//   7     B divided by its sum
//   8     score S = sum b_j g_j, between the lowest g and the highest. With maximum membership,
//         S is the g of the grade with the largest b_j; on ties the better grade
//   9     the quota of host h is n S_h / (S_1 + ... + S_m). Each host gets the whole part of its
//         quota. The remaining processes go, one each, to the hosts with the largest fractions.
//         Fractions that agree to nine decimal places are ties; the lowest index wins
//
// Example for steps 6 and 7: A = (.5, .3, .2) and R = (.6 .3 .1 / .2 .5 .3 / .1 .4 .5). The
// weighted average is B = (.38, .38, .24). Max-min gives (.5, .3, .3); divided by the sum, this is
// (.4545, .2727, .2727).
//
// Example for step 9: the scores are .8 .6 .4 .2, and n = 5. The quotas are 2 1.5 1 .5, and their
// whole parts are 2 1 1 0. One process remains. The fractions .5 and .5 are equal, so the host with
// the lower index gets the process. The result is 2 2 1 0.
//
// Unknown facts: if the value of a factor is unknown for all hosts, the factor is left out. The
// weights of the remaining factors are scaled so that their sum is 1. If the value is unknown for
// only some hosts, these hosts get the row 1/mf .. 1/mf. So an unknown value counts neither for nor
// against a host. The emphasis does not increase the weight: x_i is 1.
//
// Room (room.h): if a host would get more processes than it has room for, it gets only as many as
// it has room for. Then step 9 distributes the remaining processes among the hosts that still have
// room.

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

/// Step 6: computes B = A o R, not yet divided by the sum. `matrix` is R, stored row by row, with
/// one row for each weight. There must be at least one weight, and the size of `matrix` must be a
/// multiple of the number of weights.
std::vector<double> compose(std::span<const double> weights, std::span<const double> matrix,
                            Composition composition);

/// The intermediate results for the score of one host. Matrices are stored row by row, with a row
/// for each factor and a column for each grade.
struct Evaluation {
  std::vector<std::optional<double>> values;  ///< One value for each factor; nullopt: not known.
  std::vector<double> memberships;  ///< Step 3. All entries of a row of an unknown fact are 1/mf.
  std::vector<double> matrix;       ///< Step 4.
  /// Step 5. Without emphasis these are the weights of the rules.
  std::vector<double> weights;
  std::vector<double> composed;  ///< Step 6.
  std::vector<double> grades;    ///< Step 7.
  double score = 0;              ///< Step 8.
};

/// Returns the index of the grade with the largest membership, for step 8 with maximum membership.
/// Memberships that differ by less than 1e-9 count as equal; the better grade wins.
std::size_t strongest_grade(const Evaluation& host);

/// The result for one host in one round of step 9.
struct FuzzyShare {
  HostId host{};
  double quota = 0;  ///< n S_h / sum, for n processes and the sum of scores in this round.
  /// Whole part of the quota. If the quota is below an integer by less than 1e-9, `whole` is this
  /// integer.
  std::uint64_t whole = 0;
  /// `quota` - `whole`, at least 0. To find ties, values are rounded to nine decimal places.
  double rest = 0;
  bool one_more = false;   ///< True if the host gets one more because of `rest`.
  std::uint64_t room = 0;  ///< The host's room when the round began.
  std::uint64_t gets = 0;  ///< `whole`, plus 1 if `one_more`; at most `room`.
};

/// A round of step 9. It includes all hosts that have room and a score above 0.
struct FuzzyRound {
  std::uint64_t comm_processes = 0;
  double scores = 0;  ///< Sum of the scores.
  std::vector<FuzzyShare> shares;
};

/// The result of fuzzy placement, with its steps.
struct FuzzyPlacement {
  /// The rules that were used: without the factors in `left_out`, and with the final weights.
  FuzzyRules rules;
  std::vector<Fact> left_out;  ///< Factors with values that are unknown for all hosts.
  std::vector<Evaluation> hosts;
  std::vector<FuzzyRound> rounds;  ///< Empty if there is nothing to place.
  /// New processes of each host. The sum is the requested number of processes.
  std::vector<std::uint64_t> added;
};

/// Places `comm_processes` on hosts with these facts. `room` has an entry for each host; empty: no
/// limits. The same input gives the same result. A round takes time proportional to m log m, for m
/// hosts. In every round except the last, at least one host runs out of room.
///
/// `rules` must have passed check(). Fails with kInvalidArgument if check_room() fails, or if all
/// factors with a weight above 0 are unknown for all hosts. Also fails if only hosts with score 0
/// have room left.
Result<FuzzyPlacement> place_fuzzily(const FuzzyRules& rules, std::span<const FactValues> facts,
                                     std::uint64_t comm_processes,
                                     std::span<const std::uint64_t> room = {});

/// Returns the host of each communication process. Entry k is the host of node k + 1 of the tree,
/// breadth first. The j-th process of a host with score S has the key j / S, and the processes are
/// sorted by this key. On ties the host with the lowest index is first. So the best hosts carry the
/// upper levels, and the processes of one host are spread over the list. Needs 16 bytes of
/// temporary memory for each process.
std::vector<HostId> fill_order(const FuzzyPlacement& placement);

/// Returns every number of the placement as text, for `xylem place --explain`. First come the
/// rules; then each host; then the rounds. docs/placement.md has an example that is computed by
/// hand. Input values are printed with as few digits as possible. Results have four decimal places.
std::string explain(std::span<const tree::Host> hosts, const FuzzyPlacement& placement);

}  // namespace xylem::placement
