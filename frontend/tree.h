#pragma once

// The front end of a tree, in any program: starts the tree or waits for its leaves, opens streams,
// receives what they bring, sends down.
//
//   auto tree = Tree::start({.hosts = {"n1", "n2"}, .back_end = {"/opt/tool/leaf"}});
//   auto sum = (*tree)->open({.name = "sum", .aggregation = "sum"});
//   auto wave = sum->receive(10 * kSecond);
//
// Leaves are programs that use backend/leaf.h. What they send arrives exactly once, whatever node
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
  /// Where back ends are started; empty: on this host.
  std::vector<std::string> hosts{};
  /// Program and arguments; empty: others start back ends, with environment().
  std::vector<std::string> back_end{};
  std::size_t back_ends_per_host = 1;
  /// The tree is placed when so many are there; 0: all that are started here, or, when others start
  /// them, `settle` after the last one.
  std::size_t expected = 0;
  Nanos settle = 2 * kSecond;
  /// "LAUNCHER HOST COMMAND..." runs a command on a host; empty: here directly, elsewhere by ssh,
  /// which must not need a password. One that fails makes start() fail at once, with what it said.
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
  /// Of each stream, for waves that were not yet received; beyond, leaves are not acknowledged and
  /// stop sending.
  std::size_t queue_bytes = 16u << 20;
  /// Back ends that are not there by then make start() fail; communication processes are done
  /// without.
  Nanos start_limit = 30 * kSecond;
  /// A leaf that is not heard of for so long counts as lost. (Waves do not wait for it that long.)
  Nanos lost_limit = 10 * kSecond;
};

/// When a node passes on a wave.
enum class Synchronisation {
  kWaitForAll,  ///< Every leaf below has contributed; a silent one is not awaited for ever.
  kTimeOut,     ///< The same, or `time_out` after the first contribution.
  kAsItComes,   ///< At once.
};

/// What a leaf does when what it keeps for the tree has reached its bound.
enum class WhenFull { kBlock, kDropOldest, kDropNewest };

struct StreamOptions {
  std::string name{};    ///< By which leaves find it; unique among open streams.
  IntervalSet leaves{};  ///< Empty: all, also those that join later.
  Synchronisation synchronisation = Synchronisation::kWaitForAll;
  Nanos time_out = 100 * kMillisecond;  ///< For kTimeOut.
  /// "sum", "histogram", ... (docs/filters.md); empty: every leaf's waves come as they are.
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
    kJoined,  ///< A leaf is there.
    kLeft,    ///< It has delivered all and left.
    kLost,    ///< Its host was not heard of for too long.
    kFound,   ///< It was heard of again.
    kHealed,  ///< A node has found another parent by itself.
    kGap,     ///< A leaf missed multicasts: `text` says which.
    kNotice,  ///< A process of the tree has logged a warning or an error.
    kClosed,  ///< A stream that was open was closed, or the tree: `text` says which. The tree's is
              ///< the last event, and its streams are closed with it.
  };
  Kind kind{};
  LeafId leaf{};  ///< 0xffffffff where no leaf is concerned.
  std::string host;
  std::string text;  ///< For people.
};

class Tree;

