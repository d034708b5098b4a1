#include "backend/event_source.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "backend/leaf/event_recorder.h"
#include "backend/leaf/joining_internal.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/leaf_node.h"
#include "base/check.h"
#include "net/runtime.h"

namespace xylem::backend {
namespace {

// Packets that the journal has not taken yet.
constexpr std::size_t kOutgoingBytes = 1u << 20;
// Events that are few become visible as soon as those of an agent.
constexpr Nanos kChunkAge = 100 * kMillisecond;
constexpr Nanos kCloseAtEnd = 1 * kSecond;

Error source_closed(const std::string& why) {
  return {Code::kUnavailable, why.empty() ? "the run is over" : "the run is over: " + why};
}

}  // namespace

// The program's thread fills the recorder, the loop's thread carries packets to the journal; they
// meet under the mutex. The node is only touched on the loop.
class EventSource::Impl final : public LeafOwner {
 public:
  Impl(EventSourceOptions options, Joining joining, Journal journal)
      : options_(std::move(options)),
        joining_(std::move(joining)),
        journal_(std::move(journal)),
        node_(joining_.node, journal_, *joining_.starter, *this),
        loop_(node_, std::move(joining_.network)) {}
  ~Impl() override { CHECK(!thread_.joinable()); }

  Result<void> join();
  Result<void> add(const SourceCall& call, Nanos timeout);
  Result<void> close(Nanos timeout);
  void stop();

 private:
  // LeafOwner, on the loop.
  void on_joined(LeafId leaf) override;
  void on_streams(std::vector<LeafStreamState> streams) override;
  bool on_multicast(StreamId, std::uint64_t, wire::Fields) override { return true; }
  void on_room() override { pump(); }
  void on_finish() override;
  void on_closed(const std::string& why) override;
  std::size_t packets_to_put() const override;

  bool wait(std::unique_lock<std::mutex>& lock, Nanos deadline, const std::function<bool()>& done);
  void collect(Nanos now);
  void finish();
  void pump_soon();
  void pump();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<EventRecorder> recorder_;  // Since the front end has given us a place.
  std::deque<Draft> outgoing_;
  std::size_t outgoing_bytes_ = 0;
  Nanos last_chunks_ = 0;
  bool pump_is_posted_ = false;
  bool finished_ = false;  // The last window is made.
  bool closed_ = false;
  std::string why_closed_;

  const EventSourceOptions options_;
  Joining joining_;
  Journal journal_;
  LeafNode node_;
  net::EventLoop loop_;
  std::thread thread_;  // Last: it uses all of the above.
};

bool EventSource::Impl::wait(std::unique_lock<std::mutex>& lock, Nanos deadline,
                             const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline));
  return changed_.wait_until(lock, until, done);
}

Result<void> EventSource::Impl::join() {
  thread_ = std::thread([this] { loop_.run(); });
  std::unique_lock lock(mutex_);
  const bool done = wait(lock, deadline_in(options_.leaf.join_limit),
                         [this] { return recorder_.has_value() || closed_; });
  if (closed_) return unexpected(Code::kPermissionDenied, why_closed_);
  if (!done) return unexpected(Code::kTimedOut, "the front end did not accept this source in time");
  return {};
}

Result<void> EventSource::Impl::add(const SourceCall& call, Nanos timeout) {
  std::unique_lock lock(mutex_);
  const auto may_go_on = [this] {
    return closed_ || finished_ || outgoing_bytes_ < kOutgoingBytes;
  };
  const bool in_time = may_go_on() || wait(lock, deadline_in(timeout), may_go_on);
  if (closed_ || finished_) return unexpected(source_closed(why_closed_));
  if (!in_time)
    return unexpected(Code::kTimedOut, "the front end is too slow: no event was accepted");
  if (auto added = recorder_->add(call); !added) return added;
  collect(monotonic_now());
  return {};
}

// Under the lock: what the recorder has ready goes out.
void EventSource::Impl::collect(Nanos now) {
  if (recorder_->has_pending() && now >= last_chunks_ + kChunkAge) {
    recorder_->make_chunks();
    last_chunks_ = now;
  }
  for (Draft& draft : recorder_->take()) {
    outgoing_bytes_ += draft.packet.payload.size();
    outgoing_.push_back(std::move(draft));
  }
  if (!outgoing_.empty()) pump_soon();
}

