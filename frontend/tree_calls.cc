// The functions that a program calls while the tree is open.

#include <algorithm>
#include <sstream>
#include <utility>

#include "filters/aggregation.h"
#include "frontend/tree_internal.h"
#include "tree/topology_text.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

// While more bytes than this wait, senders of multicasts must wait.
constexpr std::size_t kMaxDown = 8u << 20;
constexpr std::size_t kFrameHead = 64u << 10;
constexpr Nanos kLookAgain = 1 * kMillisecond;

wire::StreamSpec spec_of(const StreamOptions& options) {
  wire::StreamSpec spec;
  spec.name = options.name;
  spec.leaves = options.leaves;
  spec.synchronisation = static_cast<wire::Synchronisation>(options.synchronisation);
  spec.time_out_ns = options.time_out;
  spec.aggregation = options.aggregation;
  if (!options.parameters.empty()) spec.parameters = wire::encode_fields(options.parameters);
  spec.plugin = options.plugin;
  spec.when_full = static_cast<wire::WhenFull>(options.when_full);
  spec.narrowing = options.narrowing;
  if (!options.narrowing_parameters.empty()) {
    spec.narrowing_parameters = wire::encode_fields(options.narrowing_parameters);
  }
  spec.narrowing_plugin = options.narrowing_plugin;
  return spec;
}

// Memory of a multicast on its way down. Even an empty multicast costs memory.
std::size_t cost_of(const wire::Fields& fields) { return fields.bytes() + sizeof(wire::Multicast); }

Result<void> check_size(const wire::Fields& fields) {
  const std::size_t bytes = cost_of(fields);
  if (bytes <= wire::kMaxFrameBytes - kFrameHead) return {};
  return unexpected(Code::kInvalidArgument, "a multicast of " + std::to_string(bytes) + " bytes: " +
                                                std::to_string(wire::kMaxFrameBytes - kFrameHead) +
                                                " are the most");
}

Error stream_closed() { return {Code::kUnavailable, "the stream is closed"}; }

}  // namespace

// Work that is posted under the lock before the tree is closed will run, because the loop stops
// later.
template <typename T>
Result<T> Stream::Impl::on_loop(const std::function<Result<T>(State&)>& work) {
  auto state = state_.lock();
  if (state->is_closing()) return unexpected(tree_closed());
  if (thread_.is_current()) return work(*state);
  std::optional<Result<T>> outcome;
  loop_.post([&] {
    const auto on_loop = state_.lock();
    outcome.emplace(work(*on_loop));
    on_loop.notify();
  });
  state.wait_until(kForever, [&] { return outcome.has_value(); });
  return *std::move(outcome);
}

std::vector<LeafFacts> Stream::Impl::leaves() const {
  const auto state = state_.lock();
  std::vector<LeafFacts> leaves;
  for (const auto& [id, node] : state->node.overlay().nodes()) {
    if (node.leaf == wire::kNoLeaf) continue;
    leaves.push_back({node.leaf, node.host, node_state_name(node.state)});
  }
  return leaves;
}

Result<std::string> Stream::Impl::topology() const {
  const auto state = state_.lock();
  const auto topology = state->node.overlay().topology();
  if (!topology) return unexpected(topology.error());
  return tree::print(*topology);
}

std::string Stream::Impl::print() const {
  const auto state = state_.lock();
  std::ostringstream out;
  for (const auto& [id, node] : state->node.overlay().nodes()) {
    out << raw(id) << ' ' << wire::role_name(node.role) << ' ' << node.host << " pid " << node.pid
        << " level " << node.level;
    if (id != kFrontEndNode) out << " below " << raw(node.parent);
    if (node.leaf != wire::kNoLeaf) out << " leaf " << raw(node.leaf);
    out << ' ' << node_state_name(node.state) << '\n';
  }
  return out.str();
}

// The front end is the first node that may refuse a plugin.
Error Stream::Impl::refused_here(const Error& why) const {
  const auto state = state_.lock();
  return {why.code,
          "host " + state->node.overlay().nodes().at(kFrontEndNode).host + ": " + why.message};
}

