#pragma once

// What is behind Tree and Stream: tree.cc starts and closes it, tree_calls.cc has what a program
// calls meanwhile.

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/awaitable.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "frontend/tree.h"
#include "frontend/tree_node.h"
#include "frontend/waiters.h"
#include "launch/back_end_launch.h"
#include "net/runtime.h"

namespace xylem::frontend {

/// The node under a lock: the loop's thread takes it for each event, the program for each call.
/// What sends is done on the loop. Whoever holds the Tree calls stop(); names that outlive it find
/// everything closed.
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
  ~Impl() override { CHECK(!thread_.joinable()); }

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
  /// Closes what is not closed and waits for the thread. Stops the program when called on it.
  void stop();

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  // A back end, or a launcher, that was started here.
  struct Child {
    std::string host;
    launch::Launched launched;
    UniqueFd pidfd;  // -1: where the system has none its end is seen when the tree is closed.
    bool has_ended = false;
  };

  template <typename Event>
  void on_event(const Event& event) {
    {
      const std::lock_guard lock(mutex_);
      event();
      note_event();
    }
    changed_.notify_all();
    try_waiters();
  }
  void note_event();
  void try_waiters();
  void arm_waiters_timer();

  /// Runs `work` on the loop, under the lock, and gives its outcome. Fails when the tree is closed.
  template <typename T>
  Result<T> on_loop(const std::function<Result<T>()>& work);
  /// Until `done` or the deadline, and whether it is done. On the loop's thread, where coroutines
  /// go on, there is nobody to wait for: it only looks.
  bool wait_until(std::unique_lock<std::mutex>& lock, Nanos deadline,
                  const std::function<bool()>& done);
  void wait_then(Nanos timeout, Waiters::Attempt attempt);
  bool is_on_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }
  std::optional<Wave> take_wave(StreamId stream);
  bool has_room_down() const;
  Result<std::uint64_t> hand_down(StreamId stream, const wire::Fields& fields,
                                  const IntervalSet& to);
  void watch_down_queue();
  Error refused_here(const Error& why) const;
  std::string not_there() const;
  Result<void> launch_all();
  bool collect(pid_t pid, Child& child);
  void end_children(Nanos deadline);

  std::unique_ptr<Parts> parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TreeNode node_;
  Waiters waiters_;  // Of the loop alone: it needs no lock.
  bool stopping_ = false;
  bool closed_ = false;
  std::map<pid_t, Child> children_;
  std::vector<launch::BackEndFailure> back_end_failures_;  // At most one a child.
  std::size_t posted_down_bytes_ = 0;                      // Multicasts on their way to the loop,
  std::size_t down_queue_bytes_ = 0;  // and on the fullest link, when it was last looked at.
  bool watches_down_queue_ = false;
  overlay::Network* network_ = nullptr;  // From on_start() on.
  net::EventLoop loop_;
  std::thread thread_;  // Last: it uses all of the above.
};

Error tree_closed();
Error tree_timed_out(const std::string& what);

}  // namespace xylem::frontend
