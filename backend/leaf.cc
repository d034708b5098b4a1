#include "backend/leaf.h"

#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "backend/journal.h"
#include "backend/leaf_node.h"
#include "backend/mapping.h"
#include "backend/process_starter.h"
#include "capture/ring.h"
#include "net/address.h"
#include "net/key.h"
#include "net/runtime.h"

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
constexpr Nanos kCloseAtEnd = 1 * kSecond;

Error closed_error(const std::string& why) {
  return {Code::kUnavailable, why.empty() ? "the tree is closed" : "the tree is closed: " + why};
}

Error time_out_error(const std::string& what) { return {Code::kTimedOut, what + " in time"}; }

Nanos deadline_of(Nanos timeout) { return monotonic_now() + timeout; }

std::string from_environment(const std::string& given, const char* name) {
  if (!given.empty()) return given;
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

// Calls of the program and of the node meet here, under the mutex. The node itself is only touched
// on the loop.
class LeafStream::Impl final : public LeafOwner {
 public:
  static Result<std::shared_ptr<Impl>> make(const LeafOptions& options);
  struct Parts {
    LeafNodeOptions node;
    net::RuntimeOptions network;
    Mapping memory;
    // Streams whose packets may be given up; the journal asks, on the loop.
    std::unique_ptr<std::set<StreamId>> droppable;
    std::optional<Journal> journal;
    std::unique_ptr<CommProcessStarter> starter;
  };
  Impl(const LeafOptions& options, Parts parts);
  ~Impl() override { stop(); }

  Result<void> join();
  LeafId id() const {
    const std::lock_guard lock(mutex_);
    return id_.value_or(wire::kNoLeaf);
  }
  Result<void> wait_for_stream(const std::string& name, Nanos timeout);
  Result<void> send(const std::string& name, std::optional<std::uint64_t> wave,
                    const wire::Fields& fields, Nanos timeout);
  Result<Received> receive(const std::string& name, Nanos timeout);
  void receive_then(const std::string& name, Nanos timeout,
                    std::function<void(Result<Received>)> then);
  Result<void> flush(Nanos timeout);
  Result<void> wait_until_closed(Nanos timeout);
  Result<void> close(Nanos timeout);
  void serve(Nanos time);

 private:
  struct Run {
    std::uint64_t first = 0;
    std::vector<wire::Fields> waves;
    std::size_t bytes = 0;
  };
  struct Open {
    LeafStreamState state;
    std::uint64_t next_wave = 0;
    std::deque<Run> outgoing;
    std::size_t outgoing_bytes = 0;
  };
  struct Waiter {
    std::string stream;  // Empty: any.
    std::function<void(Result<Received>)> then;
  };

  // LeafOwner, on the loop.
  void on_joined(LeafId leaf) override;
  void on_streams(std::vector<LeafStreamState> streams) override;
  bool on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) override;
  void on_room() override;
  void on_finish() override;
  void on_closed(const std::string& why) override;

  template <typename Done>
  bool wait(std::unique_lock<std::mutex>& lock, Nanos deadline, const Done& done);
  Open* find(const std::string& name);
  void enqueue(Open& open, std::uint64_t wave, wire::Fields fields);
  void pump_soon();
  void pump();
  bool put(StreamId stream, const Open& open, const Run& run);
  std::optional<Received> take_received(const std::string& name);
  void stop();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<LeafId> id_;  // Since the front end has given us a place.
  std::map<StreamId, Open> streams_;
  std::deque<Received> received_;
  std::size_t received_bytes_ = 0;
  std::list<Waiter> waiters_;
  bool pump_is_posted_ = false;
  Nanos last_pump_ = 0;
  bool delivered_ = true;
  bool leaving_ = false;
  bool closed_ = false;
  std::string why_closed_;

  const LeafOptions options_;
  Parts parts_;
  LeafNode node_;
  net::EventLoop loop_;
  std::thread thread_;  // Last: it uses all of the above.
};

// ---- making and joining ----

namespace {

Result<net::RuntimeOptions> network_of(const LeafOptions& options, std::string& address) {
  address = from_environment(options.address, capture::kEnvAddress);
  net::RuntimeOptions network;
  network.run = from_environment(options.run, capture::kEnvRun);
  std::string key = from_environment(options.key, capture::kEnvKey);
  if (address.empty() || network.run.empty() || key.empty()) {
    return unexpected(
        Code::kInvalidArgument,
        "no tree to join: XYLEM_ADDRESS, XYLEM_RUN and XYLEM_KEY say where it is, and "
        "whoever starts the front end prints them");
  }
  if (options.key.empty()) ::unsetenv(capture::kEnvKey);
  auto parsed = net::parse_key(key);
  std::fill(key.begin(), key.end(), '\0');
  if (!parsed) return unexpected(std::move(parsed.error()));
  network.key = *parsed;
  const char* tls = std::getenv("XYLEM_TLS");
  network.tls = tls == nullptr || std::string_view(tls) != "off";
  return network;
}

CommProcessSetting comm_process_setting(const std::string& address,
                                        const net::RuntimeOptions& network,
                                        const wire::HostReport& host) {
  CommProcessSetting setting;
  setting.program = from_environment("", "XYLEM_COMMPROC");
  setting.run = network.run;
  setting.front_end = address;
  setting.host = host.name;
  setting.host_key = host.host_key;
  setting.tls = network.tls;
  setting.key = network.key;
  return setting;
}

}  // namespace

