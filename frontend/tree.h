#pragma once

// The front end of a tree, in any program: starts the tree or waits for its leaves, opens streams,
// receives waves and sends multicasts.
//
//   auto tree = Tree::start({.hosts = {"n1", "n2"}, .back_end = {"/opt/tool/leaf"}});
//   auto sum = (*tree)->open({.name = "sum", .aggregation = "sum"});
//   auto wave = sum->receive(10 * kSecond);
//
// Leaves are programs that use backend/leaf.h. Their waves arrive exactly once, whichever node
// between dies.

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
  /// kary:K, flat, balanced:DxF, binomial:N, file:PATH (MRNet's format).
  std::string shape = "kary:16";
  /// Hosts on which to start back ends; empty: this host.
  std::vector<std::string> hosts{};
  /// Program and arguments; empty: the caller starts back ends, with environment().
  std::vector<std::string> back_end{};
  std::size_t back_ends_per_host = 1;
  /// Number of back ends at which the tree is placed; 0: all that are started here, or, if the
  /// caller starts them, `settle` after the last one.
  std::size_t expected = 0;
  Nanos settle = 2 * kSecond;
  /// "LAUNCHER HOST COMMAND..." runs a command on a host; empty: here directly, elsewhere by ssh,
  /// which must not need a password. If it fails, start() fails at once with its output.
  std::string launcher{};
  /// Numeric address to listen on; empty: loopback when all hosts are this one, else any.
  std::string listen{};
  /// Absolute path of xylem-commproc, the same on all hosts; the installed packages define it.
#ifdef XYLEM_COMM_PROCESS
  std::string comm_process = XYLEM_COMM_PROCESS;
#else
  std::string comm_process{};
#endif
  bool tls = true;
  /// Maximum size of unreceived waves for each stream. Beyond it waves are not acknowledged, so
  /// leaves stop sending.
  std::size_t queue_bytes = 16u << 20;
  /// If a back end has not joined after this, start() fails. The tree does without communication
  /// processes that have not.
  Nanos start_limit = 30 * kSecond;
  /// A leaf that is silent for this long counts as lost. (Waves do not wait for it that long.)
  Nanos lost_limit = 10 * kSecond;
};

/// When a node passes on a wave.
enum class Synchronisation {
  kWaitForAll,  ///< When every leaf below has contributed; a limit applies to silent ones.
  kTimeOut,     ///< The same, or `time_out` after the first contribution.
  kAsItComes,   ///< At once.
};

/// What a leaf does when its journal is full.
enum class WhenFull { kBlock, kDropOldest, kDropNewest };

struct StreamOptions {
  std::string name{};    ///< Leaves find it by name; unique among open streams.
  IntervalSet leaves{};  ///< Empty: all, also those that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out = 100 * kMillisecond;  ///< For kTimeOut.
  /// "sum", "histogram", ... (docs/filters.md); empty: every leaf's waves are delivered unchanged.
  std::string aggregation{};
  wire::Fields parameters{};
  std::string plugin{};  ///< Absolute path of the shared object that has the aggregation.
  /// What each leaf gets of a multicast: "scatter", ... (docs/filters.md); empty: all of it.
  std::string narrowing{};
  wire::Fields narrowing_parameters{};
  std::string narrowing_plugin{};  ///< As `plugin`.
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
    kLeft,    ///< It has delivered all data and left.
    kLost,    ///< It was silent for too long.
    kFound,   ///< A lost leaf was seen again.
    kHealed,  ///< A node has reconnected to another parent.
    kGap,     ///< A leaf missed multicasts: `text` says which.
    kNotice,  ///< A process of the tree has logged a warning or an error.
    kClosed,  ///< A stream that was open was closed, or the tree: `text` says which. The tree's is
              ///< the last event, and its streams are closed with it.
  };
  Kind kind{};
  LeafId leaf{};  ///< 0xffffffff if the event is not about a leaf.
  std::string host;
  std::string text;  ///< For people.
};

class Tree;

