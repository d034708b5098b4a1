#pragma once

// The front end of a tree, for use in any program. It starts the leaves or waits for them, opens
// streams, receives waves and sends multicasts.
//
//   auto tree = Tree::start({.hosts = {"n1", "n2"}, .back_end = {"/opt/tool/leaf"}});
//   auto sum = (*tree)->open({.name = "sum", .aggregation = "sum"});
//   auto wave = sum->receive(10 * kSecond);
//
// Leaves are programs that use backend/leaf.h. Each wave of a leaf arrives exactly once, even if
// nodes between the leaf and the front end die, unless the leaf has dropped it because its journal
// was full (WhenFull).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/awaitable.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "base/result.h"
#include "frontend/wave.h"
#include "wire/fields.h"

namespace xylem::frontend {

struct TreeOptions {
  /// The shape of the tree: kary:K, flat, balanced:DxF, binomial:N or file:PATH (see tree/shape.h).
  std::string shape = "kary:16";
  /// Hosts on which to start back ends; empty: this host.
  std::vector<std::string> hosts{};
  /// Program and arguments of a back end. If empty, the caller starts the back ends and sets the
  /// variables of environment() for them.
  std::vector<std::string> back_end{};
  std::size_t back_ends_per_host = 1;
  /// The tree is placed when this number of back ends has joined. 0 means the number of back ends
  /// that start() starts. If the caller starts the back ends, 0 means that the tree is placed when
  /// no further back end has joined for `settle`.
  std::size_t expected = 0;
  Nanos settle = 2 * kSecond;
  /// A program that runs a shell on a host. It is called as "LAUNCHER HOST sh", and must pass its
  /// standard input to the shell. If `launcher` is empty, back ends on this host are started
  /// directly. Back ends on other hosts are started by ssh, which must work without a password. If
  /// a launcher fails, start() fails soon, with the last line of the launcher's output.
  std::string launcher{};
  /// Numeric address to listen on. If it is empty, start() listens on all IPv4 addresses of this
  /// host. But it listens only on loopback if it starts all back ends on this host, without a
  /// launcher.
  std::string listen{};
  /// Absolute path of xylem-commproc, the same on all hosts. Installed packages define a default
  /// value.
#ifdef XYLEM_COMM_PROCESS
  std::string comm_process = XYLEM_COMM_PROCESS;
#else
  std::string comm_process{};
#endif
  bool tls = true;
  /// Limit for the waves of each stream that the program has not received yet, in bytes. Above this
  /// limit nothing is acknowledged, so leaves stop sending. The queue can reach about twice this
  /// size.
  std::size_t queue_bytes = 16u << 20;
  /// Timeout of start(): start() fails if a back end has not joined within this time. If a
  /// communication process does not report within 5 s, it is left out of the tree, and start() does
  /// not fail.
  Nanos start_limit = 30 * kSecond;
  /// A leaf without a link to the tree for this long counts as lost. A link counts as lost after 3
  /// s of silence. Waves do not wait that long: they are forwarded without this leaf (see
  /// Synchronisation).
  Nanos lost_limit = 10 * kSecond;
};

/// Decides when a node sends a wave to its parent. The values are those of wire::Synchronisation,
/// which is not part of this API.
enum class Synchronisation {
  /// When every leaf below has contributed, but at the latest 6 s after the first contribution.
  kWaitForAll,
  /// When every leaf below has contributed, but at the latest `time_out` after the first
  /// contribution.
  kTimeOut,
  kAsItComes,  ///< Immediately.
};

/// Behaviour of a leaf when its journal is full. The values are those of wire::WhenFull, which is
/// not part of this API.
enum class WhenFull {
  kBlock,       ///< Sending waits until there is space.
  kDropOldest,  ///< The oldest packets are dropped.
  kDropNewest,  ///< The new packet is dropped.
};

struct StreamOptions {
  /// Leaves find the stream by this name. Open streams have different names.
  std::string name{};
  IntervalSet leaves{};  ///< The leaves of the stream; empty: all leaves, including those that join
                         ///< later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out = 100 * kMillisecond;  ///< Used only with kTimeOut.
  /// "sum", "histogram", ... (docs/filters.md); empty: every leaf's waves are delivered unchanged.
  std::string aggregation{};
  wire::Fields parameters{};
  std::string plugin{};  ///< Absolute path of the shared object with the aggregation.
  /// The filter that selects each leaf's part of a multicast: "scatter", ... (docs/filters.md).
  /// Empty: each leaf gets the whole multicast.
  std::string narrowing{};
  wire::Fields narrowing_parameters{};
  std::string narrowing_plugin{};  ///< Absolute path of the shared object with the narrowing.
  WhenFull when_full = WhenFull::kBlock;
};

struct LeafFacts {
  LeafId id{};
  std::string host;
  std::string state;  ///< "attached", "left", "lost"
};

struct TreeEvent {
  enum class Kind {
    kJoined,  ///< A leaf has joined.
    kLeft,    ///< A leaf has delivered all its data and left.
    kLost,    ///< A leaf had no link to the tree for `lost_limit`.
    kFound,   ///< A lost leaf was seen again.
    kHealed,  ///< A node has reconnected to another parent.
    kGap,     ///< A leaf missed multicasts: `text` has their numbers.
    kNotice,  ///< A process of the tree has logged a warning or an error, or the front end has
              ///< found one.
    /// A stream or the tree was closed: `text` says which. If the tree was closed, this is the last
    /// event, and all streams are closed, too.
    kClosed,
  };
  Kind kind{};
  LeafId leaf{};  ///< 0xffffffff if the event is not about a leaf.
  std::string host;
  std::string text;  ///< For people.
};

class Tree;

/// The front end's handle of a stream. It is cheap to copy and thread-safe. The stream is closed
/// when the Tree is destroyed.
///
/// Calls fail with kUnavailable if the tree or the stream is closed, and with kTimedOut after their
/// timeout. Timeouts are in ns; kForever means no timeout. Coroutines resume on the library's
/// thread. On this thread no call waits: every timeout counts as 0.
class Stream {
 public:
  /// Returns the next wave. Waves of a stream come in the order in which they are completed.
  Result<Wave> receive(Nanos timeout);
  Awaitable<Result<Wave>> async_receive(Nanos timeout);
  /// Sends a multicast to all leaves of the stream. Blocks while more than 8 MiB wait for one of
  /// the nodes directly below. Returns as soon as the multicast is queued. The result is the
  /// multicast's number, counted from 1.
  ///
  /// Fails with kInvalidArgument if the multicast does not fit into a frame (16 MiB). Also fails if
  /// the stream's narrowing refuses the fields for the first recipient. If the narrowing fails
  /// later for another leaf, there is a kGap event with this leaf and the multicast's number. There
  /// is also a kNotice event with host and reason, for the first failure on each node.
  ///
  /// With a narrowing, the recipients are all leaves of the stream that have joined and are neither
  /// lost nor gone. The recipients are numbered in the order of their leaf ids. The narrowing
  /// selects by this number (Place in filters/narrowing.h).
  Result<std::uint64_t> multicast(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// Sends a multicast only to the leaves in `to`; if `to` is empty, to all leaves. The other
  /// leaves receive nothing: they skip the multicast's number. With a narrowing, only the leaves in
  /// `to` are numbered. Also fails with kInvalidArgument if a leaf in `to` is not in the stream. A
  /// leaf in `to` that has left is not an error, since a leaf may also leave while the multicast is
  /// on its way.
  ///
  /// If only the leaves in `to` answer, do not use kWaitForAll: each wave would wait 6 s for the
  /// other leaves. Use kAsItComes or kTimeOut.
  Result<std::uint64_t> multicast(const wire::Fields& fields, const IntervalSet& to,
                                  Nanos timeout = 10 * kSecond);
  /// Does what multicast() does, for coroutines. If `to` is empty, sends to all leaves.
  Awaitable<Result<std::uint64_t>> async_multicast(const wire::Fields& fields,
                                                   const IntervalSet& to, Nanos timeout);
  StreamAccount account() const;
  /// Closes the stream: leaves can no longer send on it, and data in flight is dropped.
  void close();

 private:
  friend class Tree;
  class Impl;
  Stream(std::shared_ptr<Impl> impl, StreamId id) : impl_(std::move(impl)), id_(id) {}
  std::shared_ptr<Impl> impl_;  // Shared, because a Stream may outlive its Tree.
  StreamId id_{};
};

/// A tree. All functions are thread-safe. The library has one thread for the links; this thread
/// receives none of the program's signals.
class Tree {
 public:
  /// Listens, starts the back ends, and waits until TreeOptions::expected back ends have joined and
  /// the tree is placed. If the caller starts the back ends, start() only listens and returns
  /// immediately.
  ///
  /// Fails with kInvalidArgument if the shape or a host is invalid, and with kNotFound if a program
  /// cannot be started. Fails with kUnavailable if a back end has ended with an error; the message
  /// has the host and the error. Fails with kExhausted if the system refuses a thread or a
  /// descriptor. Fails with kTimedOut after `start_limit`; the message says what is missing, and on
  /// which hosts.
  static Result<std::unique_ptr<Tree>> start(TreeOptions options);
  /// Calls close() with a timeout of 5 s. Must not run in a coroutine that the library has resumed.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Returns the variables ("NAME=value") with which a back end finds this tree. The key is one of
  /// these variables. So pass the variables in the back end's environment, never on a command line.
  std::vector<std::string> environment() const;
  /// Waits until `count` leaves are attached and the tree is placed. If `count` is 0 and no leaf
  /// has joined, returns immediately. Fails with kTimedOut after `timeout` (ns); the message says
  /// what is missing. Fails with kUnavailable if the tree is closed meanwhile.
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  /// Returns one line per node: number, role, host, process id, level, parent, leaf, state.
  std::string print() const;
  /// Returns the front end and all communication processes that are not lost, in MRNet's format. To
  /// start the same tree again, write this text to a file and set TreeOptions::shape to file:PATH.
  /// Fails with kInvalidArgument if tree::is_host_name() refuses a host's name.
  Result<std::string> topology() const;