Result<std::shared_ptr<LeafStream::Impl>> LeafStream::Impl::make(const LeafOptions& options) {
  Parts parts;
  std::string address;
  auto network = network_of(options, address);
  if (!network) return unexpected(std::move(network.error()));
  parts.network = *std::move(network);
  auto front_end = net::parse_addresses(address);
  if (!front_end) return unexpected(std::move(front_end.error()));
  parts.node.front_end = *std::move(front_end);
  parts.node.host.name = options.name.empty() ? host_name() : options.name;
  parts.node.host.pid = static_cast<std::uint32_t>(::getpid());
  std::array<std::uint8_t, 16> random{};
  net::fill_random(random);
  parts.node.host.host_key = "leaf:" + net::to_hex(random);

  auto memory = make_memory("xylem-leaf-journal", options.journal_bytes);
  if (!memory) return unexpected(std::move(memory.error()));
  auto mapping = Mapping::of(memory->get(), options.journal_bytes);
  if (!mapping) return unexpected(std::move(mapping.error()));
  parts.memory = *std::move(mapping);
  parts.starter = std::make_unique<CommProcessStarter>(
      comm_process_setting(address, parts.network, parts.node.host));
  parts.droppable = std::make_unique<std::set<StreamId>>();
  JournalOptions journal_options;
  journal_options.reason = "the leaf's journal was full";
  journal_options.may_give_up = [droppable = parts.droppable.get()](StreamId stream) {
    return droppable->contains(stream);
  };
  auto journal = Journal::open(parts.memory.bytes(), std::move(journal_options));
  if (!journal) return unexpected(std::move(journal.error()));
  parts.journal.emplace(*std::move(journal));
  return std::make_shared<Impl>(options, std::move(parts));
}

LeafStream::Impl::Impl(const LeafOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      node_(parts_.node, *parts_.journal, *parts_.starter, *this),
      loop_(node_, std::move(parts_.network)) {}

Result<void> LeafStream::Impl::join() {
  if (options_.threading == Threading::kOwnThread) thread_ = std::thread([this] { loop_.run(); });
  std::unique_lock lock(mutex_);
  const bool done =
      wait(lock, deadline_of(options_.join_limit), [this] { return id_.has_value() || closed_; });
  if (closed_) return unexpected(Code::kPermissionDenied, why_closed_);
  if (!done) return unexpected(time_out_error("the front end gave this leaf no place"));
  return {};
}

void LeafStream::Impl::stop() {
  if (!thread_.joinable()) return;
  static_cast<void>(close(kCloseAtEnd));
  thread_.join();
}

// With a thread of our own the loop runs there, and we wait for what it tells; without, it runs
// here.
template <typename Done>
bool LeafStream::Impl::wait(std::unique_lock<std::mutex>& lock, Nanos deadline, const Done& done) {
  if (options_.threading == Threading::kOwnThread) {
    const auto until = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline));
    return changed_.wait_until(lock, until, done);
  }
  lock.unlock();
  pump();
  loop_.run_until(
      [&] {
        const std::lock_guard again(mutex_);
        return done();
      },
      deadline);
  lock.lock();
  return done();
}

// ---- sending ----

LeafStream::Impl::Open* LeafStream::Impl::find(const std::string& name) {
  for (auto& [id, open] : streams_) {
    if (open.state.spec.name == name) return &open;
  }
  return nullptr;
}

Result<void> LeafStream::Impl::wait_for_stream(const std::string& name, Nanos timeout) {
  std::unique_lock lock(mutex_);
  const bool done =
      wait(lock, deadline_of(timeout), [&] { return closed_ || find(name) != nullptr; });
  if (closed_) return unexpected(closed_error(why_closed_));
  if (!done) return unexpected(time_out_error("no stream '" + name + "' was opened"));
  return {};
}

