#include "backend/event_source.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "backend/leaf/event_recorder.h"
#include "backend/leaf/joining_internal.h"
#include "backend/leaf/journal.h"
#include "backend/leaf/leaf_node.h"
#include "base/shared_state.h"
#include "net/loop_thread.h"
#include "net/runtime.h"

namespace xylem::backend {
namespace {

// Packets that the journal has not taken yet.
constexpr std::size_t kOutgoingBytes = 1u << 20;
// Interval after which waiting events are sent, as in an agent.
constexpr Nanos kChunkAge = 100 * kMillisecond;
constexpr Nanos kCloseAtEnd = 1 * kSecond;

Error source_closed(const std::string& why) {
  return {Code::kUnavailable, why.empty() ? "the run is over" : "the run is over: " + why};
}

}  // namespace

// The program's thread fills the recorder. The loop's thread moves packets to the journal. The two
// threads share only State. The node is used only on the loop's thread.
class EventSource::Impl final : public LeafOwner {
 public:
  Impl(EventSourceOptions options, Joining joining, Journal journal)
      : options_(std::move(options)),
        joining_(std::move(joining)),
        journal_(std::move(journal)),
        node_(joining_.node, journal_, *joining_.starter, *this),
        loop_(node_, std::move(joining_.network)) {}

  Result<void> join();
  Result<void> add(const SourceCall& call, Nanos timeout);
  Result<void> close(Nanos timeout);
  void stop();

 private:
  struct State {
    std::optional<EventRecorder> recorder;  // Set when the front end has assigned a place.
    std::deque<Draft> outgoing;
    std::size_t outgoing_bytes = 0;
    Nanos last_chunks = 0;
    bool pump_is_posted = false;
    bool finished = false;  // True when the last window is made.
    bool closed = false;
    bool key_refused = false;  // True if this is why the source is closed.
    std::string why_closed;
  };

  // LeafOwner, on the loop.
  void on_joined(LeafId leaf) override;
  void on_streams(std::vector<LeafStreamState> streams) override;
  bool on_multicast(StreamId, std::uint64_t, wire::Fields) override { return true; }
  void on_room() override { pump(); }
  void on_finish() override;
  void on_closed(const std::string& why) override;
  std::size_t packets_to_put() const override { return state_.lock()->outgoing.size(); }

  /// Hands the recorder's finished packets to the loop.
  void collect(State& state, Nanos now);
  void finish(State& state);
  void pump();

