// What a leaf's program sends and receives. The program's threads and the loop meet under the
// mutex; the node is only touched on the loop.

#include <algorithm>
#include <utility>

#include "backend/leaf/leaf_internal.h"
#include "base/clock.h"

namespace xylem::backend {
namespace {

// One packet holds no more: then it goes while the next is filled.
constexpr std::size_t kPacketWaves = 256;
constexpr std::size_t kPacketBytes = 64u << 10;
// Taken over from the program, not yet in the journal.
constexpr std::size_t kOutgoingBytes = 1u << 20;
constexpr std::size_t kReceivedBytes = 8u << 20;
// Under Threading::kCaller waves that follow one another within this share a packet.
constexpr Nanos kGather = 100 * kMicrosecond;
// An entry of the journal lies in one piece, whatever lies there already.
constexpr std::size_t kJournalShare = 4;
constexpr std::size_t kFrameHead = 64u << 10;
// Waiters, among whom a few may be of coroutines that were destroyed.
constexpr std::size_t kSweep = 64;

// Who looks at a live run sees by it what is on its way.
constexpr Nanos kAccountInterval = 1 * kSecond;

bool is_stored(StreamId stream) { return raw(stream) >= raw(wire::kFirstStoredStream); }

// What holds fields costs memory also when they are empty.
std::size_t cost_of(const wire::Fields& fields) { return fields.bytes() + sizeof(Received); }

}  // namespace

// ---- sending ----

LeafStream::Impl::Open* LeafStream::Impl::find(const std::string& name) {
  for (auto& [id, open] : streams_) {
    if (open.state.spec.name == name) return &open;
  }
  return nullptr;
}

Result<void> LeafStream::Impl::wait_for_stream(const std::string& name, Nanos timeout) {
  std::unique_lock lock(mutex_);
  // A run's streams are all there from the start. Front ends that do not say that they are fixed
  // may name some all the same.
  const auto is_run = [this] {
    return streams_fixed_ || std::any_of(streams_.begin(), streams_.end(),
                                         [](const auto& entry) { return is_stored(entry.first); });
  };
  wait(lock, deadline_in(timeout), [&] { return closed_ || find(name) != nullptr || is_run(); });
  if (closed_) return unexpected(leaf_closed(why_closed_));
  if (find(name) != nullptr) return {};
  if (!is_run()) {
    return unexpected(leaf_timed_out("no stream '" + name +
                                     "' was opened (in a run its configuration file must have a "
                                     "section [stream." +
                                     name + "])"));
  }
  std::string known;
  for (const auto& [id, open] : streams_) {
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
  std::unique_lock lock(mutex_);
  const Open* open = find(name);
  if (closed_ || leaving_) return unexpected(leaf_closed(why_closed_));
  if (open == nullptr) return unexpected(Code::kUnavailable, "stream '" + name + "' is closed");
  const auto aggregation = open->state.aggregation;
  lock.unlock();
  Result<wire::Fields> lifted = fields;
  if (aggregation) lifted = aggregation->lift(id(), fields);
  if (!lifted) return lifted;
  const std::size_t most = most_bytes();
  if (lifted->bytes() > most) {
    return unexpected(Code::kInvalidArgument,
                      "stream '" + name + "': a wave of " + std::to_string(lifted->bytes()) +
                          " bytes; a quarter of the leaf's journal_bytes takes at most " +
                          std::to_string(most));
  }
  return lifted;
}

// A stream that drops always has room: its program never waits, however slow the loop is.
bool LeafStream::Impl::has_room(const std::string& name) {
  const Open* open = find(name);
  return closed_ || open == nullptr || open->outgoing_bytes < kOutgoingBytes ||
         open->state.spec.when_full != wire::WhenFull::kBlock;
}

Result<void> LeafStream::Impl::take_over(const std::string& name, std::optional<std::uint64_t> wave,
                                         wire::Fields lifted, bool in_time) {
  Open* open = find(name);
  if (closed_ || last_account_is_put_) return unexpected(leaf_closed(why_closed_));
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
  enqueue(*open, wave.value_or(open->next_wave), std::move(lifted));
  if (options_.threading == Threading::kOwnThread) pump_soon();
  return {};
}

Result<void> LeafStream::Impl::send(const std::string& name, std::optional<std::uint64_t> wave,
                                    const wire::Fields& fields, Nanos timeout) {
  auto lifted = lift(name, fields);
  if (!lifted) return unexpected(std::move(lifted.error()));
  std::unique_lock lock(mutex_);
  const auto may_go_on = [&] { return has_room(name); };
  const bool in_time = may_go_on() || wait(lock, deadline_in(timeout), may_go_on);
  const bool idle = delivered_;
  if (auto taken = take_over(name, wave, *std::move(lifted), in_time); !taken) return taken;
  if (options_.threading == Threading::kOwnThread) return {};
  // A system call for each wave would cost more than all else: while others are on their way, what
  // follows closely shares a packet.
  const bool full = find(name)->outgoing.size() > 1;
  if (!idle && !full && monotonic_now() < last_pump_ + kGather) return {};
  lock.unlock();
  serve(0);
  return {};
}

void LeafStream::Impl::send_then(const std::string& name, std::optional<std::uint64_t> wave,
                                 const wire::Fields& fields, Nanos timeout,
                                 Completion<Result<void>> then) {
  auto lifted = lift(name, fields);
  if (!lifted) return then(unexpected(std::move(lifted.error())));
  std::unique_lock lock(mutex_);
  add_pending(lock, {deadline_in(timeout), [this, name] { return has_room(name); },
                     [this, name, wave, fields_of_wave = *std::move(lifted)](bool in_time) {
                       return take_over(name, wave, fields_of_wave, in_time);
                     },
                     std::move(then)});
}

std::size_t LeafStream::Impl::most_bytes() const {
  return std::min(options_.journal_bytes / kJournalShare, wire::kMaxFrameBytes - kFrameHead);
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

void LeafStream::Impl::enqueue(Open& open, std::uint64_t wave, wire::Fields fields) {
  open.next_wave = wave + 1;
  ++open.sent;
  delivered_ = false;
  while (open.outgoing_bytes >= kOutgoingBytes) {
    if (drop_one(open, wave)) return;
  }
  const std::size_t bytes = cost_of(fields);
  const bool follows = !open.outgoing.empty() &&
                       open.outgoing.back().first + open.outgoing.back().waves.size() == wave &&
                       open.outgoing.back().waves.size() < kPacketWaves &&
                       open.outgoing.back().bytes + bytes <= std::min(kPacketBytes, most_bytes());
  if (!follows) open.outgoing.push_back({wave, {}, 0});
  open.outgoing.back().waves.push_back(std::move(fields));
  open.outgoing.back().bytes += bytes;
  open.outgoing_bytes += bytes;
}

void LeafStream::Impl::pump_soon() {
  if (std::exchange(pump_is_posted_, true)) return;
  loop_.post([this] { pump(); });
}

// On the loop: from the program's hands into the journal, as far as there is room.
void LeafStream::Impl::pump() {
  const Nanos now = monotonic_now();
  std::unique_lock lock(mutex_);
  last_pump_ = now;
  pump_is_posted_ = false;
  for (auto& [stream, open] : streams_) {
    for (const auto& range : open.refused.intervals()) open.lost.insert(range.first, range.end);
    open.refused = {};
    lock.unlock();
    put_lost(stream, open);
    lock.lock();
    while (!open.outgoing.empty()) {
      Run run = std::move(open.outgoing.front());
      open.outgoing.pop_front();
      lock.unlock();
      const bool taken = put(stream, open, run);
      lock.lock();
      if (!taken) {
        open.outgoing.push_front(std::move(run));
        break;
      }
      open.outgoing_bytes -= run.bytes;
    }
  }
  put_account(lock, now);
  delivered_ = node_.is_delivered();
  for (const auto& [stream, open] : streams_) {
    delivered_ = delivered_ && open.is_put();
  }
  changed_.notify_all();
  lock.unlock();
  end_pending(now);
}

std::size_t LeafStream::Impl::packets_to_put() const {
  const std::lock_guard lock(mutex_);
  std::size_t packets = 0;
  for (const auto& [stream, open] : streams_) {
    packets +=
        open.outgoing.size() + open.refused.intervals().size() + open.lost.intervals().size();
  }
  return packets + (owes_last_account() ? 1 : 0);
}

// Under the mutex. Only a run's front end stores, and wants an account of what it should have.
bool LeafStream::Impl::owes_last_account() const {
  return leaving_ && !last_account_is_put_ &&
         std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return is_stored(entry.first); });
}

// On the loop, under the mutex: how much was sent, now and then, and at the end behind all else.
void LeafStream::Impl::put_account(std::unique_lock<std::mutex>& lock, Nanos now) {
  std::vector<std::uint64_t> streams;
  std::vector<std::uint64_t> sent;
  bool is_news = false;
  bool all_put = true;
  for (const auto& [id, open] : streams_) {
    if (!is_stored(id)) continue;
    streams.push_back(raw(id));
    sent.push_back(open.sent);
    is_news = is_news || open.sent != open.sent_told;
    all_put = all_put && open.is_put();
  }
  const bool is_last = owes_last_account() && all_put;
  const bool is_due = is_news && !last_account_is_put_ && now >= last_account_ + kAccountInterval;
  if (!is_last && !is_due) return;
  const wire::Fields account{{wire::kAccountStreams, streams}, {wire::kAccountSent, sent}};
  last_account_is_put_ = is_last;  // Before the lock is free: nothing may be taken over any more.
  lock.unlock();
  const bool taken = node_.put_account(accounts_, account, is_last, now);
  lock.lock();
  if (!taken) {
    last_account_is_put_ = false;
    return;
  }
  ++accounts_;
  last_account_ = now;
  std::size_t next = 0;
  for (auto& [id, open] : streams_) {
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

// A tombstone takes room in the journal too. While there is none, more waves that are given up
// lengthen it.
void LeafStream::Impl::put_lost(StreamId stream, Open& open) {
  const Nanos now = monotonic_now();
  std::uint64_t put_until = 0;
  for (const auto& range : open.lost.intervals()) {
    if (!node_.put_lost(stream, range.first, range.end, now)) break;
    put_until = range.end;
  }
  open.lost.erase(0, put_until);  // Once: each time all that is left is moved.
}

Result<void> LeafStream::Impl::delivery_outcome() const {
  if (delivered_) return {};
  if (closed_) return unexpected(leaf_closed(why_closed_));
  return unexpected(leaf_timed_out("not everything was acknowledged"));
}

Result<void> LeafStream::Impl::flush(Nanos timeout) {
  std::unique_lock lock(mutex_);
  wait(lock, deadline_in(timeout), [this] { return closed_ || delivered_; });
  return delivery_outcome();
}

void LeafStream::Impl::flush_then(Nanos timeout, Completion<Result<void>> then) {
  std::unique_lock lock(mutex_);
  add_pending(lock, {deadline_in(timeout), [this] { return closed_ || delivered_; },
                     [this](bool) { return delivery_outcome(); }, std::move(then)});
}

void LeafStream::Impl::add_pending(std::unique_lock<std::mutex>& lock, Pending pending) {
  if (pending.may_end()) {
    auto outcome = pending.end(true);
    lock.unlock();
    return pending.then(std::move(outcome));
  }
  wake_at(pending.deadline);
  pending_.push_back(std::move(pending));
}

void LeafStream::Impl::end_pending(Nanos now) {
  std::vector<std::pair<Completion<Result<void>>, Result<void>>> ended;
  {
    const std::lock_guard lock(mutex_);
    pending_.remove_if([&](const Pending& one) {
      if (!one.then.is_wanted()) return true;
      const bool may_end = one.may_end();
      if (!may_end && now < one.deadline) return false;
      ended.emplace_back(one.then, one.end(may_end));
      return true;
    });
  }
  for (auto& [then, outcome] : ended) then(std::move(outcome));
}

// ---- receiving ----

std::optional<Received> LeafStream::Impl::take_received(const std::string& name) {
  for (auto it = received_.begin(); it != received_.end(); ++it) {
    if (!name.empty() && it->stream != name) continue;
    Received received = std::move(*it);
    received_.erase(it);
    received_bytes_ -= cost_of(received.fields);
    return received;
  }
  return std::nullopt;
}

Result<Received> LeafStream::Impl::receive(const std::string& name, Nanos timeout) {
  std::unique_lock lock(mutex_);
  std::optional<Received> received;
  wait(lock, deadline_in(timeout), [&] {
    if (!received) received = take_received(name);
    return received.has_value() || closed_;
  });
  if (received) return *std::move(received);
  if (closed_) return unexpected(leaf_closed(why_closed_));
  return unexpected(leaf_timed_out("nothing was received"));
}

void LeafStream::Impl::receive_then(const std::string& name, Nanos timeout,
                                    Completion<Result<Received>> then) {
  std::unique_lock lock(mutex_);
  auto received = take_received(name);
  if (received || closed_) {
    lock.unlock();
    if (received) return then(*std::move(received));
    return then(unexpected(leaf_closed(why_closed_)));
  }
  if (waiters_.size() >= sweep_at_) {
    waiters_.remove_if([](const Waiter& one) { return !one.then.is_wanted(); });
    sweep_at_ = 2 * waiters_.size() + kSweep;
  }
  const Nanos deadline = deadline_in(timeout);
  waiters_.push_back({deadline, name, std::move(then)});
  wake_at(deadline);
}

// Under the mutex.
void LeafStream::Impl::wake_at(Nanos deadline) {
  if (deadline >= next_deadline_) return;
  next_deadline_ = deadline;
  loop_.post([this] { set_timer(); });
}

// On the loop. All who wait share the node's one timer: who is answered leaves nothing behind.
void LeafStream::Impl::set_timer() {
  std::unique_lock lock(mutex_);
  const Nanos when = next_deadline_;
  lock.unlock();
  if (when != kForever) node_.set_owner_timer(when, monotonic_now());
}

void LeafStream::Impl::on_timer(Nanos now) {
  std::list<Waiter> late;
  {
    const std::lock_guard lock(mutex_);
    next_deadline_ = kForever;
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      const auto waiter = it++;
      if (waiter->deadline <= now) {
        late.splice(late.end(), waiters_, waiter);
      } else {
        next_deadline_ = std::min(next_deadline_, waiter->deadline);
      }
    }
    for (const Pending& one : pending_) {
      if (one.deadline > now) next_deadline_ = std::min(next_deadline_, one.deadline);
    }
  }
  set_timer();
  end_pending(now);
  for (const Waiter& waiter : late) waiter.then(unexpected(leaf_timed_out("nothing was received")));
}

// ---- from the node ----

void LeafStream::Impl::on_joined(LeafId leaf) {
  const std::lock_guard lock(mutex_);
  id_ = leaf;
  changed_.notify_all();
}

void LeafStream::Impl::on_streams(std::vector<LeafStreamState> streams) {
  const std::lock_guard lock(mutex_);
  std::map<StreamId, Open> former = std::exchange(streams_, {});
  streams_fixed_ = node_.control() && node_.control()->streams_fixed;
  parts_.droppable->clear();
  for (LeafStreamState& state : streams) {
    const StreamId id = state.spec.id;
    if (state.spec.when_full == wire::WhenFull::kDropOldest) parts_.droppable->insert(id);
    const auto known = former.find(id);
    Open open = known == former.end() ? Open{} : std::move(known->second);
    open.state = std::move(state);
    streams_.emplace(id, std::move(open));
  }
  changed_.notify_all();
  pump_soon();  // What waited on a stream that is closed now need not be delivered.
}

bool LeafStream::Impl::on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) {
  std::unique_lock lock(mutex_);
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return false;
  Received received{it->second.state.spec.name, number, std::move(fields)};
  waiters_.remove_if([](const Waiter& one) { return !one.then.is_wanted(); });
  const auto waiter = std::find_if(waiters_.begin(), waiters_.end(), [&](const Waiter& one) {
    return one.stream.empty() || one.stream == received.stream;
  });
  if (waiter != waiters_.end()) {
    const auto resume = waiter->then;
    waiters_.erase(waiter);
    lock.unlock();
    resume(std::move(received));
    return true;
  }
  if (received_bytes_ > kReceivedBytes) return false;
  received_bytes_ += cost_of(received.fields);
  received_.push_back(std::move(received));
  changed_.notify_all();
  return true;
}

void LeafStream::Impl::on_room() { pump(); }

void LeafStream::Impl::on_finish() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  pump();
  node_.leave(deadline_in(options_.join_limit), monotonic_now());
}

void LeafStream::Impl::on_closed(const std::string& why) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  why_closed_ = why;
  std::list<Waiter> waiters = std::exchange(waiters_, {});
  changed_.notify_all();
  lock.unlock();
  for (Waiter& waiter : waiters) waiter.then(unexpected(leaf_closed(why)));
  end_pending(monotonic_now());  // Each may end: it is closed.
}

}  // namespace xylem::backend
