// The part of a leaf that sends and receives for the program. The program's threads and the loop
// share only State. The node is used only on the loop's thread.

#include <algorithm>
#include <utility>

#include "backend/leaf/leaf_internal.h"
#include "base/clock.h"

namespace xylem::backend {
namespace {

// A packet has at most this many waves. Then it is sent while the next packet is filled.
constexpr std::size_t kPacketWaves = 256;
constexpr std::size_t kPacketBytes = 64u << 10;
// Limit for waves that send() has accepted and that are not in the journal yet.
constexpr std::size_t kOutgoingBytes = 1u << 20;
constexpr std::size_t kReceivedBytes = 8u << 20;
// With Threading::kCaller, waves that follow within this time share a packet.
constexpr Nanos kGather = 100 * kMicrosecond;
// An entry of the journal is contiguous. A wave takes at most this share of the journal, so that it
// fits whatever else is in the log.
constexpr std::size_t kJournalShare = 4;
constexpr std::size_t kFrameHead = 64u << 10;
constexpr std::size_t kFrameBytes = wire::kMaxFrameBytes - kFrameHead;

// With these accounts, readers of a live run see how many waves have not arrived yet.
constexpr Nanos kAccountInterval = 1 * kSecond;

bool is_stored(StreamId stream) { return raw(stream) >= raw(wire::kFirstStoredStream); }

// Empty fields also need memory, for the object that has them.
std::size_t cost_of(const wire::Fields& fields) { return fields.bytes() + sizeof(Received); }

}  // namespace

// ---- sending ----

LeafStream::Impl::Open* LeafStream::Impl::State::find(const std::string& name) {
  for (auto& [stream, open] : streams) {
    if (open.state.spec.name == name) return &open;
  }
  return nullptr;
}

Result<void> LeafStream::Impl::wait_for_stream(const std::string& name, Nanos timeout) {
  auto state = state_.lock();
  // A run has all its streams from the start. An older front end does not mark them as fixed, but
  // may name streams of a run.
  const auto is_run = [&] {
    return state->streams_fixed ||
           std::any_of(state->streams.begin(), state->streams.end(),
                       [](const auto& entry) { return is_stored(entry.first); });
  };
  const auto is_open = [&] { return state->find(name) != nullptr; };
  wait(state, deadline_in(timeout), [&] { return state->closed || is_open() || is_run(); });
  if (state->closed) return unexpected(leaf_closed(state->why_closed));
  if (is_open()) return {};
  if (!is_run()) {
    return unexpected(leaf_timed_out("no stream '" + name +
                                     "' was opened (in a run its configuration file must have a "
                                     "section [stream." +
                                     name + "])"));
  }
  std::string known;
  for (const auto& [id, open] : state->streams) {
    known += (known.empty() ? "" : ", ") + open.state.spec.name;
  }
  const std::string section = "[stream." + name + "]";
  return unexpected(Code::kNotFound,
                    known.empty()
                        ? "the run has no stream '" + name + "' for this host, nor any " +
                              "other; name it in a configuration file (xylem run " +
                              "--config FILE): " + section
                        : "the run has no stream '" + name + "' for this host, but " + known +
                              "; name it in the run's configuration file: " + section);
}

Result<wire::Fields> LeafStream::Impl::lift(const std::string& name, const wire::Fields& fields) {
  auto state = state_.lock();
  const Open* open = state->find(name);
  if (state->closed || state->leaving) return unexpected(leaf_closed(state->why_closed));
  if (open == nullptr) return unexpected(Code::kUnavailable, "stream '" + name + "' is closed");
  const auto aggregation = open->state.aggregation;
  state.unlock();
  Result<wire::Fields> lifted = fields;
  if (aggregation) lifted = aggregation->lift(id(), fields);
  if (!lifted) return lifted;
  const std::size_t max = max_bytes();
  if (lifted->bytes() > max) {
    return unexpected(Code::kInvalidArgument,
                      "stream '" + name + "': a wave of " + std::to_string(lifted->bytes()) +
                          " bytes; " +
                          (max < kFrameBytes ? "a quarter of the leaf's journal_bytes"
                                             : "a frame, whatever journal_bytes is,") +
                          " takes at most " + std::to_string(max));
  }
  return lifted;
}

// A stream that drops waves always has room, so its program never waits.
bool LeafStream::Impl::State::has_room(const std::string& name) {
  const Open* open = find(name);
  return closed || open == nullptr || open->outgoing_bytes < kOutgoingBytes ||
         open->state.spec.when_full != wire::WhenFull::kBlock;
}

Result<void> LeafStream::Impl::take_over(State& state, const std::string& name,
                                         std::optional<std::uint64_t> wave, wire::Fields lifted,
                                         bool in_time) {
  Open* open = state.find(name);
  if (state.closed || state.last_account_is_put) return unexpected(leaf_closed(state.why_closed));
  if (open == nullptr) return unexpected(Code::kUnavailable, "stream '" + name + "' is closed");
  if (!in_time) {
    return unexpected(leaf_timed_out("stream '" + name +
                                     "': the tree does not take more, and what "
                                     "waits here was not taken"));
  }
  if (wave && *wave < open->next_wave) {
    return unexpected(Code::kInvalidArgument,
                      "stream '" + name + "': wave " + std::to_string(*wave) +
                          " was sent before; the next is " + std::to_string(open->next_wave));
  }
  enqueue(state, *open, wave.value_or(open->next_wave), std::move(lifted));
  if (options_.threading == Threading::kOwnThread) pump_soon(state);
  return {};
}

Result<void> LeafStream::Impl::send(const std::string& name, std::optional<std::uint64_t> wave,
                                    const wire::Fields& fields, Nanos timeout) {
  auto lifted = lift(name, fields);
  if (!lifted) return unexpected(std::move(lifted.error()));
  auto state = state_.lock();
  const auto may_go_on = [&] { return state->has_room(name); };
  const bool in_time = may_go_on() || wait(state, deadline_in(timeout), may_go_on);
  const bool idle = state->delivered;
  if (auto taken = take_over(*state, name, wave, *std::move(lifted), in_time); !taken) return taken;
  if (options_.threading == Threading::kOwnThread) return {};
  // A system call for each wave would be the largest cost. So while packets are in flight, waves
  // that follow closely share a packet.
  const bool full = state->find(name)->outgoing.size() > 1;
  if (!idle && !full && monotonic_now() < state->last_pump + kGather) return {};
  state.unlock();
  serve(0);
  return {};
}

void LeafStream::Impl::send_then(const std::string& name, std::optional<std::uint64_t> wave,
                                 const wire::Fields& fields, Nanos timeout,
                                 Completion<Result<void>> then) {
  auto lifted = lift(name, fields);
  if (!lifted) return then(unexpected(std::move(lifted.error())));
  wait_then(timeout,
            [this, name, wave, lifted = *std::move(lifted), then = std::move(then)](bool last) {
              if (!then.is_wanted()) return true;
              auto state = state_.lock();
              const bool in_time = state->has_room(name);
              if (!in_time && !last) return false;
              auto taken = take_over(*state, name, wave, lifted, in_time);
              state.unlock();
              then(std::move(taken));
              return true;
            });
}

std::size_t LeafStream::Impl::max_bytes() const {
  return std::min(options_.journal_bytes / kJournalShare, kFrameBytes);
}

bool LeafStream::Impl::drop_one(Open& open, std::uint64_t wave) {
  const bool drops_newest = open.state.spec.when_full == wire::WhenFull::kDropNewest;
  if (drops_newest || open.outgoing.empty()) {
    open.refused.insert(wave, wave + 1);
    return true;
  }
  const Run& oldest = open.outgoing.front();
  open.refused.insert(oldest.first, oldest.first + oldest.waves.size());
  open.outgoing_bytes -= oldest.bytes;
  open.outgoing.pop_front();
  return false;
}

void LeafStream::Impl::enqueue(State& state, Open& open, std::uint64_t wave,
                               wire::Fields fields) const {
  open.next_wave = wave + 1;
  ++open.sent;
  state.delivered = false;
  while (open.outgoing_bytes >= kOutgoingBytes) {
    if (drop_one(open, wave)) return;
  }
  const std::size_t bytes = cost_of(fields);
  const bool follows = !open.outgoing.empty() &&
                       open.outgoing.back().first + open.outgoing.back().waves.size() == wave &&
                       open.outgoing.back().waves.size() < kPacketWaves &&
                       open.outgoing.back().bytes + bytes <= std::min(kPacketBytes, max_bytes());
  if (!follows) open.outgoing.push_back({wave, {}, 0});
  open.outgoing.back().waves.push_back(std::move(fields));
  open.outgoing.back().bytes += bytes;
  open.outgoing_bytes += bytes;
}

void LeafStream::Impl::pump_soon(State& state) {
  if (std::exchange(state.pump_is_posted, true)) return;
  loop_.post([this] { pump(); });
}

// On the loop: moves accepted waves into the journal while there is room.
void LeafStream::Impl::pump() {
  const Nanos now = monotonic_now();
  auto state = state_.lock();
  state->last_pump = now;
  state->pump_is_posted = false;
  for (auto& [stream, open] : state->streams) {
    for (const auto& range : open.refused.intervals()) open.lost.insert(range.first, range.end);
    open.refused = {};
    state.unlock();
    put_lost(stream, open);
    state.lock();
    while (!open.outgoing.empty()) {
      Run run = std::move(open.outgoing.front());
      open.outgoing.pop_front();
      state.unlock();
      const bool taken = put(stream, open, run);
      state.lock();
      if (!taken) {
        open.outgoing.push_front(std::move(run));
        break;
      }
      open.outgoing_bytes -= run.bytes;
    }
  }
  put_account(state, now);
  state->delivered = node_.is_delivered();
  for (const auto& [stream, open] : state->streams) {
    state->delivered = state->delivered && open.is_put();
  }
  state.notify();
  state.unlock();
  net::try_waiters(waiters_, loop_);
}

std::size_t LeafStream::Impl::packets_to_put() const {
  const auto state = state_.lock();
  std::size_t packets = 0;
  for (const auto& [stream, open] : state->streams) {
    packets +=
        open.outgoing.size() + open.refused.intervals().size() + open.lost.intervals().size();
  }
  return packets + (state->owes_last_account() ? 1 : 0);
}

// Only a run's front end stores waves, and needs the number of waves that it should have.
bool LeafStream::Impl::State::owes_last_account() const {
  return leaving && !last_account_is_put &&
         std::any_of(streams.begin(), streams.end(),
                     [](const auto& entry) { return is_stored(entry.first); });
}

// On the loop: sends the account of sent waves from time to time, and at the end as the last
// packet.
void LeafStream::Impl::put_account(Locked& state, Nanos now) {
  std::vector<std::uint64_t> streams;
  std::vector<std::uint64_t> sent;
  bool is_news = false;
  bool all_put = true;
  for (const auto& [id, open] : state->streams) {
    if (!is_stored(id)) continue;
    streams.push_back(raw(id));
    sent.push_back(open.sent);
    is_news = is_news || open.sent != open.sent_told;
    all_put = all_put && open.is_put();
  }
  const bool is_last = state->owes_last_account() && all_put;
  const bool is_due =
      is_news && !state->last_account_is_put && now >= last_account_ + kAccountInterval;
  if (!is_last && !is_due) return;
  const wire::Fields account{{wire::kAccountStreams, streams}, {wire::kAccountSent, sent}};
  // Set before the lock is released: send() must accept nothing after this.
  state->last_account_is_put = is_last;
  state.unlock();
  const bool taken = node_.put_account(accounts_, account, is_last, now);
  state.lock();
  if (!taken) {
    state->last_account_is_put = false;
    return;
  }
  ++accounts_;
  last_account_ = now;
  std::size_t next = 0;
  for (auto& [id, open] : state->streams) {
    if (is_stored(id)) open.sent_told = sent[next++];
  }
}

bool LeafStream::Impl::put(StreamId stream, Open& open, const Run& run) {
  const Nanos now = monotonic_now();
  if (open.lost.empty() && node_.put(stream, run.first, run.waves, now)) return true;
  if (open.state.spec.when_full != wire::WhenFull::kDropNewest) return false;
  open.lost.insert(run.first, run.first + run.waves.size());
  put_lost(stream, open);
  return true;
}

// A tombstone takes room in the journal too. While there is no room, it is extended by further
// waves that are given up.
void LeafStream::Impl::put_lost(StreamId stream, Open& open) {
  const Nanos now = monotonic_now();
  std::uint64_t put_until = 0;
  for (const auto& range : open.lost.intervals()) {
    if (!node_.put_lost(stream, range.first, range.end, now)) break;
    put_until = range.end;
  }
  open.lost.erase(0, put_until);  // Done once, because each removal moves all remaining elements.
}

Result<void> LeafStream::Impl::State::delivery_outcome() const {
  if (delivered) return {};
  if (closed) return unexpected(leaf_closed(why_closed));
  return unexpected(leaf_timed_out("not everything was acknowledged"));
}

Result<void> LeafStream::Impl::flush(Nanos timeout) {
  auto state = state_.lock();
  wait(state, deadline_in(timeout), [&] { return state->closed || state->delivered; });
  return state->delivery_outcome();
}

void LeafStream::Impl::flush_then(Nanos timeout, Completion<Result<void>> then) {
  wait_then(timeout, [this, then = std::move(then)](bool last) {
    if (!then.is_wanted()) return true;
    auto state = state_.lock();
    if (!state->closed && !state->delivered && !last) return false;
    auto outcome = state->delivery_outcome();
    state.unlock();
    then(std::move(outcome));
    return true;
  });
}

// ---- coroutines ----

void LeafStream::Impl::wait_then(Nanos timeout, Waiters::Attempt attempt) {
  if (attempt(false)) return;
  waiters_.add(deadline_in(timeout), std::move(attempt));
  loop_.post([this] { net::try_waiters(waiters_, loop_); });
}

// ---- receiving ----

std::optional<Received> LeafStream::Impl::State::take_received(const std::string& name) {
  const auto it = std::find_if(received.begin(), received.end(), [&](const Received& one) {
    return name.empty() || one.stream == name;
  });
  if (it == received.end()) return std::nullopt;
  Received taken = std::move(*it);
  received.erase(it);
  received_bytes -= cost_of(taken.fields);
  return taken;
}

bool LeafStream::Impl::State::is_open(const std::string& name) {
  return !closed && (name.empty() || find(name) != nullptr);
}

Error LeafStream::Impl::State::why_not_received(const std::string& name) {
  if (closed) return leaf_closed(why_closed);
  if (!is_open(name)) return {Code::kUnavailable, "stream '" + name + "' is closed"};
  return leaf_timed_out("nothing was received");
}

Result<Received> LeafStream::Impl::receive(const std::string& name, Nanos timeout) {
  auto state = state_.lock();
  std::optional<Received> received;
  wait(state, deadline_in(timeout), [&] {
    if (!received) received = state->take_received(name);
    return received.has_value() || !state->is_open(name);
  });
  if (received) return *std::move(received);
  return unexpected(state->why_not_received(name));
}

void LeafStream::Impl::receive_then(const std::string& name, Nanos timeout,
                                    Completion<Result<Received>> then) {
  wait_then(timeout, [this, name, then = std::move(then)](bool last) {
    if (!then.is_wanted()) return true;
    auto state = state_.lock();
    auto received = state->take_received(name);
    if (!received && state->is_open(name) && !last) return false;
    const Error why_not = state->why_not_received(name);
    state.unlock();
    if (received) {
      then(*std::move(received));
    } else {
      then(unexpected(why_not));
    }
    return true;
  });
}

// ---- from the node ----

void LeafStream::Impl::on_joined(LeafId leaf) {
  const auto state = state_.lock();
  state->id = leaf;
  state.notify();
}

void LeafStream::Impl::on_streams(std::vector<LeafStreamState> streams) {
  const auto state = state_.lock();
  std::map<StreamId, Open> former = std::exchange(state->streams, {});
  state->streams_fixed = node_.control() && node_.control()->streams_fixed;
  parts_.droppable->clear();
  for (LeafStreamState& stream : streams) {
    const StreamId id = stream.spec.id;
    if (stream.spec.when_full == wire::WhenFull::kDropOldest) parts_.droppable->insert(id);
    const auto known = former.find(id);
    Open open = known == former.end() ? Open{} : std::move(known->second);
    open.state = std::move(stream);
    state->streams.emplace(id, std::move(open));
  }
  state.notify();
  pump_soon(*state);  // Data of closed streams need not be delivered.
}

// If the queue is full, only a coroutine that already waits for the stream gets the multicast.
bool LeafStream::Impl::on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) {
  auto state = state_.lock();
  const auto it = state->streams.find(stream);
  if (it == state->streams.end()) return false;
  const bool is_full = state->received_bytes > kReceivedBytes;
  const std::string name = it->second.state.spec.name;
  state->received_bytes += cost_of(fields);
  state->received.push_back({name, number, std::move(fields)});
  state.unlock();
  net::try_waiters(waiters_, loop_);
  state.lock();
  if (is_full && !state->received.empty() && state->received.back().stream == name &&
      state->received.back().number == number) {
    state->received_bytes -= cost_of(state->received.back().fields);
    state->received.pop_back();
    return false;
  }
  state.notify();
  return true;
}

void LeafStream::Impl::on_room() { pump(); }

void LeafStream::Impl::on_finish() {
  state_.lock()->leaving = true;
  pump();
  node_.leave(deadline_in(options_.join_limit), monotonic_now());
}

void LeafStream::Impl::on_closed(const std::string& why) {
  auto state = state_.lock();
  state->closed = true;
  state->key_refused = node_.key_refused();
  state->why_closed = why;
  state.notify();
  state.unlock();
  waiters_.end();
}

}  // namespace xylem::backend