Result<StreamId> Stream::Impl::open(const StreamOptions& options, Nanos timeout) {
  if (options.name.empty()) {
    return unexpected(Code::kInvalidArgument, "a stream needs a name: leaves find it by that");
  }
  wire::StreamSpec spec = spec_of(options);
  for (const auto& [plugin, sha256] : {std::pair(&spec.plugin, &spec.plugin_sha256),
                                       std::pair(&spec.narrowing_plugin, &spec.narrowing_sha256)}) {
    if (plugin->empty()) continue;
    auto fingerprint = filters::plugin_fingerprint(*plugin);
    if (!fingerprint) return unexpected(refused_here(fingerprint.error()));
    *sha256 = *fingerprint;
  }
  const bool has_plugin = !spec.plugin.empty() || !spec.narrowing_plugin.empty();
  auto stream = on_loop<StreamId>([&](State& state) { return state.node.open(std::move(spec)); });
  if (!stream && has_plugin) return unexpected(refused_here(stream.error()));
  if (!stream) return stream;
  auto state = state_.lock();
  Result<bool> is_open = false;
  wait_until(state, deadline_in(timeout), [&] {
    is_open = state->node.is_open(*stream);
    return state->closed || !is_open || *is_open;
  });
  const bool is_closed = state->closed;
  state.unlock();
  if (is_open && *is_open) return stream;
  close_stream(*stream);
  if (!is_open) return unexpected(std::move(is_open.error()));
  if (is_closed) return unexpected(tree_closed());
  return unexpected(tree_timed_out("stream '" + options.name + "': not every node answered"));
}

void Stream::Impl::close_stream(StreamId stream) {
  loop_.post([this, stream] { on_event([&](State& state) { state.node.close(stream); }); });
}

std::optional<Wave> Stream::Impl::take_wave(State& state, StreamId stream) {
  Inbox* inbox = state.node.inbox(stream);
  if (inbox == nullptr) return std::nullopt;
  const bool was_full = inbox->is_full();
  auto wave = inbox->receive();
  if (was_full && inbox->owes_acknowledgement()) {
    loop_.post([this] { state_.lock()->node.on_timer(monotonic_now()); });
  }
  return wave;
}

Result<Wave> Stream::Impl::receive(StreamId stream, Nanos timeout) {
  auto state = state_.lock();
  std::optional<Wave> wave;
  wait_until(state, deadline_in(timeout), [&] {
    wave = take_wave(*state, stream);
    return wave || state->closed || state->node.inbox(stream) == nullptr;
  });
  if (wave) return *std::move(wave);
  if (state->closed) return unexpected(tree_closed());
  if (state->node.inbox(stream) == nullptr) {
    return unexpected(stream_closed());
  }
  return unexpected(tree_timed_out("no wave was complete"));
}

// Calls `attempt` on the loop: now, after each event, and for the last time at the timeout. If the
// tree is closed, calls it here, for the last time.
void Stream::Impl::wait_then(Nanos timeout, Waiters::Attempt attempt) {
  if (state_.lock()->closed) {
    attempt(true);
    return;
  }
  waiters_.add(deadline_in(timeout), std::move(attempt));
  loop_.post([this] { try_waiters(); });
}

void Stream::Impl::receive_then(StreamId stream, Nanos timeout, Completion<Result<Wave>> then) {
  wait_then(timeout, [this, stream, then = std::move(then)](bool last) {
    if (!then.is_wanted()) return true;
    auto state = state_.lock();
    auto wave = take_wave(*state, stream);
    const bool is_closed = state->closed || state->node.inbox(stream) == nullptr;
    state.unlock();
    if (wave) {
      then(*std::move(wave));
    } else if (is_closed) {
      then(unexpected(stream_closed()));
    } else if (last) {
      then(unexpected(tree_timed_out("no wave was complete")));
    } else {
      return false;
    }
    return true;
  });
}

bool Stream::Impl::State::has_room_down() const {
  return is_closing() || posted_down_bytes + down_queue_bytes <= kMaxDown;
}

