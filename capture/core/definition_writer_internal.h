#pragma once

// Writes definitions (definitions.h) into the segment's log.
//
// Threads: any thread may call any function. An entry takes a lock with a bounded wait. An entry
// that finds no room in the log, or does not get the lock, is dropped and counted.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/core/bounded_lock_internal.h"
#include "capture/core/ring.h"

namespace xylem::capture {

class DefinitionWriter {
 public:
  /// Before this call, and in a child of fork(), nothing is written.
  void begin(SegmentHeader* segment) noexcept { segment_ = segment; }

  void communicator(const CommunicatorDefinition& definition) noexcept {
    write(DefinitionKind::kCommunicator, definition, nullptr, 0);
  }
  /// Returns false if the definition was dropped.
  bool member(const MemberDefinition& definition) noexcept {
    return write(DefinitionKind::kMember, definition, nullptr, 0);
  }
  /// The name that a program has given to a communicator. It is cut to kMaxNameBytes.
  void name(std::uint32_t comm, const char* name) noexcept;
  static constexpr std::size_t kMaxNameBytes = 256;
  /// A program or library whose code is loaded. A path that is too long for an entry is cut.
  void mapped_file(const MappedFile& file, const char* path) noexcept;
  void thread(const ThreadDefinition& definition) noexcept {
    write(DefinitionKind::kThread, definition, nullptr, 0);
  }
  /// Returns false if the definition was dropped.
  bool region(std::uint64_t region, const char* name, std::size_t bytes) noexcept {
    const RegionDefinition fixed{region};
    return write(DefinitionKind::kRegion, fixed, name, bytes);
  }
  void record_cost(const RecordCostDefinition& definition) noexcept {
    write(DefinitionKind::kRecordCost, definition, nullptr, 0);
  }
  /// `kind` is kDimensions, or kSources or kDestinations. The list is cut into several entries if
  /// it is long.
  void dimensions(std::uint32_t comm, const Dimension* all, std::uint32_t count) noexcept {
    list(DefinitionKind::kDimensions, comm, all, sizeof *all, count);
  }
  void neighbours(DefinitionKind kind, std::uint32_t comm, const std::int32_t* world_ranks,
                  std::uint32_t count) noexcept {
    list(kind, comm, world_ranks, sizeof *world_ranks, count);
  }

 private:
  template <class Fixed>
  bool write(DefinitionKind kind, const Fixed& fixed, const void* more,
             std::size_t more_bytes) noexcept {
    return append(kind, &fixed, sizeof fixed, more, more_bytes);
  }
  void list(DefinitionKind kind, std::uint32_t comm, const void* elements, std::size_t size,
            std::uint32_t count) noexcept;
  bool append(DefinitionKind kind, const void* fixed, std::size_t fixed_bytes, const void* more,
              std::size_t more_bytes) noexcept;
  void put(std::uint64_t position, const void* from, std::size_t bytes) noexcept;

  SegmentHeader* segment_ = nullptr;
  // For BoundedLock: a thread that ends or jumps while it holds the lock must not block the others.
  LockState locked_{};
};

/// The writer of this process.
extern DefinitionWriter definitions [[gnu::visibility("hidden")]];

}  // namespace xylem::capture
