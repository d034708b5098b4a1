#pragma once

// The front end of a tree, for use in any program. It starts the tree or waits for its leaves,
// opens streams, receives waves and sends multicasts.
//
//   auto tree = Tree::start({.hosts = {"n1", "n2"}, .back_end = {"/opt/tool/leaf"}});
//   auto sum = (*tree)->open({.name = "sum", .aggregation = "sum"});
//   auto wave = sum->receive(10 * kSecond);
//
// Leaves are programs that use backend/leaf.h. Their waves arrive exactly once, even if nodes
// between the leaf and the front end die.

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
  /// The shape of the tree: kary:K, flat, balanced:DxF, binomial:N or file:PATH (MRNet's format).
  std::string shape = "kary:16";
  /// Hosts on which to start back ends; empty: this host.
  std::vector<std::string> hosts{};
  /// Program and arguments of a back end; empty: the caller starts back ends, with environment().
  std::vector<std::string> back_end{};
  std::size_t back_ends_per_host = 1;
  /// Number of back ends at which the tree is placed. 0: the number of back ends that are started
  /// here. If the caller starts the back ends, 0 means: `settle` after the last back end has
  /// joined.
  std::size_t expected = 0;
  Nanos settle = 2 * kSecond;
  /// A program for which "LAUNCHER HOST COMMAND..." runs a command on a host. Empty: back ends of
  /// this host are started directly, others by ssh, which must not need a password. If the launcher
  /// fails, start() fails at once with its output.
  std::string launcher{};
  /// Numeric address to listen on. Empty: loopback if all back ends are started on this host, else
  /// any address.
  std::string listen{};
  /// Absolute path of xylem-commproc, the same on all hosts; the installed packages define it.
#ifdef XYLEM_COMM_PROCESS
  std::string comm_process = XYLEM_COMM_PROCESS;
#else
  std::string comm_process{};
#endif
  bool tls = true;
  /// Limit of the waves that the program has not received yet, in bytes for each stream. Beyond
  /// this limit waves are not acknowledged, so leaves stop sending.
  std::size_t queue_bytes = 16u << 20;
  /// Timeout of start(): it fails if a back end has not joined by then. (Communication processes
  /// that do not report within 5 s are left out of the tree.)
  Nanos start_limit = 30 * kSecond;
  /// A leaf that is silent for this long counts as lost. (Waves do not wait for it that long.)
  Nanos lost_limit = 10 * kSecond;
};

/// When a node sends a wave to its parent. The values are those of wire::Synchronisation, which is
/// not part of this API.
enum class Synchronisation {
  kWaitForAll,  ///< When every leaf below has contributed; at the latest after 6 s.
  /// When every leaf below has contributed; at the latest `time_out` after the first contribution.
  kTimeOut,
  kAsItComes,  ///< At once.
};

/// What a leaf does when its journal is full. The values are those of wire::WhenFull, which is not
/// part of this API.
enum class WhenFull {
  kBlock,       ///< Sending waits until there is space.
  kDropOldest,  ///< The oldest packets are given up.
  kDropNewest,  ///< The new packet is given up.
};

