#include "capture/calibrate/processor_cores.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace xylem::calibrate {
namespace {

namespace fs = std::filesystem;

bool is_processor(std::string_view name) {
  return name.starts_with("cpu") && name.size() > 3 &&
         name.substr(3).find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

unsigned count_cores(const std::string& root) {
  std::set<std::string> cores;  // Lists of the threads of a core.
  std::error_code error;
  for (const fs::directory_entry& it :
       fs::directory_iterator(root + "/sys/devices/system/cpu", error)) {
    if (!is_processor(it.path().filename().string())) continue;
    // A processor that is offline has no such file.
    std::ifstream in(it.path() / "topology/thread_siblings_list");
    if (std::string threads; std::getline(in, threads) && !threads.empty()) cores.insert(threads);
  }
  if (!cores.empty()) return static_cast<unsigned>(cores.size());
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

}  // namespace xylem::calibrate
