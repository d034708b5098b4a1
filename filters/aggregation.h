#pragma once

// The computation that a tree does on a wave on its way up.
//
//   leaf:      lift(what the user sent)  ->  state
//   CP, root:  merge(state, state)       ->  state
//   root:      finish(state)             ->  what the user of the stream receives
//
// States travel, are journalled and merged again; only the root has results. The fields that each
// built-in takes and gives are declared in its header; docs/filters.md has them in one table.

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
/// buckets, sets, minimum and maximum; within the filter's stated bound for floating-point sums.
/// Stateless: threads may call it concurrently.
///
/// States come from peers, so merge and finish check their arguments and fail rather than crash.
class Aggregation {
 public:
  Aggregation() = default;
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;
  virtual ~Aggregation() = default;

  /// Fails with kInvalidArgument when the fields are invalid; the sentence names the filter, the
  /// field and what it accepts.
  virtual Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const = 0;

  /// `other` into `state`. Fails with kInvalidArgument when they do not fit together (other types,
  /// other lengths, a leaf in both) or when one is not a state. `state` is then unusable, so a
  /// caller that wants to pass the parts on must keep copies.
  virtual Result<void> merge(wire::Fields& state, const wire::Fields& other) const = 0;

  /// Fails with kInvalidArgument when it is not a state.
  virtual Result<wire::Fields> finish(wire::Fields state) const = 0;
};

/// A built-in by its name: "sum" "min" "max" "count" (elementwise.h), "moments" "concatenation"
/// "histogram" "quantiles" "top" "classes" "matrix" (headers of these names).
///
/// Fails with kNotFound for an unknown name (the sentence lists all names), and with
/// kInvalidArgument when the parameters are invalid.
Result<std::shared_ptr<const Aggregation>> make_aggregation(const std::string& name,
                                                            const wire::Fields& parameters);

using Sha256 = std::array<std::uint8_t, 32>;

/// The hash of a plugin's file, for the node that announces it to the others. Fails with kNotFound
/// when it cannot be opened, kPermissionDenied as load_aggregation(), kExhausted when it is larger
/// than kMaxPluginBytes.
Result<Sha256> plugin_fingerprint(const std::string& path);

/// Maximum size of a plugin's file.
constexpr std::size_t kMaxPluginBytes = 64u << 20;

/// An aggregation of a shared object (filters/plugin.h). It runs from a private copy of the bytes
/// whose SHA-256 was compared. So later changes of the file have no effect, and two versions of a
/// file can be loaded at once. The copy is unloaded with its last aggregation.
///
/// Fails, always with the file's name and the reason:
///   kNotFound          no such file; no aggregation of that name in it (the sentence names those)
///   kPermissionDenied  the path is not absolute; not a regular file; not owned by root or this
///                      process's user; writable by group or others
///   kCorrupt           a different SHA-256;
///                      not a shared object for this machine, or it lacks symbols;
///                      not a plugin (xylem_plugin is missing); a later ABI version;
///                      a missing entry point
///   kInvalidArgument   invalid parameters; the plugin's own sentence
///   kExhausted         larger than kMaxPluginBytes; no memory or descriptor for the copy
///
/// A plugin runs within the process that loads it, with all its rights. If it crashes or hangs, so
/// does the process; only the tree can recover from that.
Result<std::shared_ptr<const Aggregation>> load_aggregation(const std::string& path,
                                                            const Sha256& sha256,
                                                            const std::string& name,
                                                            const wire::Fields& parameters);

}  // namespace xylem::filters
