#pragma once

// The agent's source of processes to watch. In `xylem-backend` it is the guard's channel. In tests
// it is a list.

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/registration.h"

namespace xylem::backend {

/// A process that has just registered, or that the guard already had when this worker started.
struct NewProcess {
  Lane lane{};
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  UniqueFd segment;  ///< If there is no segment, `row` says why.
  /// Readable when the process has ended. If `segment` is set and there is no pidfd, the process
  /// has already ended. A process without a segment has no pidfd.
  UniqueFd pidfd;
  /// The process's own description. If row.unwatched gives a reason, there is no segment.
  wire::ProcessRow row;
};

/// An event from a source.
struct SourceEvent {
  enum class Kind {
    kNothing,  ///< There is no event now. Wait until fd() is readable.
    kProcess,
    kReady,   ///< All processes that the guard had before this worker started have been returned.
    kClosed,  ///< Answer to close(): no process can register any more.
    kOpen,  ///< Answer to close(): the source is still open, because a process has registered or is
            ///< about to register.
  };
  Kind kind = Kind::kNothing;
  NewProcess process;
};

/// Not thread-safe. Nothing blocks.
///
/// Before anything is journalled, call take() until it returns kReady. Then, whenever fd() is
/// readable, call take() until it returns kNothing.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;

  /// The descriptor to watch. take() and close() may change it.
  virtual int fd() const = 0;
  virtual SourceEvent take() = 0;
  /// Call it when the worker has journalled the process's final counts. The process's segment is
  /// then no longer needed.
  virtual void forget(Lane lane) = 0;
  /// Asks the source to accept no more processes. A later take() returns the answer. If a process
  /// has registered or is about to register, take() first returns the processes that have
  /// registered, then kOpen. Otherwise it returns kClosed.
  virtual void close() = 0;
  /// Call it after kClosed, or when the agent gives up. Removes the host's run folder, so that a
  /// later job starts fresh. Does not touch a folder that another agent has made. May be called
  /// again.
  virtual void remove_folder() = 0;
};

}  // namespace xylem::backend
