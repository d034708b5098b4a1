#pragma once

// The implementation of Leaf and LeafStream. leaf.cc makes, joins and closes a leaf;
// leaf_traffic.cc sends and receives.

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backend/leaf.h"
#include "backend/leaf/joining_internal.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/leaf_node.h"
#include "base/awaitable.h"
#include "base/interval_set.h"
#include "base/shared_state.h"
#include "base/waiters.h"
#include "net/loop_thread.h"
#include "net/loop_waiters.h"
#include "net/runtime.h"

namespace xylem::backend {

/// A lock that knows its holder. A signal handler may interrupt a call of the leaf and then call
/// exit(). exit() must not wait for the interrupted call. So take() fails immediately in the thread
/// that has the lock.
class Turn {
 public:
  /// Takes the lock; waits for its current holder until the deadline. Returns false at the
  /// deadline. If this thread already has the lock, returns false immediately.
  bool take(Nanos deadline);
  void give_back() { holder_.store(std::thread::id()); }
  bool is_mine() const { return holder_.load() == std::this_thread::get_id(); }

  /// The constructor takes the lock. If the constructor got the lock, the destructor releases it.
  class Hold {
   public:
    Hold(Turn& turn, Nanos deadline) : turn_(turn), is_taken_(turn.take(deadline)) {}
    ~Hold() {
      if (is_taken_) turn_.give_back();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    explicit operator bool() const { return is_taken_; }

   private:
    Turn& turn_;
    const bool is_taken_;
  };

 private:
  std::atomic<std::thread::id> holder_{};
};

/// The program's calls and the node share the State. Only the event loop uses the node itself. The
/// Leaf calls stop() when it is destroyed. A stream may outlive the Leaf: its calls then fail
/// because the leaf is closed.
class LeafStream::Impl final : public LeafOwner {
 public:
  static Result<std::shared_ptr<Impl>> make(const LeafOptions& options);
  struct Parts {
    Joining joining;
    // Streams whose journalled packets may be given up. The journal reads this set, on the loop.
    std::unique_ptr<std::set<StreamId>> droppable;
    std::optional<Journal> journal;
  };
  Impl(const LeafOptions& options, Parts parts);

  Result<void> join();
  LeafId id() const { return state_.lock()->id.value_or(wire::kNoLeaf); }
  Result<void> wait_for_stream(const std::string& name, Nanos timeout);
  Result<void> send(const std::string& name, std::optional<std::uint64_t> wave,
                    const wire::Fields& fields, Nanos timeout);
  void send_then(const std::string& name, std::optional<std::uint64_t> wave,
                 const wire::Fields& fields, Nanos timeout, Completion<Result<void>> then);
  Result<Received> receive(const std::string& name, Nanos timeout);
  void receive_then(const std::string& name, Nanos timeout, Completion<Result<Received>> then);
  Result<void> flush(Nanos timeout);
  void flush_then(Nanos timeout, Completion<Result<void>> then);
  Result<void> wait_until_closed(Nanos timeout);
  Result<void> close(Nanos timeout);
  void serve(Nanos time);
  /// Closes the leaf if it is open, and waits for the thread to end. A call on that thread is a bug
  /// and stops the program.
  void stop();
  /// True in a child of fork(), and after exit() could not stop the leaf. In these two cases, the
  /// members must not be used.
  bool is_left() const;
  /// Makes exit() stop the leaf, if it still exists.
  static void close_at_exit(const std::shared_ptr<Impl>& leaf);

 private:
  /// Consecutive waves that the loop has not put into the journal yet.
  struct Run {
    std::uint64_t first = 0;
    std::vector<wire::Fields> waves;
    std::size_t bytes = 0;
  };
  struct Open {
    LeafStreamState state;
    std::uint64_t next_wave = 0;
    std::uint64_t sent = 0;       // Number of waves accepted from the program.
    std::uint64_t sent_told = 0;  // `sent` in the last account; used only on the loop.
    std::deque<Run> outgoing;
    std::size_t outgoing_bytes = 0;
    IntervalSet refused;  // Waves that were dropped before they reached the loop.
    // Dropped waves whose tombstones are not journalled yet; used only on the loop.
    IntervalSet lost;
    bool is_put() const { return outgoing.empty() && refused.empty() && lost.empty(); }
  };
  struct State {
    Open* find(const std::string& name);
    /// True if send() need not wait: there is room for a wave, the stream drops waves instead of
    /// waiting, or the stream is closed.
    bool has_room(const std::string& name);
    /// True if the leaf and the stream are open. An empty name means any stream.
    bool is_open(const std::string& name);
    std::optional<Received> take_received(const std::string& name);
    Error why_not_received(const std::string& name);
    Result<void> delivery_outcome() const;
    bool owes_last_account() const;

