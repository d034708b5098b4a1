#pragma once

// A leaf of a tree, in any program: joins a tree that a front end has started (frontend/tree.h),
// sends waves up its streams and receives multicasts.
//
//   auto leaf = xylem::backend::Leaf::join();
//   auto stream = (*leaf)->stream("sum", 10 * xylem::kSecond);
//   stream->send({{1, std::int64_t{42}}});
//
// It can also join a run (`xylem run`, `xylem serve`). Then the streams are those in the run's
// configuration. Waves are stored in the run's file (docs/streams.md) and acknowledged when they
// are there, and there are no multicasts.
//
// A wave is kept here until the root has it. It arrives exactly once, whichever node between dies,
// unless this process dies.

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
  /// A thread of the library serves the links at all times. It gets none of the program's signals,
  /// and runs on the processors that the joining thread may use.
  kOwnThread,
  /// Links are served only within calls: no thread and fewer wake-ups. The last waves may wait for
  /// the next call, so call flush() or serve() before a long pause. A program without a call for
  /// three seconds is considered dead (and joins again by itself).
  kCaller,
};

struct LeafOptions {
  /// Addresses of the front end, the run, and its key in hexadecimal. Empty: from XYLEM_ADDRESS,
  /// XYLEM_RUN and XYLEM_KEY, which Tree::environment() gives. The key is removed from the
  /// environment, so that children do not inherit it. In a rank of a run the capture library needs
  /// the key too and keeps it for both, so a rank may join before MPI_Init, after it, or both.
  std::string address{}, run{}, key{};
  std::string name{};  ///< Shown as its host; empty: the host's name.
  /// Maximum size of unacknowledged data; memory is allocated only as used.
  std::size_t journal_bytes = 8u << 20;
  Threading threading = Threading::kOwnThread;
  Nanos join_limit = 30 * kSecond;
  /// After this long without a front end the leaf closes itself, and so do the communication
  /// processes that it started. Undelivered data is lost.
  Nanos orphan_limit = 60 * kSecond;
};

/// A multicast that came down.
struct Received {
  std::string stream;
  std::uint64_t number = 0;
  wire::Fields fields;
};

/// A leaf's handle of a stream: cheap to copy; closed when the Leaf is destroyed. Thread-safe
/// unless the leaf is under Threading::kCaller. Every call fails with kUnavailable when the tree or
/// the stream is closed, and with kTimedOut after its timeout (ns from now). Coroutines resume on
/// the library's thread, on which no call waits: every timeout counts as 0.
class LeafStream {
 public:
  const std::string& name() const { return name_; }

  /// Sends the next wave of this leaf; numbers ascend from 0. Returns when the wave is in the
  /// journal. If the journal is full, it waits if the stream blocks. Other streams never wait:
  /// waves that are given up are counted. Fails with kInvalidArgument on fields that the stream's
  /// aggregation does not take, and on more than a quarter of journal_bytes.
  Result<void> send(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// The same with a given number, for instance that of the multicast it answers. It must be larger
  /// than the last one, else kInvalidArgument.
  Result<void> send_wave(std::uint64_t wave, const wire::Fields& fields,
                         Nanos timeout = 10 * kSecond);
  /// Both for coroutines. As all async_ calls, not under Threading::kCaller. If the coroutine is
  /// destroyed while it waits, nothing is sent.
  Awaitable<Result<void>> async_send(const wire::Fields& fields, Nanos timeout);
  Awaitable<Result<void>> async_send_wave(std::uint64_t wave, const wire::Fields& fields,
                                          Nanos timeout);

  /// The next multicast of this stream for this leaf, or its part of it if the stream has a
  /// narrowing. Multicasts for other leaves appear as gaps in the numbers.
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);

  /// Waits until the root has acknowledged all waves of all streams.
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

/// A leaf of a tool's tree. Thread-safe unless it is under Threading::kCaller. Every call but
/// serve() fails as those of LeafStream do.
///
/// A process may have several. Without the capture library, the first removes the key from the
/// environment, so a program with several must read the key before and pass it to each.
///
/// It is independent of MPI: a rank may close it before or after MPI_Finalize. A Leaf that still
/// exists when the program calls exit() or returns from main() is closed then, as by its
/// destructor. If a signal handler calls exit() during a call of the Leaf, it is closed only if
/// that call was waiting for the library's thread; the process ends in any case. In a child of
/// fork() only its destructor may be called, which does nothing.
class Leaf {
 public:
  /// Waits until the front end has given it a place. Fails with kInvalidArgument when there is no
  /// address, run or key; kPermissionDenied when the front end refuses the key; kTimedOut.
  static Result<std::unique_ptr<Leaf>> join(const LeafOptions& options = {});
  /// Closes, with 1 s to deliver the rest. Must not run in a coroutine that the library resumed.
  ~Leaf();
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  LeafId id() const;
  /// Waits until the front end has opened a stream of that name which includes this leaf. Fails
  /// with kTimedOut; at once with kNotFound in a run that does not name it.
  Result<LeafStream> stream(const std::string& name, Nanos timeout);
  /// The next multicast of any stream without a waiting LeafStream::receive().
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);
  /// Only under Threading::kCaller: serves the links for `time` ns.
  void serve(Nanos time);
  /// Waits until the front end has closed the tree and all is delivered.
  Result<void> wait_until_closed(Nanos timeout);
  /// Delivers the rest and leaves. Fails with kTimedOut and says what is lost.
  Result<void> close(Nanos timeout);

 private:
  explicit Leaf(std::shared_ptr<LeafStream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<LeafStream::Impl> impl_;
};

}  // namespace xylem::backend
