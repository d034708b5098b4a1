#pragma once

// The program of a rank that does one thing after the other, as MPI programs do: blocking
// operations, immediate operations, and waits.
//
//   Sequence sequence;
//   const auto posted = sequence.start({.amount = 8, .peer = 1, .kind = Kind::kReceive});
//   sequence.run({.amount = 8, .peer = 1, .kind = Kind::kSend});
//   sequence.wait_for(std::array{posted});
//   auto built = std::move(sequence).finish();

#include <cstdint>
#include <span>

#include "predict/trace/rank_builder.h"

namespace xylem::predict {

/// Adds operations to a RankBuilder. A value type; not thread-safe. A rank has at most
/// kMaxOperations; the caller looks at size() before it adds.
///
/// What is made here can be written as a time-independent trace, if each wait is for one operation
/// or for all that are open.
class Sequence {
 public:
  /// Adds a blocking operation: the next one starts after its end. Returns its index.
  std::uint32_t run(const Operation& operation) { return add(operation, false); }

  /// Adds an immediate operation: the next one starts after its start. Returns its index.
  std::uint32_t start(const Operation& operation) { return add(operation, true); }

  /// Adds what an operation kFile needs, and returns its `peer`.
  std::uint32_t add_access(const FileAccess& access) { return builder_.add_access(access); }

  /// Adds an operation of 0 ns that starts when these operations have finished. They were added
  /// before. The next one starts after it.
  void wait_for(std::span<const std::uint32_t> operations);

  std::uint32_t size() const { return builder_.size(); }

  /// The program. It has no cycle, since dependencies are on earlier operations.
  RankProgram finish() &&;

 private:
  std::uint32_t add(const Operation& operation, bool immediate);
  void require_previous(std::uint32_t operation);

  RankBuilder builder_;
  bool last_is_immediate_ = false;
};

}  // namespace xylem::predict
