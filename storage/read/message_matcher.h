#pragma once

// Pairs the send and the receive of each message, by the numbers that the capture library gives to
// messages (wire::kEventNumbered).
//
// A message is known by its world, communicator, source, destination, tag and number. Nothing is
// guessed: a half without a number is never paired. A send whose destination is unknown or in
// another world has no flag wire::kEventSend, so it is not a message here.
//
// The matcher keeps only halves whose other half it has not seen, and receives that are posted. It
// gives up a receive when all sends that could belong to it have been read (see promise()). A send
// is kept until the end, because nobody knows when its receive is completed.
//
// If two threads of a rank send on the same channel at overlapping times, the order in which MPI
// numbered their messages is not known. The matcher then treats both messages as ambiguous: it
// reports them and does not pair them. The same holds for two threads that receive. This is checked
// for messages with consecutive numbers, in ranks that expect_threads() names. It takes the call
// that posted a receive if the matcher knows this call, else the call that received. Two receives
// that are posted at overlapping times but are completed one after the other are not noticed.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory_resource>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "storage/read/message_key.h"
#include "wire/chunk.h"

namespace xylem::storage {

/// Number of a process, in the order of add_process().
enum class ProcessIndex : std::uint32_t {};

/// Clocks of hosts are assumed to differ by less than this.
constexpr Nanos kClockSlack = 1 * kSecond;

/// The send or the receive of a message. Times are those of the call: of the call that sent, or of
/// the call that received or completed the receive.
struct MessageHalf {
  Nanos begin_ns = 0, end_ns = 0;
  /// When and by which thread the receive was posted: the begin of the call that received, or of
  /// the MPI_Irecv, MPI_Imrecv or MPI_Start. nullopt for sends, and if that call is not known.
  std::optional<Nanos> posted_ns;
  std::uint64_t bytes = 0;
  std::uint64_t call = 0;  ///< The caller's own number of the call, see MessageMatcher::add().
  ProcessIndex process{};
  WorldId world{};
  CommId comm = wire::kNoComm;
  Rank source{}, destination{};
  std::int32_t tag = wire::kNoTag;
  std::uint32_t number = 0;  ///< Meaningless if `is_numbered` is false.
  ThreadIndex thread{}, posting_thread{};
  FunctionId function{};
  bool is_send = false;
  bool is_numbered = false;
};

/// Why a half has no pair.
enum class Unmatched : std::uint8_t {
  kNotReceived,  ///< A send. Its receive was not completed, or the event of the receive is missing.
  kNotSent,      ///< A receive. The event of its send is missing.
  kNoNumber,     ///< The event has no number.
  kAmbiguous,    ///< Two threads used the channel at overlapping times, see above.
};
constexpr std::size_t kUnmatchedReasons = 4;

/// Receives the results. Each half is reported exactly once, in a pair or alone. All functions are
/// called within functions of the matcher. They must not call the matcher.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  virtual void pair(const MessageHalf& send, const MessageHalf& receive) = 0;
  virtual void unmatched(const MessageHalf& half, Unmatched reason) = 0;
};

/// Add all processes first. Then add events: the events of a process in the order of their records,
/// those of different processes in any order. Call finish() at the end. To limit the memory, add
/// the events of all processes in the order of time, and call promise() now and then. Each index
/// must come from add_process(): this is not checked, and another index is undefined behaviour. Not
/// thread-safe. Borrows the sink.
class MessageMatcher {
 public:
  explicit MessageMatcher(MessageSink& sink) : sink_(sink) {}

  /// Adds a process. Its index is the number of processes that were added before. If a rank is
  /// added again, both processes exist, and find() returns the later one. Their messages have the
  /// same numbers: while a half of one process has no pair, the same half of the other process is
  /// reported as ambiguous.
  ProcessIndex add_process(WorldId world, Rank rank);
  /// Several threads of the process may send or receive. Call it before the first event.
  void expect_threads(ProcessIndex process) { processes_[raw(process)].has_threads = true; }

  /// Takes an event of process `index`. Events without payload are ignored, except for those that
  /// post a receive (`posts`: MPI_Irecv, MPI_Imrecv, MPI_Start). `call` is reported with the half.
  void add(ProcessIndex index, const wire::Event& event, bool posts, std::uint64_t call = 0);

  /// Promises that no later event of process `index` begins before `begin`. Promises may only grow.
  void promise(ProcessIndex index, Nanos begin);
  Nanos promised(ProcessIndex process) const { return processes_[raw(process)].promised; }

  /// Reports all halves that are left. Call it once.
  void finish();

  /// True if a receive is posted and not completed, and was posted from `begin` to `end`.
  bool has_posted(ProcessIndex process, Nanos begin, Nanos end) const;
  /// The process with this rank; nullopt if it is unknown.
  std::optional<ProcessIndex> find(WorldId world, Rank rank) const;
  /// Number of halves and posted receives in memory.
  std::size_t in_flight() const;

 private:
  static constexpr std::size_t kMaxPosts = 1u << 15;

  struct Kept {
    MessageHalf half;
    bool is_ambiguous = false;
  };
  // A half of a process with several threads, until its neighbours are known.
  struct Held {
    MessageHalf half;
    Nanos begin_ns = 0, end_ns = 0;  // When its number was taken.
    ThreadIndex thread{};
    bool is_ambiguous = false;
  };
  struct Post {
    Nanos begin_ns = 0, end_ns = 0;
    ThreadIndex thread{};
  };
  struct Awaited {
    MessageKey key;
    Nanos end_ns = 0;
  };
  struct Process {
    WorldId world{};
    Rank rank{};
    bool has_threads = false;
    Nanos promised = std::numeric_limits<Nanos>::min();
    // By request. Completions may be lost, so their number has a limit.
    std::unordered_map<std::uint64_t, Post> posts;
    std::deque<Awaited> awaited;  // Receives that wait for sends of this process.
    std::map<std::pair<bool, MessageKey>, Held> held;  // By side and message.
  };
  static MessageKey key_of(const MessageHalf& half);
  static std::uint64_t both(std::uint32_t high, std::uint32_t low) {
    return std::uint64_t{high} << 32 | low;
  }
  void take(Process& process, const MessageHalf& half, const Post& numbered_in);
  void hold(Process& process, const MessageHalf& half, const Post& numbered_in);
  void release(Process& process, Nanos before);
  void match(const MessageHalf& half, bool is_ambiguous);
  void give_up(Process& process);

  MessageSink& sink_;
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::unordered_map<MessageKey, Kept, MessageKeyHash> kept_{&pool_};
  std::vector<Process> processes_;
  std::unordered_map<std::uint64_t, ProcessIndex> by_rank_;
};

}  // namespace xylem::storage