/// A stream as the front end sees it. A name for it: cheap to copy; closed when the Tree is gone.
/// Thread-safe. Fails with kUnavailable when the tree or the stream is closed, kTimedOut at its
/// time-out (ns from now; the largest number is never). Coroutines go on on the library's thread:
/// there nothing waits, every time-out is as if it were 0.
class Stream {
 public:
  /// The next wave. Waves of one stream come in the order in which they are complete.
  Result<Wave> receive(Nanos timeout);
  Awaitable<Result<Wave>> async_receive(Nanos timeout);
  /// To all leaves of the stream. Returns the multicast's number, from 1, when it is taken over;
  /// waits while more than 8 MiB are on their way to the next nodes. Fails with kInvalidArgument on
  /// more than a frame takes (16 MiB), and on fields that the stream's narrowing does not take: it
  /// is tried for the first leaf. Where it fails later, for another leaf, the events say so: kGap
  /// for that leaf and number, and once a kNotice with host and reason.
  ///
  /// With a narrowing it is for the leaves of the stream that have joined and have neither left nor
  /// been lost at this moment, and their places are counted among these (filters/narrowing.h).
  Result<std::uint64_t> multicast(const wire::Fields& fields, Nanos timeout = 10 * kSecond);
  /// To those leaves of the stream alone; a narrowing counts places among them. The others see
  /// nothing of it and miss nothing: numbers count for the stream, so theirs have gaps. Empty: as
  /// above. Fails with kInvalidArgument too when one of them is not of the stream. One that has
  /// left is no failure: it may have left while this was on its way.
  ///
  /// Where only some answer, kWaitForAll waits for the others as for silent leaves, six seconds:
  /// such a stream is better opened with kAsItComes or kTimeOut.
  Result<std::uint64_t> multicast(const wire::Fields& fields, const IntervalSet& to,
                                  Nanos timeout = 10 * kSecond);
  /// Either of them for coroutines.
  Awaitable<Result<std::uint64_t>> async_multicast(const wire::Fields& fields,
                                                   const IntervalSet& to, Nanos timeout);
  StreamAccount account() const;
  /// Leaves can send no more on it; what is on its way is dropped.
  void close();

 private:
  friend class Tree;
  class Impl;
  Stream(std::shared_ptr<Impl> impl, StreamId id) : impl_(std::move(impl)), id_(id) {}
  std::shared_ptr<Impl> impl_;
  StreamId id_{};
};

/// One thread of the library serves the links. All functions are thread-safe.
class Tree {
 public:
  /// Listens, starts the back ends if that is asked for, waits until all are there and the tree is
  /// placed; returns at once when others start them. Fails with kInvalidArgument (shape, host),
  /// kNotFound (a program), kUnavailable (a back end ended badly: which and how), kTimedOut (says
  /// what is missing, and on which hosts).
  static Result<std::unique_ptr<Tree>> start(TreeOptions options);
  /// Closes, with five seconds to dissolve. Not in a coroutine that the library resumed.
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// "NAME=value": with these a back end finds this tree. One of them is the key: pass them to the
  /// back end's environment, never to a command line.
  std::vector<std::string> environment() const;
  /// Waits until so many leaves are attached and the tree is placed. None: returns at once while
  /// nobody has joined.
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  /// One line per node: number, what it is, host, process id, level, below whom, leaf, state.
  std::string print() const;
  /// The front end and the communication processes that live, in MRNet's format: what
  /// TreeOptions::shape reads as file:PATH, to start the same tree again. Fails with
  /// kInvalidArgument when a host's name cannot stand there.
  Result<std::string> topology() const;

  /// Opens a stream on every node that is there; those that come later learn of it when they come,
  /// so it may be opened before the first leaf. Fails with kAlreadyExists (the name),
  /// kInvalidArgument, kNotFound, kCorrupt (the aggregation, with host, file and reason; also when
  /// just one node refuses it), kTimedOut (a node did not answer).
  Result<Stream> open(const StreamOptions& options, Nanos timeout = 10 * kSecond);

  /// What has happened to the tree since the last call, in order; the oldest are dropped beyond
  /// 4096. What happened before it was closed can be taken after that; then kUnavailable.
  Result<TreeEvent> next_event(Nanos timeout);
  Awaitable<Result<TreeEvent>> async_next_event(Nanos timeout);

  /// Tells the leaves to deliver what is left and to leave, and waits. Fails with kTimedOut and
  /// names the leaves that did not; nothing of the tree remains in any case.
  Result<void> close(Nanos timeout);

 private:
  explicit Tree(std::shared_ptr<Stream::Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Stream::Impl> impl_;
};

}  // namespace xylem::frontend
