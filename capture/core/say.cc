#include <errno.h>
#include <unistd.h>

#include <initializer_list>

#include "capture/core/say_internal.h"

namespace xylem::capture {

void say(const char* first, const char* second, const char* third, const char* fourth) noexcept {
  char line[512];
  unsigned length = 0;
  for (const char* part : {"xylem: ", first, second, third, fourth}) {
    if (part == nullptr) continue;
    while (*part != 0 && length + 1 < sizeof line) line[length++] = *part++;
  }
  line[length++] = '\n';
  const int before = errno;
  if (write(STDERR_FILENO, line, length) < 0) errno = before;  // A failure cannot be reported.
}

}  // namespace xylem::capture