/// The front end's handle of a stream: cheap to copy; closed when the Tree is destroyed.
/// Thread-safe. Calls fail with kUnavailable when the tree or the stream is closed, and with
/// kTimedOut after their timeout (ns from now; the largest number means none). Coroutines resume on
/// the library's thread, on which no call waits: every timeout counts as 0.
class Stream {
 public:
  /// The next wave. Waves of one stream arrive in the order in which they are completed.
  Result<Wave> receive(Nanos timeout);
  Awaitable<Result<Wave>> async_receive(Nanos timeout);
  /// Sends to all leaves of the stream. Returns the multicast's number, from 1, when it is queued;
  /// waits while more than 8 MiB are in flight to the next nodes. Fails with kInvalidArgument if it
  /// exceeds a frame (16 MiB) or if the stream's narrowing refuses the fields for the first leaf.
  /// If the narrowing fails later for another leaf, there is a kGap event for that leaf and number,
  /// and one kNotice with host and reason.
  ///
  /// With a narrowing, the recipients are the stream's leaves that have joined and have neither
  /// left nor been lost at this moment; places count among these (filters/narrowing.h).
  Result<std::uint64_t> multicast(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// Sends only to the leaves in `to`; a narrowing counts places among them. The other leaves
  /// receive nothing, and the number is a gap for them. Empty: as above. Also fails with
  /// kInvalidArgument when one of them is not in the stream. A leaf that has left is not an error,
  /// since it may leave while the multicast is in flight.
  ///
  /// If only some leaves answer, kWaitForAll waits six seconds for the others, as for silent
  /// leaves: open such a stream with kAsItComes or kTimeOut.
  Result<std::uint64_t> multicast(const wire::Fields& fields, const IntervalSet& to,
                                  Nanos timeout = 10 * kSecond);
  /// Both for coroutines.
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

/// One thread of the library serves the links. It gets none of the program's signals. All functions
/// are thread-safe.
class Tree {
 public:
  /// Listens, starts the back ends if requested, and waits until all have joined and the tree is
  /// placed. Returns at once if the caller starts them. Fails with kInvalidArgument (shape, host),
  /// kNotFound (a program), kUnavailable (a back end ended with an error: which and how), kTimedOut
  /// (says what is missing, and on which hosts).
  static Result<std::unique_ptr<Tree>> start(TreeOptions options);
  /// Closes, with a limit of 5 s. Must not run in a coroutine that the library resumed.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// The variables ("NAME=value") with which a back end finds this tree. One of them is the key:
  /// pass them in the back end's environment, never on a command line.
  std::vector<std::string> environment() const;
  /// Waits until `count` leaves are attached and the tree is placed. 0: returns at once if no leaf
  /// has joined.
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  /// One line per node: number, role, host, process id, level, parent, leaf, state.
  std::string print() const;
  /// The front end and the living communication processes in MRNet's format. TreeOptions::shape can
  /// read it as file:PATH, to start the same tree again. Fails with kInvalidArgument when a host's
  /// name is invalid in a topology.
  Result<std::string> topology() const;

  /// Opens a stream on every node. Nodes that join later get it when they join, so it may be opened
  /// before the first leaf joins. Fails with kAlreadyExists (the name), kInvalidArgument,
  /// kNotFound, kCorrupt (the aggregation, with host, file and reason; also if only one node
  /// refuses it), kTimedOut (a node did not answer).
  Result<Stream> open(const StreamOptions& options, Nanos timeout = 10 * kSecond);

  /// The next event of the tree, in order. Beyond 4096 the oldest are dropped. Events from before
  /// the tree was closed can be taken afterwards; then it fails with kUnavailable.
  Result<TreeEvent> next_event(Nanos timeout);
  Awaitable<Result<TreeEvent>> async_next_event(Nanos timeout);

  /// Tells the leaves to deliver the rest and to leave, and waits. Fails with kTimedOut and names
  /// the leaves that did not; the tree is closed in any case.
  Result<void> close(Nanos timeout);

 private:
  explicit Tree(std::shared_ptr<Stream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Stream::Impl> impl_;
};

}  // namespace xylem::frontend
