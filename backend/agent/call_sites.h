#pragma once

// From where a process calls MPI. A record has the return address of its call. This class finds the
// program or library that has this address, and the place in that file. Lines and names of
// functions are found later, in the stored run (storage/write/source_lines.h), so the agent reads
// no debugging information.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/find/mapped_code.h"
#include "backend/find/object_file.h"
#include "base/ids.h"
#include "wire/definitions.h"

namespace xylem::backend {

/// The call sites of one process. Files are known from the process itself, which says at MPI_Init
/// and MPI_Finalize what it has mapped. For a library that it loads in between, site_of() reads
/// /proc/PID/maps. If a library is unloaded and another one loaded at the same address, calls from
/// the second one may be attributed to the first. The process is not trusted: it can falsify only
/// its own sites. Not thread-safe.
class CallSites {
 public:
  /// Later sites of a process have no id.
  static constexpr std::size_t kMaxSites = 16384;

  CallSites(std::uint32_t pid, std::uint64_t start_time) : pid_(pid), start_time_(start_time) {}

  /// Adds a mapped file. It replaces earlier ones that overlap with it, unless it is equal.
  void add(MappedCode code);

  /// The site of the call that returns to this address; 0 if it is not known. The first call for
  /// a site reads its file.
  CallSiteId site_of(std::uint64_t return_address) {
    Known& known = recent_[return_address / 2 % kRecent];
    const bool is_known = known.address == return_address && known.site != CallSiteId{};
    if (!is_known) known = {return_address, find(return_address)};
    return known.site;
  }
  /// Lets site_of() read /proc once more for addresses that it does not know.
  void look_again() noexcept { may_look_ = true; }

  /// The sites found since forget_found().
  const std::vector<wire::CallSiteRow>& found() const noexcept { return found_; }
  void forget_found() { found_.clear(); }

 private:
  struct Known {
    std::uint64_t address = 0;
    CallSiteId site{};
  };
  struct Mapped {
    MappedCode code;
    std::optional<ObjectFile> file;  // Read when a site is in it.
  };

  CallSiteId find(std::uint64_t return_address);
  CallSiteId make(std::uint64_t call_address);
  Mapped* mapped_at(std::uint64_t address);
  ObjectFile read(const std::string& path) const;

  static constexpr std::size_t kRecent = 64;

  std::uint32_t pid_;
  std::uint64_t start_time_;
  bool may_look_ = true;
  std::vector<Mapped> mapped_;
  std::unordered_map<std::uint64_t, CallSiteId> by_address_;
  std::vector<Known> recent_ = std::vector<Known>(kRecent);
  std::vector<wire::CallSiteRow> found_;
};

}  // namespace xylem::backend
