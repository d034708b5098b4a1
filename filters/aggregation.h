#pragma once

// The function by which a tree reduces a wave on its way up.
//
//   leaf:      lift(what the user sent)  ->  state
//   CP, root:  merge(state, state)       ->  state
//   root:      finish(state)             ->  what the user of the stream receives
//
// A state can be sent, journalled and merged again; only the root computes results. For each
// built-in aggregation, a header declares the input and output fields. docs/filters.md lists all
// fields in one table.

#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/sha256.h"
#include "wire/fields.h"

namespace xylem::filters {

/// An aggregation. For states of disjoint leaves, merge() must be associative and commutative. So
/// the result does not depend on the tree or on the order of merging. For integers, counts,
/// buckets, sets, minimum and maximum, the result is exactly the same in every tree. For
/// floating-point sums, it is the same within the bound that the filter's header gives.
///
/// An aggregation object has no mutable state, so threads may call it concurrently. Several parts
/// of a process share one object, so it is always passed as a `shared_ptr`.
///
/// States come from other hosts and may be invalid. So merge() and finish() must check their
/// arguments, and must fail instead of crashing.
class Aggregation {
 public:
  Aggregation() = default;
  Aggregation(const Aggregation&) = delete;
  Aggregation& operator=(const Aggregation&) = delete;
  virtual ~Aggregation() = default;

  /// Makes the state of one leaf. Fails with kInvalidArgument if the fields are invalid. A built-in
  /// filter's message names the filter, the field, and the values that the filter accepts.
  virtual Result<wire::Fields> lift(LeafId leaf, const wire::Fields& sent) const = 0;

  /// Merges `other` into `state`. Fails with kInvalidArgument if `state` or `other` is not a state,
  /// or if the two do not fit together (the filter's header says when). After a failure `state` is
  /// unusable. If the caller then wants to forward both states, it must have kept a copy.
  virtual Result<void> merge(wire::Fields& state, const wire::Fields& other) const = 0;

  /// Computes the result from a state. Fails with kInvalidArgument if the argument is not a state.
  virtual Result<wire::Fields> finish(wire::Fields state) const = 0;
};

/// Makes a built-in aggregation by its name: "sum", "min", "max" or "count" (elementwise.h),
/// "moments", "concatenation", "histogram", "quantiles", "top", "classes" or "matrix". For each of
/// the last seven there is a header with the same name.
///
/// Fails with kNotFound if the name is unknown; the message lists all names. Fails with
/// kInvalidArgument if the parameters are invalid.
Result<std::shared_ptr<const Aggregation>> make_aggregation(const std::string& name,
                                                            const wire::Fields& parameters);

/// Returns the SHA-256 of a plugin's file. The node that opens a stream with the plugin sends the
/// hash to the other nodes. Fails with kNotFound if the file does not exist or cannot be read.
/// Fails with kPermissionDenied in the cases that load_aggregation() lists. Fails with kExhausted
/// if the file is larger than kMaxPluginBytes.
Result<Sha256> plugin_fingerprint(const std::string& path);

/// Maximum size of a plugin's file in bytes.
constexpr std::size_t kMaxPluginBytes = 64u << 20;

/// Makes an aggregation from a shared object (filters/plugin.h). The file is copied, and the copy
/// is loaded if its hash is `sha256`. So later changes of the file have no effect, and two versions
/// of a file can be loaded at the same time. When the last aggregation of the copy is destroyed,
/// the copy is unloaded if the system's linker can unload it.
///
/// Fails in these cases. The message has the file's name and the reason.
/// - kNotFound: the file does not exist, or it has no aggregation of this name. In the second case
///   the message lists the names of its aggregations.
/// - kPermissionDenied: the path is not absolute, or the file is not a regular file, or this
///   process may not open it. Also if the owner of the file is neither root nor this process's
///   user, or if group or others may write it.
/// - kCorrupt: the file has a different SHA-256, is not a shared object for this machine, or needs
///   symbols that are missing. Also if it is not a plugin (xylem_plugin() is missing or fails), has
///   a later ABI version, or lacks a function in its table. Also if it crashes, throws or hangs
///   when a child process loads it as a trial.
/// - kInvalidArgument: the parameters are invalid. The message ends with the plugin's own.
/// - kExhausted: the file is larger than kMaxPluginBytes, or there is no memory or descriptor for
///   the copy, or no child process for the trial.
/// - kInternal: the plugin's create() throws or fails for another reason.
///
/// A plugin has all rights of the process that loads it. If the plugin crashes or hangs, the
/// process crashes or hangs too. Then only the rest of the tree can repair the loss.
Result<std::shared_ptr<const Aggregation>> load_aggregation(const std::string& path,
                                                            const Sha256& sha256,
                                                            const std::string& name,
                                                            const wire::Fields& parameters);

}  // namespace xylem::filters
