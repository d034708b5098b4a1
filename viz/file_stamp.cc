#include "viz/file_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace xylem::viz {
namespace {

// What a run's file consists of while it is written.
constexpr const char* kSuffixes[] = {"", "-wal"};

std::optional<struct stat> status_of(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return found;
}

}  // namespace

std::string file_stamp(const std::string& file) {
  std::string stamp;
  for (const char* suffix : kSuffixes) {
    const auto found = status_of(file + suffix);
    if (!found) continue;
    for (const auto number :
         {static_cast<std::int64_t>(found->st_ino), static_cast<std::int64_t>(found->st_size),
          static_cast<std::int64_t>(found->st_mtim.tv_sec),
          static_cast<std::int64_t>(found->st_mtim.tv_nsec)}) {
      stamp += std::to_string(number) + ' ';
    }
  }
  return stamp;
}

Nanos unchanged_for(const std::string& file) {
  Nanos changed = 0;
  for (const char* suffix : kSuffixes) {
    const auto found = status_of(file + suffix);
    if (!found) continue;
    changed = std::max(changed, found->st_mtim.tv_sec * kSecond + found->st_mtim.tv_nsec);
  }
  return changed == 0 ? 0 : std::max<Nanos>(0, realtime_now() - changed);
}

}  // namespace xylem::viz
