#pragma once

// What every program needs to be a leaf, from its options and environment.

#include <memory>

#include "backend/leaf.h"
#include "backend/leaf/leaf_node.h"
#include "backend/leaf/mapping.h"
#include "backend/leaf/process_starter.h"
#include "base/result.h"
#include "net/runtime.h"

namespace xylem::backend {

/// Outlives the node that is made of it.
struct Joining {
  LeafNodeOptions node;
  net::RuntimeOptions network;
  Mapping memory;  ///< For a journal of journal_bytes.
  std::unique_ptr<CommProcessStarter> starter;
};

/// Takes the key out of the environment when the options have none; in a process with the capture
/// library, which may have done that before, it comes from there (capture/core/run_key.h). Fails
/// with kInvalidArgument (no address, run or key, or they are none) or as make_memory() does.
Result<Joining> prepare_joining(const LeafOptions& options);

}  // namespace xylem::backend
