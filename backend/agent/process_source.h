#pragma once

// Where processes to watch come from, as the agent sees it: the guard's channel in a program, a
// list in a test.

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
  /// What the process said of itself. Where `unwatched` says why, there is no segment, and no pidfd
  /// is needed.
  wire::ProcessRow row;
};

/// What a source has to tell.
struct SourceEvent {
  enum class Kind {
    kNothing,  ///< For now. Wait until fd() is readable.
    kProcess,
    kReady,   ///< All processes that a predecessor worked on have been told.
    kClosed,  ///< After close(): nobody can register any more.
    kOpen,    ///< After close(): it did not come to that, somebody registered or is about to.
  };
  Kind kind = Kind::kNothing;
  NewProcess process;
};

/// One thread. Nothing blocks.
///
/// Order: take() until kReady, before anything is done with the journal; from then on whenever
/// fd() is readable, until kNothing.
class ProcessSource {
 public:
  virtual ~ProcessSource() = default;

  /// The descriptor to watch. May be another one after take() or close().
  virtual int fd() const = 0;
  virtual SourceEvent take() = 0;
  /// The process is accounted for: nobody needs its segment any more.
  virtual void forget(Lane lane) = 0;
  /// Asks that nobody register any more. Answered by kClosed, or by kOpen after the processes that
  /// came in between.
  virtual void close() = 0;
  /// After kClosed: takes the host's run folder away, so that a later job starts anew. What is not
  /// ours, or no longer, is left alone; may be called again.
  virtual void remove_folder() = 0;
};

}  // namespace xylem::backend