// Under the lock.
void EventSource::Impl::finish() {
  if (std::exchange(finished_, true) || !recorder_) return;
  recorder_->finish();
  collect(monotonic_now());
}

void EventSource::Impl::pump_soon() {
  if (std::exchange(pump_is_posted_, true)) return;
  loop_.post([this] { pump(); });
}

// On the loop: into the journal, as far as there is room.
void EventSource::Impl::pump() {
  const std::lock_guard lock(mutex_);
  pump_is_posted_ = false;
  const Nanos now = monotonic_now();
  while (!outgoing_.empty()) {
    const std::size_t bytes = outgoing_.front().packet.payload.size();
    if (!node_.put(std::move(outgoing_.front()), now)) break;
    outgoing_bytes_ -= bytes;
    outgoing_.pop_front();
  }
  changed_.notify_all();
}

Result<void> EventSource::Impl::close(Nanos timeout) {
  const Nanos deadline = deadline_in(timeout);
  std::unique_lock lock(mutex_);
  const bool was_over = finished_;
  if (!closed_) finish();
  lock.unlock();
  loop_.post([this, deadline] {
    pump();
    node_.leave(deadline, monotonic_now());
  });
  lock.lock();
  // The node itself gives up at the deadline, and says what is lost.
  const bool done = wait(lock, std::min(deadline, kForever - kCloseAtEnd) + kCloseAtEnd,
                         [this] { return closed_; });
  if (!done) return unexpected(Code::kTimedOut, "not all events were delivered in time");
  if (!why_closed_.empty()) return unexpected(Code::kTimedOut, why_closed_);
  if (was_over) return unexpected(source_closed(""));
  return {};
}

void EventSource::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ && !thread_.joinable()) return;
  }
  static_cast<void>(close(kCloseAtEnd));
  if (thread_.joinable()) thread_.join();
}

// ---- from the node ----

void EventSource::Impl::on_joined(LeafId leaf) {
  const std::lock_guard lock(mutex_);
  const wire::Control& control = *node_.control();
  recorder_.emplace(options_, leaf, control.window_ns, control.chunks);
  collect(monotonic_now());
  changed_.notify_all();
}

// Told with each new version of control.
void EventSource::Impl::on_streams(std::vector<LeafStreamState>) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  const wire::Control& control = *node_.control();
  recorder_->configure(control.window_ns, control.chunks);
}

void EventSource::Impl::on_finish() {
  {
    const std::lock_guard lock(mutex_);
    finish();
  }
  pump();
  node_.leave(deadline_in(options_.leaf.join_limit), monotonic_now());
}

std::size_t EventSource::Impl::packets_to_put() const {
  const std::lock_guard lock(mutex_);
  return outgoing_.size();
}

void EventSource::Impl::on_closed(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  why_closed_ = why;
  changed_.notify_all();
}

// ---- the public face ----

EventSource::EventSource(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventSource::~EventSource() { impl_->stop(); }

Result<std::unique_ptr<EventSource>> EventSource::join(EventSourceOptions options) {
  if (auto good = EventRecorder::check(options); !good) return unexpected(std::move(good.error()));
  auto joining = prepare_joining(options.leaf);
  if (!joining) return unexpected(std::move(joining.error()));
  options.leaf.name = joining->node.host.name;
  joining->node.host.processes = options.ranks;
  JournalOptions journal_options;
  journal_options.reason = "the source's journal was full";
  journal_options.may_give_up = [](StreamId) { return false; };
  auto journal = Journal::open(joining->memory.bytes(), std::move(journal_options));
  if (!journal) return unexpected(std::move(journal.error()));
  std::unique_ptr<EventSource> source(new EventSource(
      std::make_unique<Impl>(std::move(options), *std::move(joining), *std::move(journal))));
  if (auto joined = source->impl_->join(); !joined) return unexpected(std::move(joined.error()));
  return source;
}

Result<void> EventSource::add(const SourceCall& call, Nanos timeout) {
  return impl_->add(call, timeout);
}
Result<void> EventSource::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::backend
