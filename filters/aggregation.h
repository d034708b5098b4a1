#pragma once

// What a tree computes of a wave on its way up.
//
//   leaf:      lift(what the user sent)  ->  state
//   CP, root:  merge(state, state)       ->  state
//   root:      finish(state)             ->  what the user of the stream receives
//
// States travel, are journalled and merged again; results are only seen at the root. The fields
// that each built-in takes and gives are declared in its header; docs/filters.md has them in one
// table.

#include <memory>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "wire/fields.h"

namespace xylem::filters {

/// A commutative monoid over Fields. merge is associative and commutative for states of disjoint
/// leaves, so that the result is the same in any tree and order: bit for bit for integers, counts,
/// buckets, sets, least and greatest; for sums of floating point within the bound that the filter
/// states. Stateless: any thread may call, all at once.
///
/// States come from peers, so merge and finish check what they are given and fail rather than
/// crash.
class Aggregation {
 public:
  Aggregation() = default;
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;
  virtual ~Aggregation() = default;

  /// Fails with kInvalidArgument when the fields are not what it takes: which filter, which field,
  /// what it takes.
  virtual Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const = 0;

  /// `other` into `state`. Fails with kInvalidArgument when they do not fit together (other types,
  /// other lengths, a leaf in both) or when one is no state; `state` is then of no use, so whoever
  /// wants to pass the parts on as they are keeps them.
  virtual Result<void> merge(wire::Fields& state, const wire::Fields& other) const = 0;

  /// Fails with kInvalidArgument when it is no state.
  virtual Result<wire::Fields> finish(wire::Fields state) const = 0;
};

/// A built-in by its name: "sum" "min" "max" "count" (elementwise.h), "moments" "concatenation"
/// "histogram" "quantiles" "top" "classes" "matrix" (headers of these names).
///
/// Fails with kNotFound when there is none of that name (the sentence names all), and with
/// kInvalidArgument when it does not take these parameters.
Result<std::shared_ptr<const Aggregation>> make_aggregation(const std::string& name,
                                                            const wire::Fields& parameters);

}  // namespace xylem::filters
