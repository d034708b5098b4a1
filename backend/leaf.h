#pragma once

// A leaf of a tree, in any program: joins a tree that a front end has started (frontend/tree.h),
// sends waves up its streams, receives what comes down.
//
//   auto leaf = xylem::backend::Leaf::join();
//   auto stream = (*leaf)->stream("sum", 10 * xylem::kSecond);
//   stream->send({{1, std::int64_t{42}}});
//
// It joins a run, too (`xylem run`, `xylem serve`): then the streams are those that the run's
// configuration names, what is sent is stored in the run's file (docs/streams.md), acknowledged
// when it is there, and nothing comes down.
//
// What is sent is kept here until the root has it: it arrives exactly once, whatever node between
// dies, unless this process does.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/awaitable.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/fields.h"

namespace xylem::backend {

enum class Threading {
  /// A thread of the library serves the links, whatever the program does meanwhile. It gets none of
  /// the program's signals, and runs on the processors that the thread which joins may use.
  kOwnThread,
  /// Links are served within calls only: no thread and fewer wake-ups. What was sent last may wait
  /// for the next call: flush() or serve() before a long pause. A program that calls nothing for
  /// three seconds is taken for dead (and joins again by itself).
  kCaller,
};

struct LeafOptions {
  /// Where the front end listens, the run, and its key in hexadecimal. Empty: from XYLEM_ADDRESS,
  /// XYLEM_RUN and XYLEM_KEY, which Tree::environment() gives; the key is taken out of the
  /// environment, so that children do not inherit it. In a rank of a run the capture library may
  /// have taken it first, or wants it later: it keeps the key for both, so a rank may join before
  /// MPI_Init, after it, or both.
  std::string address{}, run{}, key{};
  std::string name{};  ///< Shown as its host; empty: the host's name.
  /// What is kept until it is acknowledged; only what is in use takes memory.
  std::size_t journal_bytes = 8u << 20;
  Threading threading = Threading::kOwnThread;
  Nanos join_limit = 30 * kSecond;
  /// Without a front end for so long the leaf closes itself, and so do the communication processes
  /// that it has started; what was not delivered is lost.
  Nanos orphan_limit = 60 * kSecond;
};

/// A multicast that came down.
struct Received {
  std::string stream;
  std::uint64_t number = 0;
  wire::Fields fields;
};

/// A stream as its leaf sees it. A name for it: cheap to copy; closed when the Leaf is gone.
/// Thread-safe unless the leaf is under Threading::kCaller. Every call fails with kUnavailable when
/// the tree or the stream is closed, and with kTimedOut at its time-out (ns from now). Coroutines
/// go on on the library's thread: there nothing waits, every time-out is as if it were 0.
class LeafStream {
 public:
  const std::string& name() const { return name_; }

  /// Sends the next wave of this leaf: one more than the last, from 0 on. Returns when it is taken
  /// over; waits while the journal is full, if the stream is one that blocks. Others never wait:
  /// what is given up is counted, and taken over too.
  /// Fails with kInvalidArgument on fields that the stream's aggregation does not take, and on more
  /// than a quarter of journal_bytes.
  Result<void> send(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// The same with a number of your own, for instance that of the multicast it answers: larger than
  /// the last one, else kInvalidArgument.
  Result<void> send_wave(std::uint64_t wave, const wire::Fields& fields,
                         Nanos timeout = 10 * kSecond);
  /// Either of them for coroutines; not under Threading::kCaller, as all async_ calls. Who is
  /// destroyed while it waits has sent nothing.
  Awaitable<Result<void>> async_send(const wire::Fields& fields, Nanos timeout);
  Awaitable<Result<void>> async_send_wave(std::uint64_t wave, const wire::Fields& fields,
                                          Nanos timeout);

  /// The next multicast of this stream that is for this leaf; where the stream narrows, its part of
  /// it. What was for others shows as a gap in the numbers.
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);

  /// Waits until all that was sent, on any stream, is acknowledged by the root.
  Result<void> flush(Nanos timeout);
  Awaitable<Result<void>> async_flush(Nanos timeout);

 private:
  friend class Leaf;
  class Impl;
  LeafStream(std::shared_ptr<Impl> impl, std::string name)
      : impl_(std::move(impl)), name_(std::move(name)) {}
  std::shared_ptr<Impl> impl_;
  std::string name_;
};

/// Several may live in one process: where no capture library is, the first takes the key out of the
/// environment, so a program that wants more reads it before and gives it to each.
///
/// It has nothing to do with MPI: in a rank it may be closed before MPI_Finalize or after. One that
/// lives still when the program calls exit() or returns from main() is closed then, as by its
/// destructor. Where the handler of a signal calls exit() in the midst of a call of it, it is
/// closed too if that call was waiting for the library's own thread, and else left as it is: the
/// process ends in any case. In a child of fork() it does not live: there nothing but its
/// destructor may be called, which does nothing.
class Leaf {
 public:
  /// Waits until the front end has given it a place. Fails with kInvalidArgument when there is no
  /// address, run or key; kPermissionDenied when the front end refuses the key; kTimedOut.
  static Result<std::unique_ptr<Leaf>> join(const LeafOptions& options = {});
  /// Closes, with a second to deliver what is left. Not in a coroutine that the library resumed.
  ~Leaf();
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  LeafId id() const;
  /// Waits until the front end has opened a stream of that name which includes this leaf. Fails
  /// with kTimedOut; at once with kNotFound in a run that does not name it.
  Result<LeafStream> stream(const std::string& name, Nanos timeout);
  /// The next multicast of any stream that nobody waits for in particular.
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);
  /// Under Threading::kCaller: serves the links for so long.
  void serve(Nanos time);
  /// Waits until the front end has closed the tree and all is delivered.
  Result<void> wait_until_closed(Nanos timeout);
  /// Delivers what is left and leaves. Fails with kTimedOut and says what is lost.
  Result<void> close(Nanos timeout);

 private:
  explicit Leaf(std::shared_ptr<LeafStream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<LeafStream::Impl> impl_;
};

}  // namespace xylem::backend
