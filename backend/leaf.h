#pragma once

// A leaf of a tree, for use in any program. It joins a tree that a front end has started
// (frontend/tree.h), sends waves on its streams and receives multicasts.
//
//   auto leaf = xylem::backend::Leaf::join();
//   auto stream = (*leaf)->stream("sum", 10 * xylem::kSecond);
//   stream->send({{1, std::int64_t{42}}});
//
// A leaf can also join a run (`xylem run`, `xylem serve`). The streams are then those in the run's
// configuration. Waves are stored in the run's file (docs/streams.md) and then acknowledged. A run
// has no multicasts.
//
// The leaf keeps a wave until the root has acknowledged it. As long as the leaf is open, the wave
// arrives exactly once, even if nodes between the leaf and the root die. Only streams that drop
// waves when they are full may lose a wave.

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
  /// A thread of the library serves the links at all times. The program's signals never go to this
  /// thread. It runs on the processors that the joining thread may use.
  kOwnThread,
  /// Links are served only within calls of the leaf. The library starts no thread, and the process
  /// wakes up less often. The last waves may wait for the next call, so call flush() or serve()
  /// before a long pause. A program that makes no call for three seconds is considered dead; its
  /// next call joins again.
  kCaller,
};

struct LeafOptions {
  /// Addresses of the front end, the run's id, and the run's key in hexadecimal. An empty field is
  /// read from XYLEM_ADDRESS, XYLEM_RUN or XYLEM_KEY. Tree::environment() gives these variables.
  /// The key is then removed from the environment, so that children do not inherit it. In a rank of
  /// a run, the capture library needs the key too. It keeps the key for itself and for leaves. So a
  /// rank may join before MPI_Init, after MPI_Init, or both.
  std::string address{}, run{}, key{};
  std::string name{};  ///< Shown as the leaf's host; empty: the host's name.
  /// Size of the journal, which keeps the unacknowledged data. Its memory is allocated only as
  /// used.
  std::size_t journal_bytes = 8u << 20;
  Threading threading = Threading::kOwnThread;
  Nanos join_limit = 30 * kSecond;
  /// If the leaf has no link to a parent or to the front end for this long, it closes itself.
  /// Undelivered data is lost. The communication processes that this leaf starts have the same
  /// limit.
  Nanos orphan_limit = 60 * kSecond;
};

/// A multicast that the leaf has received.
struct Received {
  std::string stream;
  std::uint64_t number = 0;
  wire::Fields fields;
};

/// A leaf's handle of a stream. Copies are cheap. When the Leaf is destroyed, its streams are
/// closed. A LeafStream is thread-safe, except with Threading::kCaller. Calls fail with
/// kUnavailable when the tree is closed, and with kTimedOut after their timeout (ns from now).
/// Sending and receiving also fail with kUnavailable when the stream is closed. A coroutine that
/// has waited resumes on the library's thread. Blocking calls on that thread never wait: every
/// timeout counts as 0.
class LeafStream {
 public:
  const std::string& name() const { return name_; }

  /// Sends the next wave of this leaf; numbers ascend from 0. Returns when the leaf has accepted
  /// the wave into its queue. If journal and queue are full, send() waits on a blocking stream. On
  /// other streams send() does not wait: the leaf drops waves and counts them. Fails with
  /// kInvalidArgument if the stream's aggregation does not accept the fields, if the wave is larger
  /// than a quarter of journal_bytes, or if it does not fit into a frame of 16 MiB.
  Result<void> send(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// Like send(), but with the given wave number, for example the number of the multicast that this
  /// wave answers. Fails with kInvalidArgument if `wave` is not larger than the previous wave
  /// number.
  Result<void> send_wave(std::uint64_t wave, const wire::Fields& fields,
                         Nanos timeout = 10 * kSecond);
  /// The same as send() and send_wave(), for coroutines. With Threading::kCaller, the async_
  /// functions must not be called. If the coroutine is destroyed while it waits, nothing is sent.
  Awaitable<Result<void>> async_send(const wire::Fields& fields, Nanos timeout);
  Awaitable<Result<void>> async_send_wave(std::uint64_t wave, const wire::Fields& fields,
                                          Nanos timeout);

  /// Waits for the next multicast of this stream for this leaf. If the stream has a narrowing
  /// (filters/narrowing.h), returns only this leaf's part of the multicast. If a multicast is not
  /// for this leaf, the leaf sees only a gap in the numbers. Multicasts that arrived before the
  /// stream was closed are returned first.
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);

