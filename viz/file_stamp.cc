#include "viz/file_stamp.h"

#include <sys/stat.h>

#include <cstdint>

namespace xylem::viz {

std::string file_stamp(const std::string& file) {
  std::string stamp;
  for (const char* suffix : {"", "-wal"}) {
    struct stat found {};
    if (::stat((file + suffix).c_str(), &found) != 0) continue;
    for (const auto number :
         {static_cast<std::int64_t>(found.st_ino), static_cast<std::int64_t>(found.st_size),
          static_cast<std::int64_t>(found.st_mtim.tv_sec),
          static_cast<std::int64_t>(found.st_mtim.tv_nsec)}) {
      stamp += std::to_string(number) + ' ';
    }
  }
  return stamp;
}

}  // namespace xylem::viz
