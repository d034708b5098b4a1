#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace xylem::internal {

void check_failed(const char* file, int line, const char* what) noexcept {
  std::fprintf(stderr, "%s:%d: check failed: %s (a bug in xylem, please report it)\n", file, line,
               what);
  std::abort();
}

}  // namespace xylem::internal