  SharedState<State> state_;
  const EventSourceOptions options_;
  Joining joining_;
  Journal journal_;
  LeafNode node_;
  net::EventLoop loop_;
  net::LoopThread thread_;  // The last member: it uses all members above.
};

Result<void> EventSource::Impl::join() {
  if (auto started = thread_.start("xylem-source", [this] { loop_.run(); }); !started) {
    return started;
  }
  auto state = state_.lock();
  const bool done = state.wait_until(deadline_in(options_.leaf.join_limit),
                                     [&] { return state->recorder || state->closed; });
  if (state->key_refused) return unexpected(Code::kPermissionDenied, state->why_closed);
  if (state->closed) return unexpected(source_closed(state->why_closed));
  if (!done) return unexpected(Code::kTimedOut, "the front end did not accept this source in time");
  return {};
}

Result<void> EventSource::Impl::add(const SourceCall& call, Nanos timeout) {
  auto state = state_.lock();
  const auto may_go_on = [&] {
    return state->closed || state->finished || state->outgoing_bytes < kOutgoingBytes;
  };
  const bool in_time = may_go_on() || state.wait_until(deadline_in(timeout), may_go_on);
  if (state->closed || state->finished) return unexpected(source_closed(state->why_closed));
  if (!in_time)
    return unexpected(Code::kTimedOut, "the front end is too slow: no event was accepted");
  if (auto added = state->recorder->add(call); !added) return added;
  collect(*state, monotonic_now());
  return {};
}

void EventSource::Impl::collect(State& state, Nanos now) {
  if (state.recorder->has_pending() && now >= state.last_chunks + kChunkAge) {
    state.recorder->make_chunks();
    state.last_chunks = now;
  }
  for (Draft& draft : state.recorder->take()) {
    state.outgoing_bytes += draft.packet.payload.size();
    state.outgoing.push_back(std::move(draft));
  }
  if (state.outgoing.empty() || std::exchange(state.pump_is_posted, true)) return;
  loop_.post([this] { pump(); });
}

void EventSource::Impl::finish(State& state) {
  if (std::exchange(state.finished, true) || !state.recorder) return;
  state.recorder->finish();
  collect(state, monotonic_now());
}

// On the loop: moves packets into the journal while there is room.
void EventSource::Impl::pump() {
  auto state = state_.lock();
  state->pump_is_posted = false;
  const Nanos now = monotonic_now();
  while (!state->outgoing.empty()) {
    const std::size_t bytes = state->outgoing.front().packet.payload.size();
    if (!node_.put(std::move(state->outgoing.front()), now)) break;
    state->outgoing_bytes -= bytes;
    state->outgoing.pop_front();
  }
  state.notify();
}

Result<void> EventSource::Impl::close(Nanos timeout) {
  const Nanos deadline = deadline_in(timeout);
  auto state = state_.lock();
  const bool was_over = state->finished;
  const bool was_closed = state->closed;
  if (!state->closed) finish(*state);
  state.unlock();
  loop_.post([this, deadline] {
    pump();
    node_.leave(deadline, monotonic_now());
  });
  state.lock();
  // The node itself gives up at the deadline, and says what is lost.
  const bool done = state.wait_until(std::min(deadline, kForever - kCloseAtEnd) + kCloseAtEnd,
                                     [&] { return state->closed; });
  if (!done) return unexpected(Code::kTimedOut, "not all events were delivered in time");
  if (!state->why_closed.empty()) {
    const bool is_late = !was_closed && monotonic_now() >= deadline;
    return unexpected(is_late ? Code::kTimedOut : Code::kUnavailable, state->why_closed);
  }
  if (was_over) return unexpected(source_closed(""));
  return {};
}

void EventSource::Impl::stop() {
  if (!thread_.is_running()) return;  // The system has refused it.
  static_cast<void>(close(kCloseAtEnd));
  thread_.join();
}

// ---- from the node ----

void EventSource::Impl::on_joined(LeafId leaf) {
  auto state = state_.lock();
  const wire::Control& control = *node_.control();
  state->recorder.emplace(options_, leaf, control.window_ns, control.chunks);
  collect(*state, monotonic_now());
  state.notify();
}

// Called with each new version of control.
void EventSource::Impl::on_streams(std::vector<LeafStreamState>) {
  auto state = state_.lock();
  if (state->finished) return;
  const wire::Control& control = *node_.control();
  state->recorder->configure(control.window_ns, control.chunks);
}

void EventSource::Impl::on_finish() {
  finish(*state_.lock());
  pump();
  node_.leave(deadline_in(options_.leaf.join_limit), monotonic_now());
}

void EventSource::Impl::on_closed(const std::string& why) {
  auto state = state_.lock();
  state->closed = true;
  state->key_refused = node_.key_refused();
  state->why_closed = why;
  state.notify();
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
  auto impl = net::make_with_loop([&] {
    return std::make_unique<Impl>(std::move(options), *std::move(joining), *std::move(journal));
  });
  if (!impl) return unexpected(std::move(impl.error()));
  std::unique_ptr<EventSource> source(new EventSource(*std::move(impl)));  // A private constructor.
  if (auto joined = source->impl_->join(); !joined) return unexpected(std::move(joined.error()));
  return source;
}

Result<void> EventSource::add(const SourceCall& call, Nanos timeout) {
  return impl_->add(call, timeout);
}
Result<void> EventSource::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::backend