  /// Opens a stream on every node. A node that joins later opens the stream when it joins. So a
  /// stream may be opened before the first leaf joins.
  ///
  /// Fails with kAlreadyExists if an open stream has this name, and with kTimedOut if a node does
  /// not answer. Fails with kInvalidArgument, kNotFound, kPermissionDenied, kExhausted or kCorrupt
  /// if the front end refuses the aggregation or the narrowing, and with kCorrupt if another node
  /// refuses it; the message has the reason and, if there is a plugin, the host and the file.
  Result<Stream> open(const StreamOptions& options, Nanos timeout = 10 * kSecond);

  /// Returns the next event. If more than 4096 events wait, the oldest are dropped. After the tree
  /// was closed, returns the remaining events, then fails with kUnavailable. Fails with kTimedOut
  /// after `timeout` (ns).
  Result<TreeEvent> next_event(Nanos timeout);
  Awaitable<Result<TreeEvent>> async_next_event(Nanos timeout);

  /// Tells the leaves to deliver their remaining data and to leave. Waits until all nodes have
  /// left. Fails with kTimedOut if nodes have not left in time; the message lists the leaves among
  /// them. Then waits for the back ends that start() has started, and kills those that do not end.
  /// This may take 6 s more than the timeout. The tree is closed in any case.
  Result<void> close(Nanos timeout);

 private:
  explicit Tree(std::shared_ptr<Stream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Stream::Impl> impl_;  // Shared with the streams.
};

}  // namespace xylem::frontend
