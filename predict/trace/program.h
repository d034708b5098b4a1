#pragma once

// A program: what each rank of a job does, without the time that messages take. A value type, made
// by RankBuilder (rank_builder.h) or by a reader of a text format, and read by the replay.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace xylem::predict {

/// What an operation does. If several operations of a rank may start at the same moment, they start
/// in the order of these values.
enum class Kind : std::uint8_t {
  kSend,     ///< Sends a message. Finished when the sender may reuse its buffer.
  kReceive,  ///< Posts a receive. Finished when the message has arrived.
  kCompute,  ///< Keeps a processor busy. With 0 ns: a point at which other operations are awaited.
  kFile,     ///< Reads or writes a file. Finished when the bytes are there. Counts as kCompute in
             ///< the order above.
};

/// The peer of a receive that accepts messages of every rank.
constexpr std::uint32_t kAnySource = 0xffffffff;
/// The tag of a receive that accepts every tag below kFirstCollectiveTag.
constexpr std::uint32_t kAnyTag = 0xffffffff;

/// Tags of the messages of collective calls are kFirstCollectiveTag plus the number of the
/// communicator, which is below kFirstCollectiveTag. All calls on a communicator share the tag:
/// its ranks make them in the same order, and messages between two ranks keep their order. Other
/// messages have tags below kFirstCollectiveTag if the program has collective calls.
constexpr std::uint32_t kFirstCollectiveTag = std::uint32_t{1} << 30;

/// Maximum number of ranks of a program.
constexpr std::uint32_t kMaxRanks = std::uint32_t{1} << 24;
/// Maximum number of operations of a rank.
constexpr std::uint32_t kMaxOperations = 0x7fffffff;

/// One operation of a rank. Programs of 10^9 operations should fit in memory: do not let it grow.
struct Operation {
  std::uint64_t amount = 0;  ///< Bytes of a message or of a file; nanoseconds of computing.
  /// Destination, or source or kAnySource. 0 for computing. kFile: index in accesses().
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;  ///< Receives may have kAnyTag. 0 for computing and files.
  Kind kind = Kind::kCompute;
  std::uint8_t cpu = 0;  ///< The rank's processor (thread) that is busy with the operation.
  std::uint8_t nic = 0;  ///< The rank's network interface. 0 for computing and files.
  /// A send that waits for its receive, whatever its size (MPI_Ssend).
  bool synchronous : 1 = false;
  /// A send that never waits for its receive (MPI_Bsend). Not both.
  bool buffered : 1 = false;
  /// Whether the operation requires the previous one of its rank and is the first to do so. Most
  /// dependencies are of this kind, and take no more room. Set by RankBuilder.
  bool follows : 1 = false;
  /// Whether the operation is also among the dependents of others. Set by RankBuilder.
  bool waits_for_others : 1 = false;
  /// Index of this operation's first entry in the rank's list of dependents. Set by RankBuilder.
  std::uint32_t first_dependent = 0;

  bool operator==(const Operation&) const = default;
};
static_assert(sizeof(Operation) == 24);

/// What an operation kFile needs besides its bytes.
struct FileAccess {
  std::uint64_t offset = 0;
  std::uint32_t file =
      0;  ///< Files are numbered from 0, without large gaps: the same for all ranks.
  bool is_write = false;

  bool operator==(const FileAccess&) const = default;
};

/// An operation that waits for another one of the same rank: for its end, or only for its start.
class Dependent {
 public:
  Dependent(std::uint32_t operation, bool on_start)
      : value_(operation | (on_start ? kOnStart : 0)) {}
  std::uint32_t operation() const { return value_ & ~kOnStart; }
  bool on_start() const { return (value_ & kOnStart) != 0; }
  bool operator==(const Dependent&) const = default;

 private:
  static constexpr std::uint32_t kOnStart = 0x80000000;
  std::uint32_t value_;
};
static_assert(sizeof(Dependent) == 4);

/// The operations of one rank and their dependencies, which have no cycle. Immutable.
class RankProgram {
 public:
  RankProgram() = default;
  /// For RankBuilder. Each operation's `first_dependent` is at most the next one's.
  RankProgram(std::vector<Operation> operations, std::vector<Dependent> dependents,
              std::vector<FileAccess> accesses = {})
      : operations_(std::move(operations)),
        dependents_(std::move(dependents)),
        accesses_(std::move(accesses)) {}

  std::span<const Operation> operations() const { return operations_; }
  /// The accesses of operations kFile. Empty if the rank has none.
  std::span<const FileAccess> accesses() const { return accesses_; }

  /// The operations that wait for `operation`, except the next one if it `follows`. First those
  /// that wait for its start, then those that wait for its end, both in the order in which
  /// RankBuilder learned of them. This is the order in which they start, after `follows`.
  std::span<const Dependent> dependents(std::uint32_t operation) const {
    const std::size_t end = operation + 1 < operations_.size()
                                ? operations_[operation + 1].first_dependent
                                : dependents_.size();
    const std::size_t first = operations_[operation].first_dependent;
    return std::span(dependents_).subspan(first, end - first);
  }
  std::span<const Dependent> dependents() const { return dependents_; }

  bool operator==(const RankProgram&) const = default;

 private:
  std::vector<Operation> operations_;
  std::vector<Dependent> dependents_;
  std::vector<FileAccess> accesses_;
};

/// What all ranks do. Peers are below the number of ranks.
struct Program {
  std::vector<RankProgram> ranks;
  bool operator==(const Program&) const = default;
};

/// The number of operations of all ranks.
std::uint64_t count_operations(const Program& program);

/// Fails with kInvalidArgument, and names the first operation that accesses a file, if there is
/// one. `why` ends the sentence: why this is not possible, and what to do.
Result<void> check_without_files(const Program& program, const std::string& why);

/// The same for the first send with a mode of its own (Operation::synchronous, buffered).
Result<void> check_standard_sends(const Program& program, const std::string& why);

/// The bytes that the program takes in memory.
std::uint64_t memory_of(const Program& program);

}  // namespace xylem::predict