  /// Waits until the root has acknowledged all waves of all streams. Fails with kUnavailable if the
  /// leaf is closed before that.
  Result<void> flush(Nanos timeout);
  Awaitable<Result<void>> async_flush(Nanos timeout);

 private:
  friend class Leaf;
  class Impl;
  LeafStream(std::shared_ptr<Impl> impl, std::string name)
      : impl_(std::move(impl)), name_(std::move(name)) {}
  std::shared_ptr<Impl> impl_;  // Shared, because a LeafStream may outlive its Leaf.
  std::string name_;
};

/// A leaf in this process. It is thread-safe, except with Threading::kCaller. stream() and
/// receive() fail with kUnavailable when the tree is closed, and with kTimedOut after the timeout.
/// A process may have several leaves. Without the capture library, the first Leaf removes the key
/// from the environment. So a program with several leaves must read the key before it joins the
/// first one, and pass the key to each leaf.
///
/// A Leaf is independent of MPI: a rank may close it before or after MPI_Finalize. If a Leaf still
/// exists when the program calls exit() or returns from main(), the library closes it, as its
/// destructor does. A signal handler may call exit() during a call of the Leaf. Then the Leaf is
/// closed only if that call was waiting for the library's thread. The process ends in any case. In
/// a child of fork(), only the destructor may be called; it does nothing there.
class Leaf {
 public:
  /// Joins the tree, and waits until the front end has assigned a place. Fails with
  /// kInvalidArgument when address, run, key or journal size is missing or not valid. Fails with
  /// kPermissionDenied when the front end refuses the key. Fails with kTimedOut after `join_limit`.
  /// Fails with kUnavailable when the tree is closed meanwhile, or when the front end is not
  /// reached for `orphan_limit`. Fails with kExhausted or kInternal when the system refuses the
  /// thread or the journal's memory.
  static Result<std::unique_ptr<Leaf>> join(const LeafOptions& options = {});
  /// Closes the leaf, and waits at most 1 s for the delivery of the remaining data. Must not run in
  /// a coroutine that the library resumed.
  ~Leaf();
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  LeafId id() const;
  /// Waits until the front end has opened the stream `name`, with this leaf as a member. Fails with
  /// kTimedOut after `timeout`. Fails immediately with kNotFound in a run whose configuration does
  /// not name the stream.
  Result<LeafStream> stream(const std::string& name, Nanos timeout);
  /// Waits for the next multicast of any stream. Each multicast is returned to one call only. So
  /// this call may take a multicast for which a LeafStream::receive() waits.
  Result<Received> receive(Nanos timeout);
  Awaitable<Result<Received>> async_receive(Nanos timeout);
  /// Only with Threading::kCaller: serves the links for `time` ns. With Threading::kOwnThread it
  /// stops the program.
  void serve(Nanos time);
  /// Waits until the tree is closed or this leaf has left it. In both cases all data must be
  /// delivered. Fails with kUnavailable if the leaf was closed for another reason. The message says
  /// which.
  Result<void> wait_until_closed(Nanos timeout);
  /// Delivers the remaining data and leaves the tree. Fails with kTimedOut if data was not
  /// delivered; the message then says how much is lost. Fails with kUnavailable if the leaf was
  /// already closed for another reason.
  Result<void> close(Nanos timeout);

 private:
  explicit Leaf(std::shared_ptr<LeafStream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<LeafStream::Impl> impl_;  // Shared with the streams.
};

}  // namespace xylem::backend
