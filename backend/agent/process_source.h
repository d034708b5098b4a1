#pragma once

// The agent's source of processes to watch: the guard's channel in a program, a list in a test.

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/registration.h"

namespace xylem::backend {

/// A process that registered, or that the guard has held since before this worker started.
struct NewProcess {
  Lane lane{};
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  UniqueFd segment;  ///< None: see `row`.
  UniqueFd pidfd;    ///< Readable when the process has ended; none: it has ended already.
  /// The process's own description. If `unwatched` gives a reason, there is no segment, and no
  /// pidfd is needed.
  wire::ProcessRow row;
};

/// An event from a source.
struct SourceEvent {
  enum class Kind {
    kNothing,  ///< No event now. Wait until fd() is readable.
    kProcess,
    kReady,   ///< All processes of a predecessor have been delivered.
    kClosed,  ///< After close(): no process can register any more.
    kOpen,    ///< After close(): not closed, because a process has registered or is about to.
  };
  Kind kind = Kind::kNothing;
  NewProcess process;
};

/// One thread. Nothing blocks.
///
/// Order: call take() until kReady, before any use of the journal; then whenever fd() is readable,
/// until kNothing.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;

  /// The descriptor to watch. May change in take() or close().
  virtual int fd() const = 0;
  virtual SourceEvent take() = 0;
  /// The process is accounted for: its segment is no longer needed.
  virtual void forget(Lane lane) = 0;
  /// Asks to end registration. The answer is kClosed, or kOpen after the processes that came in
  /// between.
  virtual void close() = 0;
  /// After kClosed: removes the host's run folder, so that a later job starts fresh. Leaves a
  /// folder alone that is not ours or no longer ours; may be called again.
  virtual void remove_folder() = 0;
};

}  // namespace xylem::backend
