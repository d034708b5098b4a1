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

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

using Sha256 = std::array<std::uint8_t, 32>;

/// Of a plugin's file, for the node that announces it to the others. Fails with kNotFound when it
/// cannot be opened, kPermissionDenied as load_aggregation(), kExhausted when it is larger than
/// kMaxPluginBytes.
Result<Sha256> plugin_fingerprint(const std::string& path);

/// Larger shared objects are refused.
constexpr std::size_t kMaxPluginBytes = 64u << 20;

/// An aggregation of a shared object (filters/plugin.h). What runs is a private copy of the very
/// bytes whose SHA-256 was compared, so that a file that changes later changes nothing here, and
/// two versions of one file can be loaded at once. The copy is unloaded with the last aggregation
/// of it.
///
/// Fails, always with the file's name and the reason:
///   kNotFound          no such file; no aggregation of that name in it (the sentence names those)
///   kPermissionDenied  the path is not absolute; it is no regular file; its owner is neither root
///                      nor this process's user; group or others may write it
///   kCorrupt           another SHA-256; not a shared object for this machine, or one that lacks
///                      symbols; no plugin (xylem_plugin is missing); a later ABI version; an entry
///                      point is missing
///   kInvalidArgument   it does not take these parameters, in the plugin's own words
///   kExhausted         larger than kMaxPluginBytes; no memory or descriptor for the copy
///
/// A plugin runs within the process that loads it, with all its rights. One that crashes, or never
/// returns, takes the process with it: that cannot be survived here, only by the tree.
Result<std::shared_ptr<const Aggregation>> load_aggregation(const std::string& path,
                                                            const Sha256& sha256,
                                                            const std::string& name,
                                                            const wire::Fields& parameters);

}  // namespace xylem::filters
