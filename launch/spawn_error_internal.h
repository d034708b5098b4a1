#pragma once

#include <cerrno>

#include "base/result.h"

namespace xylem::launch {

/// Returns the code for an error of posix_spawn(): kNotFound if there is no such program,
/// kPermissionDenied if it may not be executed, kExhausted if the system has no process, memory or
/// descriptor left. All other errors are about the file, for example an unknown format: kNotFound.
inline Code code_of_spawn_error(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kExhausted;
    default:
      return Code::kNotFound;
  }
}

}  // namespace xylem::launch
