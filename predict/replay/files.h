#pragma once

// Accesses to files on a machine with storage: one after the other, to see what each costs, and
// what a program's files are.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "predict/disk/storage.h"
#include "predict/network/network.h"
#include "predict/replay/machine.h"
#include "predict/trace/program.h"

namespace xylem::predict {

/// The length of each file: the end of the last byte that the program reads or writes.
///
/// Fails with kInvalidArgument, and names the operation, if an access goes beyond kMaxFileBytes
/// or touches more than kMaxStripesOfAccess stripes, if a file's number is 2^28 or more, and if all
/// accesses together touch more than kMaxAccessedPages pages. Larger stripes and pages help.
Result<std::vector<std::uint64_t>> file_lengths(const Program& program,
                                                const StorageOptions& options);

/// All costs of a machine in the same ticks. Those of its storage are only included if it is used:
/// they may make a tick shorter.
FabricCosts costs_of(const Machine& machine, bool with_storage);

/// Fails with kInvalidArgument if the model needs a topology and the machine has none.
Result<void> check_topology(const Machine& machine, Model model);

/// The network of a model that has the topology it needs. kAnalytic has channels without load.
std::unique_ptr<Network> idle_network(const Machine& machine, Model model,
                                      const FabricCosts& costs);

/// An access for access_files(). The rank is below the machine's number of ranks.
struct TimedAccess {
  std::uint32_t rank = 0;
  FileAccess access;
  std::uint64_t bytes = 0;
};

/// What accesses cost.
struct AccessTimes {
  std::uint64_t ticks_per_ns = 1;
  std::vector<AccessReport> reports;  ///< In the order of the accesses.
};

/// Simulates accesses on a machine that does nothing else, with cold caches. Each begins when the
/// one before has ended; what is read ahead goes on in the meantime.
///
/// Fails with kInvalidArgument if the machine has no storage, if the model needs a topology and
/// there is none, as file_lengths() does, and if an access would end after kMaxTicks.
Result<AccessTimes> access_files(const Machine& machine, Model model,
                                 std::span<const TimedAccess> accesses);

}  // namespace xylem::predict
