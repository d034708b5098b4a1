#pragma once

// A pipe whose ends close themselves and are not inherited by programs that this process starts.

#include "base/result.h"
#include "base/unique_fd.h"

namespace xylem {

/// The two ends of a pipe. Both are blocking. Bytes written to `write` arrive at `read` in order.
/// At `read` the end of the data is seen when all copies of `write` are closed.
struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

/// Makes a pipe with close-on-exec on both ends. To pass an end to a program, duplicate it without
/// this flag. Fails with kExhausted if there is no descriptor: "no pipe: ...".
Result<Pipe> make_pipe();

}  // namespace xylem