Result<void> LeafStream::Impl::send(const std::string& name, std::optional<std::uint64_t> wave,
                                    const wire::Fields& fields, Nanos timeout) {
  std::unique_lock lock(mutex_);
  Open* open = find(name);
  if (closed_ || leaving_) return unexpected(closed_error(why_closed_));
  if (open == nullptr) return unexpected(Code::kUnavailable, "stream '" + name + "' is closed");
  const auto aggregation = open->state.aggregation;
  Result<wire::Fields> lifted = fields;
  if (aggregation) {
    lock.unlock();
    lifted = aggregation->lift(id(), fields);
    lock.lock();
    if (!lifted) return unexpected(std::move(lifted.error()));
  }
  const bool has_room = wait(lock, deadline_of(timeout), [&] {
    open = find(name);
    return closed_ || open == nullptr || open->outgoing_bytes < kOutgoingBytes;
  });
  if (closed_) return unexpected(closed_error(why_closed_));
  if (open == nullptr) return unexpected(Code::kUnavailable, "stream '" + name + "' is closed");
  if (!has_room) {
    return unexpected(time_out_error("stream '" + name +
                                     "': the tree does not take more, and what "
                                     "waits here was not taken"));
  }
  if (wave && *wave < open->next_wave) {
    return unexpected(Code::kInvalidArgument,
                      "stream '" + name + "': wave " + std::to_string(*wave) +
                          " was sent before; the next is " + std::to_string(open->next_wave));
  }
  const bool idle = delivered_;
  enqueue(*open, wave.value_or(open->next_wave), *std::move(lifted));
  if (options_.threading == Threading::kOwnThread) {
    pump_soon();
    return {};
  }
  // A system call for each wave would cost more than all else: while others are on their way, what
  // follows closely shares a packet.
  const bool full = open->outgoing.size() > 1;
  if (!idle && !full && monotonic_now() < last_pump_ + kGather) return {};
  lock.unlock();
  pump();
  serve(0);
  return {};
}

void LeafStream::Impl::enqueue(Open& open, std::uint64_t wave, wire::Fields fields) {
  const std::size_t bytes = fields.bytes();
  const bool follows = !open.outgoing.empty() &&
                       open.outgoing.back().first + open.outgoing.back().waves.size() == wave &&
                       open.outgoing.back().waves.size() < kPacketWaves &&
                       open.outgoing.back().bytes + bytes <= kPacketBytes;
  if (!follows) open.outgoing.push_back({wave, {}, 0});
  open.outgoing.back().waves.push_back(std::move(fields));
  open.outgoing.back().bytes += bytes;
  open.outgoing_bytes += bytes;
  open.next_wave = wave + 1;
  delivered_ = false;
}

void LeafStream::Impl::pump_soon() {
  if (std::exchange(pump_is_posted_, true)) return;
  loop_.post([this] { pump(); });
}

// On the loop: from the program's hands into the journal, as far as there is room.
void LeafStream::Impl::pump() {
  std::unique_lock lock(mutex_);
  last_pump_ = monotonic_now();
  pump_is_posted_ = false;
  for (auto& [stream, open] : streams_) {
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
  delivered_ = node_.is_delivered();
  for (const auto& [stream, open] : streams_) delivered_ = delivered_ && open.outgoing.empty();
  changed_.notify_all();
}

bool LeafStream::Impl::put(StreamId stream, const Open& open, const Run& run) {
  const Nanos now = monotonic_now();
  if (node_.put(stream, run.first, run.waves, now)) return true;
  return open.state.spec.when_full == wire::WhenFull::kDropNewest &&
         node_.put_lost(stream, run.first, run.first + run.waves.size(), now);
}

Result<void> LeafStream::Impl::flush(Nanos timeout) {
  std::unique_lock lock(mutex_);
  const bool done = wait(lock, deadline_of(timeout), [this] { return closed_ || delivered_; });
  if (delivered_) return {};
  if (closed_) return unexpected(closed_error(why_closed_));
  if (!done) return unexpected(time_out_error("not everything was acknowledged"));
  return {};
}

// ---- receiving ----

std::optional<Received> LeafStream::Impl::take_received(const std::string& name) {
  for (auto it = received_.begin(); it != received_.end(); ++it) {
    if (!name.empty() && it->stream != name) continue;
    Received received = std::move(*it);
    received_.erase(it);
    received_bytes_ -= received.fields.bytes();
    return received;
  }
  return std::nullopt;
}

Result<Received> LeafStream::Impl::receive(const std::string& name, Nanos timeout) {
  std::unique_lock lock(mutex_);
  std::optional<Received> received;
  wait(lock, deadline_of(timeout), [&] {
    if (!received) received = take_received(name);
    return received.has_value() || closed_;
  });
  if (received) return *std::move(received);
  if (closed_) return unexpected(closed_error(why_closed_));
  return unexpected(time_out_error("nothing was received"));
}

void LeafStream::Impl::receive_then(const std::string& name, Nanos timeout,
                                    std::function<void(Result<Received>)> then) {
  std::unique_lock lock(mutex_);
  auto received = take_received(name);
  if (received || closed_) {
    lock.unlock();
    if (received) return then(*std::move(received));
    return then(unexpected(closed_error(why_closed_)));
  }
  const auto waiter = waiters_.insert(waiters_.end(), {name, std::move(then)});
  const void* identity = &*waiter;
  loop_.post_at(deadline_of(timeout), [this, identity] {
    std::unique_lock again(mutex_);
    const auto it = std::find_if(waiters_.begin(), waiters_.end(),
                                 [&](const Waiter& one) { return &one == identity; });
    if (it == waiters_.end()) return;
    const auto resume = std::move(it->then);
    waiters_.erase(it);
    again.unlock();
    resume(unexpected(time_out_error("nothing was received")));
  });
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
}

bool LeafStream::Impl::on_multicast(StreamId stream, std::uint64_t number, wire::Fields fields) {
  std::unique_lock lock(mutex_);
  const auto it = streams_.find(stream);
  if (it == streams_.end()) return false;
  Received received{it->second.state.spec.name, number, std::move(fields)};
  const auto waiter = std::find_if(waiters_.begin(), waiters_.end(), [&](const Waiter& one) {
    return one.stream.empty() || one.stream == received.stream;
  });
  if (waiter != waiters_.end()) {
    const auto resume = std::move(waiter->then);
    waiters_.erase(waiter);
    lock.unlock();
    resume(std::move(received));
    return true;
  }
  if (received_bytes_ > kReceivedBytes) return false;
  received_bytes_ += received.fields.bytes();
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
  node_.leave(monotonic_now() + options_.join_limit, monotonic_now());
}

void LeafStream::Impl::on_closed(const std::string& why) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  why_closed_ = why;
  std::list<Waiter> waiters = std::exchange(waiters_, {});
  changed_.notify_all();
  lock.unlock();
  for (Waiter& waiter : waiters) waiter.then(unexpected(closed_error(why)));
}

