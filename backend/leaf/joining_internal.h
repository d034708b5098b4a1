#pragma once

// Prepares the options of a leaf from a program's options and environment.

#include <memory>

#include "backend/leaf.h"
#include "backend/leaf/leaf_node.h"
#include "backend/leaf/mapping.h"
#include "backend/leaf/process_starter.h"
#include "base/result.h"
#include "net/runtime.h"

namespace xylem::backend {

/// The parts of a leaf. `memory` and `starter` must outlive the LeafNode that uses them.
struct Joining {
  LeafNodeOptions node;
  net::RuntimeOptions network;
  Mapping memory;  ///< Memory for a journal of journal_bytes.
  std::unique_ptr<CommProcessStarter> starter;
};

/// If the options have no key, takes the key from the environment and removes it there. In a
/// process with the capture library, the key comes from that library (capture/core/run_key.h). The
/// library may already have removed the key from the environment. Fails with kInvalidArgument when
/// address, run or key is missing or invalid. Fails with kExhausted or kInternal when the memory
/// cannot be created.
Result<Joining> prepare_joining(const LeafOptions& options);

}  // namespace xylem::backend