struct StreamOptions {
  std::string name{};    ///< Leaves find the stream by this name. It is unique among open streams.
  IntervalSet leaves{};  ///< The leaves of the stream; empty: all, also leaves that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out = 100 * kMillisecond;  ///< For kTimeOut.
  /// "sum", "histogram", ... (docs/filters.md); empty: every leaf's waves are delivered unchanged.
  std::string aggregation{};
  wire::Fields parameters{};
  std::string plugin{};  ///< Absolute path of the shared object with the aggregation.
  /// The part of a multicast that each leaf gets: "scatter", ... (docs/filters.md); empty: the
  /// whole multicast.
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
    kLost,    ///< A leaf was silent for too long.
    kFound,   ///< A lost leaf was seen again.
    kHealed,  ///< A node has reconnected to another parent.
    kGap,     ///< A leaf missed multicasts: `text` says which.
    kNotice,  ///< A process of the tree has logged a warning or an error.
    kClosed,  ///< An open stream was closed, or the tree: `text` says which. If the tree was
              ///< closed, this is the last event, and all its streams are closed too.
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
/// Calls fail with kUnavailable when the tree or the stream is closed, and with kTimedOut after
/// their timeout (in ns; the largest number means no timeout). Coroutines resume on the library's
/// thread. On this thread no call waits: every timeout counts as 0.
class Stream {
 public:
  /// The next wave. Waves of a stream come in the order in which they are completed.
  Result<Wave> receive(Nanos timeout);
  Awaitable<Result<Wave>> async_receive(Nanos timeout);
  /// Sends to all leaves of the stream. Waits while more than 8 MiB are in flight to the next
  /// nodes. Returns the number of the multicast, from 1 on, as soon as the multicast is queued.
  /// Fails with kInvalidArgument if the multicast does not fit into a frame (16 MiB), or if the
  /// stream's narrowing refuses the fields for the first leaf. If the narrowing fails later for
  /// another leaf, there is a kGap event with this leaf and the number, and one kNotice with host
  /// and reason.
  ///
  /// With a narrowing, the recipients are the stream's leaves that have joined, and have neither
  /// left nor been lost at this moment. Their places are numbered in this order
  /// (filters/narrowing.h).
  Result<std::uint64_t> multicast(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// Sends only to the leaves in `to`; empty: as above. The other leaves receive nothing, and this
  /// multicast's number is a gap for them. A narrowing numbers the places of the leaves in `to`.
  /// Also fails with kInvalidArgument when a leaf of `to` is not in the stream. A leaf that has
  /// left is not an error, since a leaf may also leave while the multicast is in flight.
  ///
  /// If only these leaves answer, kWaitForAll waits six seconds for the others, as for silent
  /// leaves. So open such a stream with kAsItComes or kTimeOut.
  Result<std::uint64_t> multicast(const wire::Fields& fields, const IntervalSet& to,
                                  Nanos timeout = 10 * kSecond);
  /// Both functions for coroutines; empty `to`: all leaves.
  Awaitable<Result<std::uint64_t>> async_multicast(const wire::Fields& fields,
                                                   const IntervalSet& to, Nanos timeout);
  StreamAccount account() const;
  /// Closes the stream: leaves can no longer send on it, and data in flight is dropped.
  void close();

 private:
  friend class Tree;
  class Impl;
  Stream(std::shared_ptr<Impl> impl, StreamId id) : impl_(std::move(impl)), id_(id) {}
  std::shared_ptr<Impl> impl_;
  StreamId id_{};
};

/// A tree. All functions are thread-safe. One thread of the library serves the links; it receives
/// none of the program's signals.
class Tree {
 public:
  /// Listens, starts the back ends, and waits until all have joined and the tree is placed. If the
  /// caller starts the back ends, returns at once.
  ///
  /// Fails with kInvalidArgument when the shape or a host is invalid, and with kNotFound when a
  /// program cannot be started. Fails with kUnavailable when a back end has ended with an error,
  /// and says which and how. Fails with kTimedOut after `start_limit`, and says what is missing,
  /// and on which hosts.
  static Result<std::unique_ptr<Tree>> start(TreeOptions options);
  /// Closes the tree, as close() with a timeout of 5 s. Must not run in a coroutine that the
  /// library has resumed.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// The variables ("NAME=value") with which a back end finds this tree. They include the key, so
  /// pass them in the back end's environment, never on a command line.
  std::vector<std::string> environment() const;
  /// Waits until `count` leaves are attached and the tree is placed. With 0 it returns at once if
  /// no leaf has joined.
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  /// One line per node: number, role, host, process id, level, parent, leaf, state.
  std::string print() const;
  /// The front end and the living communication processes in MRNet's format. In a file, this is the
  /// shape file:PATH with which TreeOptions::shape starts the same tree again. Fails with
  /// kInvalidArgument when a host's name is invalid in a topology.
  Result<std::string> topology() const;

  /// Opens a stream on every node. Nodes that join later open it when they join, so a stream may be
  /// opened before the first leaf joins.
  ///
  /// Fails with kAlreadyExists when an open stream has this name, and with kTimedOut when a node
  /// does not answer. Fails with kInvalidArgument, kNotFound or kCorrupt when a node, perhaps only
  /// one, refuses the aggregation; the sentence gives host, file and reason.
  Result<Stream> open(const StreamOptions& options, Nanos timeout = 10 * kSecond);

  /// The next event of the tree, in order. If more than 4096 events wait, the oldest are dropped.
  /// After the tree was closed, this returns the remaining events, and then fails with
  /// kUnavailable.
  Result<TreeEvent> next_event(Nanos timeout);
  Awaitable<Result<TreeEvent>> async_next_event(Nanos timeout);

  /// Tells the leaves to deliver their remaining data and to leave, and waits until they have left.
  /// Fails with kTimedOut and lists the leaves that have not. The tree is closed in any case.
  Result<void> close(Nanos timeout);

 private:
  explicit Tree(std::shared_ptr<Stream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Stream::Impl> impl_;
};

}  // namespace xylem::frontend