// ---- end ----

Result<void> LeafStream::Impl::wait_until_closed(Nanos timeout) {
  std::unique_lock lock(mutex_);
  if (!wait(lock, deadline_of(timeout), [this] { return closed_; })) {
    return unexpected(time_out_error("the tree was not closed"));
  }
  if (!why_closed_.empty()) return unexpected(closed_error(why_closed_));
  return {};
}

Result<void> LeafStream::Impl::close(Nanos timeout) {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  const Nanos deadline = deadline_of(timeout);
  loop_.post([this, deadline] {
    pump();
    node_.leave(deadline, monotonic_now());
  });
  // The node itself gives up at the deadline, and says what is lost.
  return wait_until_closed(timeout + kCloseAtEnd);
}

void LeafStream::Impl::serve(Nanos time) {
  if (time > 0) pump();
  loop_.run_until([time] { return time == 0; }, deadline_of(time));
}

// ---- the public face ----

Result<void> LeafStream::send(const wire::Fields& fields, Nanos timeout) {
  return impl_->send(name_, std::nullopt, fields, timeout);
}

Result<void> LeafStream::send_wave(std::uint64_t wave, const wire::Fields& fields, Nanos timeout) {
  return impl_->send(name_, wave, fields, timeout);
}

Result<Received> LeafStream::receive(Nanos timeout) { return impl_->receive(name_, timeout); }

Awaitable<Result<Received>> LeafStream::async_receive(Nanos timeout) {
  return Awaitable<Result<Received>>(
      [impl = impl_, name = name_, timeout](std::function<void(Result<Received>)> then) {
        impl->receive_then(name, timeout, std::move(then));
      });
}

Result<void> LeafStream::flush(Nanos timeout) { return impl_->flush(timeout); }

Result<std::unique_ptr<Leaf>> Leaf::join(const LeafOptions& options) {
  auto impl = LeafStream::Impl::make(options);
  if (!impl) return unexpected(std::move(impl.error()));
  std::unique_ptr<Leaf> leaf(new Leaf(*std::move(impl)));
  if (auto joined = leaf->impl_->join(); !joined) return unexpected(std::move(joined.error()));
  return leaf;
}

Leaf::~Leaf() { static_cast<void>(close(kCloseAtEnd)); }

LeafId Leaf::id() const { return impl_->id(); }

Result<LeafStream> Leaf::stream(const std::string& name, Nanos timeout) {
  if (auto open = impl_->wait_for_stream(name, timeout); !open) {
    return unexpected(std::move(open.error()));
  }
  return LeafStream(impl_, name);
}

Result<Received> Leaf::receive(Nanos timeout) { return impl_->receive("", timeout); }
void Leaf::serve(Nanos time) { impl_->serve(time); }
Result<void> Leaf::wait_until_closed(Nanos timeout) { return impl_->wait_until_closed(timeout); }
Result<void> Leaf::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::backend
