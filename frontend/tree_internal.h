#pragma once

// The implementation of Tree and Stream. tree.cc contains start, events and close; tree_calls.cc
// contains the program's other calls.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/awaitable.h"
#include "base/ids.h"
#include "base/shared_state.h"
#include "base/unique_fd.h"
#include "base/waiters.h"
#include "frontend/tree.h"
#include "frontend/tree_node.h"
#include "launch/back_end_launch.h"
#include "net/loop_thread.h"
#include "net/loop_waiters.h"
#include "net/runtime.h"

namespace xylem::frontend {

/// The TreeNode is a member of State. The loop's thread locks State for each event, and the
/// program's threads lock it for each call. Only the loop's thread sends. The destructor of Tree
/// calls stop(). After that all calls of remaining Streams fail.
class Stream::Impl final : public overlay::Node {
 public:
  struct Parts {
    TreeOptions options;
    TreeNodeOptions node;
    net::RuntimeOptions network;
    std::vector<std::string> environment;
  };
  static Result<std::unique_ptr<Parts>> prepare(TreeOptions options);
  explicit Impl(std::unique_ptr<Parts> parts);

  Result<void> start();
  const std::vector<std::string>& environment() const { return parts_->environment; }
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  std::string print() const;
  Result<std::string> topology() const;
  Result<StreamId> open(const StreamOptions& options, Nanos timeout);
  void close_stream(StreamId stream);
  Result<Wave> receive(StreamId stream, Nanos timeout);
  void receive_then(StreamId stream, Nanos timeout, Completion<Result<Wave>> then);
  Result<std::uint64_t> multicast(StreamId stream, const wire::Fields& fields,
                                  const IntervalSet& to, Nanos timeout);
  void multicast_then(StreamId stream, wire::Fields fields, IntervalSet to, Nanos timeout,
                      Completion<Result<std::uint64_t>> then);
  StreamAccount account(StreamId stream) const;
  Result<TreeEvent> next_event(Nanos timeout);
  void next_event_then(Nanos timeout, Completion<Result<TreeEvent>> then);
  Result<void> close(Nanos timeout);
  /// Closes the tree if it is open, and waits for the loop's thread. Stops the program if called on
  /// the loop's thread.
  void stop();

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  // A back end or a launcher that this process has started.
  struct Child {
    std::string host;
    launch::Launched launched;
    // -1 if the system has no pidfds. Then the child's end is noticed only when the tree is closed.
    UniqueFd pidfd;
    bool has_ended = false;
  };

  struct State {
    explicit State(TreeNodeOptions options) : node(std::move(options)) {}
    bool is_closing() const { return closed || stopping; }
    bool has_room_down() const;

    TreeNode node;
    overlay::Network* network = nullptr;  // Set by on_start().
    bool stopping = false;
    bool closed = false;
    std::map<pid_t, Child> children;
    std::vector<launch::BackEndFailure> back_end_failures;  // At most one for each child.
    // Size of the multicasts that were posted to the loop and are not sent yet.
    std::size_t posted_down_bytes = 0;
    std::size_t down_queue_bytes = 0;  // Bytes in the longest queue of a link, as last measured.
    bool watches_down_queue = false;
  };
  using Locked = SharedState<State>::Locked;

  template <typename Event>
  void on_event(const Event& event) {
    auto state = state_.lock();
    event(*state);
    end_when_dissolved(*state);
    state.unlock();
    state.notify();
    try_waiters();
  }
  static void end_when_dissolved(State& state);
  /// Resumes the coroutines whose results are ready. Runs on the loop, without the lock.
  void try_waiters();

  /// Runs `work` on the loop, under the lock, and returns its result. Fails when the tree is
  /// closed.
  template <typename T>
  Result<T> on_loop(const std::function<Result<T>(State&)>& work);
  /// Waits until `done` returns true or the deadline has passed. Returns the last result of `done`.
  /// Does not wait on the loop's thread, because coroutines resume on this thread.
  template <typename Done>
  bool wait_until(Locked& state, Nanos deadline, const Done& done) {
    return thread_.is_current() ? done() : state.wait_until(deadline, done);
  }
  void wait_then(Nanos timeout, Waiters::Attempt attempt);
  std::optional<Wave> take_wave(State& state, StreamId stream);
  Result<std::uint64_t> hand_down(State& state, StreamId stream, const wire::Fields& fields,
                                  const IntervalSet& to);
  void watch_down_queue(State& state);
  Error refused_here(const Error& why) const;
  std::string not_there(const State& state) const;
  Result<void> launch_all();
  static bool collect(State& state, pid_t pid, Child& child);
  void end_children(Nanos deadline);

  std::unique_ptr<Parts> parts_;
  // The whole node is under the lock: each call of the program uses the node's streams and root.
  SharedState<State> state_;
  Waiters waiters_;
  net::EventLoop loop_;
  net::LoopThread thread_;  // The last member, because the thread uses all other members.
};

Error tree_closed();
Error tree_timed_out(const std::string& what);

}  // namespace xylem::frontend
