#include "base/this_host.h"

#include <unistd.h>

#include <array>

namespace xylem {

std::string this_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace xylem
