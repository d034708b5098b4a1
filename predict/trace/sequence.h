#pragma once

// The program of a rank that does one thing after the other, as MPI programs do: blocking
// operations, immediate operations, and waits. A rank with threads has several strands.
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

/// A part of a rank's program in which one operation follows the other: that of a thread, or of a
/// collective call that does not block. A value type.
class Strand {
 public:
  Strand() = default;
  /// The same strand on another CPU.
  Strand on_cpu(std::uint8_t cpu) const {
    Strand made = *this;
    made.cpu_ = cpu;
    return made;
  }

 private:
  friend class Sequence;
  static constexpr std::uint32_t kNothing = 0xffffffff;
  std::uint32_t last_ = kNothing;  ///< The operation after which it goes on.
  bool last_is_immediate_ = false;
  std::uint8_t cpu_ = 0;
};

/// Adds operations to a RankBuilder. A value type; not thread-safe. A rank has at most
/// kMaxOperations; the caller looks at size() before it adds.
///
/// What is made here can be written as a time-independent trace, if each wait is for one operation
/// or for all that are open.
class Sequence {
 public:
  /// Adds a blocking operation: the next one starts after its end. Returns its index. The current
  /// strand determines its CPU.
  std::uint32_t run(const Operation& operation) { return add(operation, false); }

  /// Adds an immediate operation: the next one starts after its start. Returns its index.
  std::uint32_t start(const Operation& operation) { return add(operation, true); }

  /// Adds what an operation kFile needs, and returns its `peer`.
  std::uint32_t add_access(const FileAccess& access) { return builder_.add_access(access); }

  /// Adds an operation of 0 ns that starts when these operations have finished. They were added
  /// before. The next one starts after it.
  void wait_for(std::span<const std::uint32_t> operations);

  /// The current strand as it is now. At first, it is an empty one on CPU 0.
  const Strand& strand() const { return strand_; }
  /// Makes a strand the current one. Two strands that go on from the same one are independent.
  void go_on(const Strand& strand) { strand_ = strand; }

  /// Puts another operation in the place of one that was added. Its strand remains.
  void replace(std::uint32_t index, Operation operation);

  std::uint32_t size() const { return builder_.size(); }

  /// The program. It has no cycle, since dependencies are on earlier operations.
  RankProgram finish() &&;

 private:
  std::uint32_t add(const Operation& operation, bool immediate);
  void require_previous(std::uint32_t operation);

  RankBuilder builder_;
  Strand strand_;
};

}  // namespace xylem::predict
