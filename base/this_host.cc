#include "base/this_host.h"

#include <unistd.h>

#include <array>
#include <fstream>

#include "base/fnv.h"

namespace xylem {

std::string this_host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::uint64_t clock_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  if (boot.empty()) return 0;
  // Kernels before 5.6 have no time namespaces: all their processes read one clock.
  std::array<char, 64> link{};
  const ssize_t length = ::readlink("/proc/self/ns/time", link.data(), link.size());
  Fnv1a hash;
  for (const char c : boot) hash.add(static_cast<std::uint8_t>(c));
  for (ssize_t i = 0; i < length; ++i) {
    hash.add(static_cast<std::uint8_t>(link[static_cast<std::size_t>(i)]));
  }
  return hash.value();
}

}  // namespace xylem
