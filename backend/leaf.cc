#include "backend/leaf.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "backend/leaf_internal.h"
#include "base/check.h"
#include "capture/ring.h"
#include "net/address.h"
#include "net/key.h"

namespace xylem::backend {
namespace {

constexpr Nanos kCloseAtEnd = 1 * kSecond;

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

Error leaf_closed(const std::string& why) {
  return {Code::kUnavailable, why.empty() ? "the tree is closed" : "the tree is closed: " + why};
}

Error leaf_timed_out(const std::string& what) { return {Code::kTimedOut, what + " in time"}; }

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
                                        const wire::HostReport& host, Nanos orphan_limit) {
  CommProcessSetting setting;
  setting.program = from_environment("", "XYLEM_COMMPROC");
  setting.run = network.run;
  setting.front_end = address;
  setting.host = host.name;
  setting.host_key = host.host_key;
  setting.tls = network.tls;
  setting.key = network.key;
  setting.orphan_limit = orphan_limit;
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
  parts.node.orphan_limit = options.orphan_limit;

  auto memory = make_memory("xylem-leaf-journal", options.journal_bytes);
  if (!memory) return unexpected(std::move(memory.error()));
  auto mapping = Mapping::of(memory->get(), options.journal_bytes);
  if (!mapping) return unexpected(std::move(mapping.error()));
  parts.memory = *std::move(mapping);
  parts.starter = std::make_unique<CommProcessStarter>(
      comm_process_setting(address, parts.network, parts.node.host, options.orphan_limit));
  parts.droppable = std::make_unique<std::set<StreamId>>();
  JournalOptions journal_options;
  journal_options.reason = "the leaf's journal was full";
  journal_options.give_back_bytes = Journal::kKeepAll;  // The node trims it when little is sent.
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
  const bool done = wait(lock, monotonic_now() + options_.join_limit,
                         [this] { return id_.has_value() || closed_; });
  if (closed_) return unexpected(Code::kPermissionDenied, why_closed_);
  if (!done) return unexpected(leaf_timed_out("the front end gave this leaf no place"));
  return {};
}

// With a thread of our own the loop runs there, and we wait for what it tells; without, it runs
// here.
bool LeafStream::Impl::wait(std::unique_lock<std::mutex>& lock, Nanos deadline,
                            const std::function<bool()>& done) {
  if (is_on_own_thread()) return done();
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

// ---- end ----

Result<void> LeafStream::Impl::wait_until_closed(Nanos timeout) {
  std::unique_lock lock(mutex_);
  if (!wait(lock, monotonic_now() + timeout, [this] { return closed_; })) {
    return unexpected(leaf_timed_out("the tree was not closed"));
  }
  if (!why_closed_.empty()) return unexpected(leaf_closed(why_closed_));
  return {};
}

Result<void> LeafStream::Impl::close(Nanos timeout) {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  const Nanos deadline = monotonic_now() + timeout;
  loop_.post([this, deadline] {
    pump();
    node_.leave(deadline, monotonic_now());
  });
  // The node itself gives up at the deadline, and says what is lost.
  auto closed = wait_until_closed(timeout + kCloseAtEnd);
  if (options_.threading == Threading::kCaller) {
    // Its goodbye is still on the way out.
    loop_.run_until([this] { return loop_.is_stopped(); }, monotonic_now() + kCloseAtEnd);
  }
  return closed;
}

void LeafStream::Impl::stop() {
  CHECK(!is_on_own_thread());  // A coroutine must not end the leaf that resumed it.
  static_cast<void>(close(kCloseAtEnd));
  if (thread_.joinable()) thread_.join();
}

void LeafStream::Impl::serve(Nanos time) {
  if (time > 0) pump();
  loop_.run_until([time] { return time == 0; }, monotonic_now() + time);
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
      [impl = impl_, name = name_, timeout](Completion<Result<Received>> then) {
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

Leaf::~Leaf() { impl_->stop(); }

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