    std::optional<LeafId> id;  // Set when the front end has assigned a place.
    std::map<StreamId, Open> streams;
    bool streams_fixed = false;  // The streams belong to a run; no others will be opened.
    std::deque<Received> received;
    std::size_t received_bytes = 0;
    bool pump_is_posted = false;
    Nanos last_pump = 0;
    bool last_account_is_put = false;
    bool delivered = true;
    bool leaving = false;
    bool closed = false;
    bool key_refused = false;  // True if the leaf was closed because its key was refused.
    std::string why_closed;
  };
  using Locked = SharedState<State>::Locked;

  Result<void> start();
  bool is_of_parent() const;
  using Living = SharedState<std::vector<std::weak_ptr<Impl>>>;
  static Living& living();
  static void close_all();
  /// Stops the leaf at exit(). Returns false if that is not possible: on the leaf's own thread, if
  /// exit() has interrupted a call of the leaf, or if a call on another thread does not end in
  /// time.
  bool end_at_exit();
  bool may_be_entered();
  void leave(Nanos deadline);

  // Functions of LeafOwner, called on the loop.
  void on_joined(LeafId leaf) override;
  void on_streams(std::vector<LeafStreamState> streams) override;
  bool on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) override;
  void on_room() override;
  void on_finish() override;
  void on_closed(const std::string& why) override;
  std::size_t packets_to_put() const override;

  /// Waits until `done()` or the deadline, and returns `done()`. On the library's own thread, where
  /// coroutines resume, it does not wait.
  bool wait(Locked& state, Nanos deadline, const std::function<bool()>& done);
  /// Tries `attempt` immediately. If that fails, tries it again on the loop after the events that
  /// may help, and for the last time at the timeout or when the leaf is closed.
  void wait_then(Nanos timeout, Waiters::Attempt attempt);
  /// With Threading::kCaller: calls pump() and runs the loop until `done` or the deadline. If
  /// another thread runs the loop, waits for it, at most until the deadline. Does nothing when
  /// called from within the loop.
  void run_loop(const std::function<bool()>& done, Nanos deadline);
  Result<wire::Fields> lift(const std::string& name, const wire::Fields& fields);
  Result<void> take_over(State& state, const std::string& name, std::optional<std::uint64_t> wave,
                         wire::Fields lifted, bool in_time);
  void enqueue(State& state, Open& open, std::uint64_t wave, wire::Fields fields) const;
  /// Makes room in the full queue of a stream that drops waves: drops the new wave, or the oldest
  /// waves of the queue. Returns true if it dropped the new wave.
  static bool drop_one(Open& open, std::uint64_t wave);
  void pump_soon(State& state);
  void pump();
  /// Maximum size of the fields of one wave, or of one `Run`.
  std::size_t max_bytes() const;
  bool put(StreamId stream, Open& open, const Run& run);
  void put_lost(StreamId stream, Open& open);
  void put_account(Locked& state, Nanos now);
  bool is_on_own_thread() const {
    return options_.threading == Threading::kOwnThread && in_loop_.is_mine();
  }

  // A function that needs both locks takes `stopping_` first. The thread that starts or ends the
  // library's thread has `stopping_`. The thread that runs the loop has `in_loop_`. With
  // Threading::kOwnThread, the library's thread has `in_loop_` until that thread ends.
  Turn stopping_;
  Turn in_loop_;
  std::atomic<bool> is_left_{false};
  SharedState<State> state_;
  Waiters waiters_;
  // Number of accounts written to the journal so far. This member and the next one are used only on
  // the loop.
  std::uint64_t accounts_ = 0;
  Nanos last_account_ = 0;

  const LeafOptions options_;
  pid_t owner_pid_ = -1;
  Parts parts_;
  LeafNode node_;
  net::EventLoop loop_;
  net::LoopThread thread_;  // The last member, because it uses all members above.
};

Error leaf_closed(const std::string& why);
Error leaf_timed_out(const std::string& what);

}  // namespace xylem::backend
