#pragma once

// From where a process calls MPI. A record has the return address of its call. This class finds the
// program or library that has this address, and the place in that file. Lines and names of
// functions are found later, in the stored run (storage/write/source_lines.h), so the agent reads
// no debugging information.

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/find/mapped_code.h"
#include "base/ids.h"
#include "wire/definitions.h"

namespace xylem::backend {

/// The call sites of one process. The process itself says at MPI_Init and MPI_Finalize which
/// programs and libraries are loaded. For a library that it loads in between, site_of() reads
/// /proc/PID/maps. If a library is unloaded and another one loaded at the same address, calls from
/// the second one may be attributed to the first. The process is not trusted: the number and size
/// of its sites are limited. But a site has the path that its first process says, and is the same
/// for all processes that say the same build id. Not thread-safe.
class CallSites {
 public:
  /// Later sites, later programs and libraries of a process are not known.
  static constexpr std::size_t kMaxSites = 16384;
  static constexpr std::size_t kMaxMapped = 4096;
  /// A longer path is cut in the rows, after it was made printable.
  static constexpr std::size_t kMaxPath = 4096;
  /// An address that is in no file is looked for again in each of the first chunks, then more and
  /// more rarely: programs with generated code have such addresses always.
  static constexpr std::uint64_t kMaxChunksBetweenLooks = 1024;

  CallSites(std::uint32_t pid, std::uint64_t start_time) : pid_(pid), start_time_(start_time) {}

  /// Adds what the process says. It replaces earlier entries that overlap with it.
  void add(MappedCode code);

  /// Call it before the events of a chunk. Unless `may_find`, sites that are not known stay so:
  /// there is no room to announce them.
  void begin_chunk(bool may_find);

  /// The site of the call that returns to this address; 0 if it is not known.
  CallSiteId site_of(std::uint64_t return_address) {
    Known& known = recent_[return_address / 2 % kRecent];
    const bool is_known =
        known.address == return_address && (known.site != CallSiteId{} || known.chunk == chunk_);
    if (!is_known) known = {return_address, find(return_address), chunk_};
    return known.site;
  }

  /// The sites found since forget_found().
  const std::vector<wire::CallSiteRow>& found() const noexcept { return found_; }
  void forget_found() { found_.clear(); }

 private:
  struct Known {
    std::uint64_t address = 0;
    CallSiteId site{};
    std::uint64_t chunk = 0;  ///< Number of the chunk in which it was looked for.
  };

  using Range = std::pair<std::map<std::uint64_t, MappedCode>::iterator,
                          std::map<std::uint64_t, MappedCode>::iterator>;

  Range overlapping(const MappedCode& code);
  CallSiteId find(std::uint64_t return_address);
  CallSiteId make(const MappedCode& code, std::uint64_t call_address);
  const MappedCode* code_at(std::uint64_t address) const;
  void look(std::uint64_t address);

  static constexpr std::size_t kRecent = 64;

  std::uint32_t pid_;
  std::uint64_t start_time_;
  std::uint64_t chunk_ = 0;
  bool may_find_ = true;
  std::uint64_t next_look_ = 0;               // The chunk from which on look() may be called.
  std::uint64_t between_looks_ = 1;           // Number of chunks.
  std::size_t sites_ = 0;                     // Found so far.
  std::map<std::uint64_t, MappedCode> code_;  // By begin. Ranges do not overlap.
  std::unordered_map<std::uint64_t, CallSiteId> by_address_;
  std::vector<Known> recent_ = std::vector<Known>(kRecent);
  std::vector<wire::CallSiteRow> found_;
};

}  // namespace xylem::backend
