#pragma once

// What is behind Leaf and LeafStream: leaf.cc makes, joins and closes it, leaf_traffic.cc sends and
// receives.

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

/// One thread's at a time, and it is known whose: where the handler of a signal calls exit(), that
/// must not wait for the call which the handler interrupts.
class Turn {
 public:
  /// Waits for other threads until the deadline. False then, and at once when this thread has it.
  bool take(Nanos deadline);
  void give_back() { holder_.store(std::thread::id()); }
  bool is_mine() const { return holder_.load() == std::this_thread::get_id(); }

  /// Takes it and, if so, gives it back.
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

/// Calls of the program and of the node meet in State. The node itself is only touched on the loop.
/// The owner of the Leaf calls stop(); streams that outlive it find everything closed.
class LeafStream::Impl final : public LeafOwner {
 public:
  static Result<std::shared_ptr<Impl>> make(const LeafOptions& options);
  struct Parts {
    Joining joining;
    // Streams whose packets may be given up; the journal asks, on the loop.
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
  /// Closes what is not closed and waits for the thread. Stops the program when called on it.
  void stop();
  /// True in a child of fork(), and where exit() could not stop it: nothing of it may be touched.
  bool is_left() const;
  /// From now on exit() stops it, if it lives then.
  static void close_at_exit(const std::shared_ptr<Impl>& leaf);

 private:
  struct Run {
    std::uint64_t first = 0;
    std::vector<wire::Fields> waves;
    std::size_t bytes = 0;
  };
  struct Open {
    LeafStreamState state;
    std::uint64_t next_wave = 0;
    std::uint64_t sent = 0;       // Waves that were taken over.
    std::uint64_t sent_told = 0;  // The same in the last account; only touched on the loop.
    std::deque<Run> outgoing;
    std::size_t outgoing_bytes = 0;
    IntervalSet refused;  // Given up before the loop saw them.
    IntervalSet lost;     // Given up, and that is not journalled yet; only touched on the loop.
    bool is_put() const { return outgoing.empty() && refused.empty() && lost.empty(); }
  };
  struct State {
    Open* find(const std::string& name);
    /// A wave of the stream can be taken over, or never will be.
    bool has_room(const std::string& name);
    std::optional<Received> take_received(const std::string& name);
    Result<void> delivery_outcome() const;
    bool owes_last_account() const;

    std::optional<LeafId> id;  // Since the front end has given us a place.
    std::map<StreamId, Open> streams;
    bool streams_fixed = false;  // Those of a run: no others will be opened.
    std::deque<Received> received;
    std::size_t received_bytes = 0;
    bool pump_is_posted = false;
    Nanos last_pump = 0;
    bool last_account_is_put = false;
    bool delivered = true;
    bool leaving = false;
    bool closed = false;
    std::string why_closed;
  };
  using Locked = SharedState<State>::Locked;

  Result<void> start();
  bool is_of_parent() const;
  using Living = SharedState<std::vector<std::weak_ptr<Impl>>>;
  static Living& living();
  static void close_all();
  /// False where it cannot be: on its own thread, or where exit() has interrupted a call of it.
  bool end_at_exit();
  bool may_be_entered();
  void leave(Nanos deadline);

  // LeafOwner, on the loop.
  void on_joined(LeafId leaf) override;
  void on_streams(std::vector<LeafStreamState> streams) override;
  bool on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) override;
  void on_room() override;
  void on_finish() override;
  void on_closed(const std::string& why) override;
  std::size_t packets_to_put() const override;

  /// Until `done` or the deadline, and whether it is done. On our own thread, where coroutines go
  /// on, there is nobody to wait for: it only looks.
  bool wait(Locked& state, Nanos deadline, const std::function<bool()>& done);
  /// Tries at once, then on the loop: after each event, and for the last time at the timeout.
  void wait_then(Nanos timeout, Waiters::Attempt attempt);
  /// Under Threading::kCaller: pumps, and runs the loop until `done` or the deadline. Does neither
  /// while another thread does, or when it is called from within.
  void run_loop(const std::function<bool()>& done, Nanos deadline);
  Result<wire::Fields> lift(const std::string& name, const wire::Fields& fields);
  Result<void> take_over(State& state, const std::string& name, std::optional<std::uint64_t> wave,
                         wire::Fields lifted, bool in_time);
  void enqueue(State& state, Open& open, std::uint64_t wave, wire::Fields fields) const;
  /// Where a stream that drops has waiting what it may: one wave or run less. True: it was the new
  /// wave.
  static bool drop_one(Open& open, std::uint64_t wave);
  void pump_soon(State& state);
  void pump();
  /// What the fields of a wave or of a run may take at most, so that the journal can hold it.
  std::size_t most_bytes() const;
  bool put(StreamId stream, Open& open, const Run& run);
  void put_lost(StreamId stream, Open& open);
  void put_account(Locked& state, Nanos now);
  bool is_on_own_thread() const {
    return options_.threading == Threading::kOwnThread && in_loop_.is_mine();
  }

  // In this order: who starts or ends our thread; who runs the loop, our thread until it ends.
  Turn stopping_;
  Turn in_loop_;
  std::atomic<bool> is_left_{false};
  SharedState<State> state_;
  Waiters waiters_;
  std::uint64_t accounts_ = 0;  // Put so far; only touched on the loop, as the next.
  Nanos last_account_ = 0;

  const LeafOptions options_;
  pid_t owner_pid_ = -1;
  Parts parts_;
  LeafNode node_;
  net::EventLoop loop_;
  net::LoopThread thread_;  // Last: it uses all of the above.
};

Error leaf_closed(const std::string& why);
Error leaf_timed_out(const std::string& what);

}  // namespace xylem::backend