Result<std::uint64_t> Stream::Impl::hand_down(State& state, StreamId stream,
                                              const wire::Fields& fields, const IntervalSet& to) {
  if (state.is_closing()) return unexpected(tree_closed());
  auto whole = state.node.next_multicast(stream, fields, to);
  if (!whole) return unexpected(std::move(whole.error()));
  const std::uint64_t number = whole->number;
  const std::size_t bytes = cost_of(fields);
  state.posted_down_bytes += bytes;
  loop_.post([this, whole = *std::move(whole), bytes] {
    const auto on_loop = state_.lock();
    on_loop->node.multicast(whole);
    on_loop->posted_down_bytes -= bytes;
    on_loop->down_queue_bytes = on_loop->node.longest_queue();
  });
  return number;
}

Result<std::uint64_t> Stream::Impl::multicast(StreamId stream, const wire::Fields& fields,
                                              const IntervalSet& to, Nanos timeout) {
  if (auto fits = check_size(fields); !fits) return unexpected(std::move(fits.error()));
  auto state = state_.lock();
  const bool has_room = wait_until(state, deadline_in(timeout), [&] {
    if (state->has_room_down()) return true;
    watch_down_queue(*state);
    return false;
  });
  if (!has_room) return unexpected(tree_timed_out("the tree takes no more multicasts"));
  return hand_down(*state, stream, fields, to);
}

void Stream::Impl::multicast_then(StreamId stream, wire::Fields fields, IntervalSet to,
                                  Nanos timeout, Completion<Result<std::uint64_t>> then) {
  wait_then(timeout, [this, stream, fields = std::move(fields), to = std::move(to),
                      then = std::move(then)](bool last) {
    if (!then.is_wanted()) return true;
    if (auto fits = check_size(fields); !fits) return then(unexpected(fits.error())), true;
    auto state = state_.lock();
    if (!state->has_room_down()) {
      watch_down_queue(*state);
      state.unlock();
      if (last) then(unexpected(tree_timed_out("the tree takes no more multicasts")));
      return last;
    }
    auto number = hand_down(*state, stream, fields, to);
    state.unlock();
    then(std::move(number));
    return true;
  });
}

// There is no event when a queue gets shorter. So the queue is checked periodically while a call
// waits for it.
void Stream::Impl::watch_down_queue(State& state) {
  if (std::exchange(state.watches_down_queue, true)) return;
  loop_.post_at(monotonic_now() + kLookAgain, [this] {
    auto on_loop = state_.lock();
    on_loop->watches_down_queue = false;
    on_loop->down_queue_bytes = on_loop->node.longest_queue();
    on_loop.unlock();
    on_loop.notify();
    try_waiters();
  });
}

StreamAccount Stream::Impl::account(StreamId stream) const {
  const auto state = state_.lock();
  const Inbox* inbox = const_cast<TreeNode&>(state->node).inbox(stream);
  return inbox == nullptr ? StreamAccount{} : inbox->account();
}

Result<TreeEvent> Stream::Impl::next_event(Nanos timeout) {
  auto state = state_.lock();
  std::optional<TreeEvent> event;
  wait_until(state, deadline_in(timeout), [&] {
    event = state->node.take_event();
    return event || state->closed;
  });
  if (event) return *std::move(event);
  if (state->closed) return unexpected(tree_closed());
  return unexpected(tree_timed_out("nothing has happened to the tree"));
}

void Stream::Impl::next_event_then(Nanos timeout, Completion<Result<TreeEvent>> then) {
  wait_then(timeout, [this, then = std::move(then)](bool last) {
    if (!then.is_wanted()) return true;
    auto state = state_.lock();
    auto event = state->node.take_event();
    const bool is_closed = state->closed;
    state.unlock();
    if (event) {
      then(*std::move(event));
    } else if (is_closed || last) {
      then(unexpected(is_closed ? tree_closed()
                                : tree_timed_out("nothing has happened to the tree")));
    } else {
      return false;
    }
    return true;
  });
}

}  // namespace xylem::frontend
