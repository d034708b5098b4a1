#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// Makes a pipe with close-on-exec on both ends. Fails with kExhausted: "no pipe: ...".
Result<Pipe> make_pipe();

}  // namespace xylem
