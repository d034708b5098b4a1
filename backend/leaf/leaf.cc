#include "backend/leaf.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <utility>

#include "backend/leaf/leaf_internal.h"
#include "base/check.h"
#include "base/log.h"

namespace xylem::backend {
namespace {

constexpr Nanos kCloseAtEnd = 1 * kSecond;
// At exit(), for calls on other threads: one that holds the state or runs the loop, and a
// destructor, which takes twice kCloseAtEnd at most.
constexpr Nanos kLongestCall = 100 * kMillisecond;
constexpr Nanos kLongestStop = 3 * kCloseAtEnd;
// A tool's front end acknowledges on receipt, within a few round trips.
constexpr std::size_t kMaxInFlight = 1u << 20;

}  // namespace

bool Turn::take(Nanos deadline) {
  constexpr auto kPause = std::chrono::milliseconds(1);
  const std::thread::id self = std::this_thread::get_id();
  for (;;) {
    std::thread::id holder;
    if (holder_.compare_exchange_strong(holder, self)) return true;
    if (holder == self || monotonic_now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
}

Error leaf_closed(const std::string& why) {
  return {Code::kUnavailable, why.empty() ? "the tree is closed" : "the tree is closed: " + why};
}

Error leaf_timed_out(const std::string& what) { return {Code::kTimedOut, what + " in time"}; }

// ---- making and joining ----

Result<std::shared_ptr<LeafStream::Impl>> LeafStream::Impl::make(const LeafOptions& options) {
  auto joining = prepare_joining(options);
  if (!joining) return unexpected(std::move(joining.error()));
  joining->node.role = wire::Role::kProgram;
  joining->node.outbox.max_in_flight = kMaxInFlight;
  Parts parts;
  parts.joining = *std::move(joining);
  parts.droppable = std::make_unique<std::set<StreamId>>();
  JournalOptions journal_options;
  journal_options.reason = "the leaf's journal was full";
  // The node calls trim() when little is sent.
  journal_options.give_back_bytes = Journal::kKeepAll;
  journal_options.may_give_up = [droppable = parts.droppable.get()](StreamId stream) {
    return droppable->contains(stream);
  };
  auto journal = Journal::open(parts.joining.memory.bytes(), std::move(journal_options));
  if (!journal) return unexpected(std::move(journal.error()));
  parts.journal.emplace(*std::move(journal));
  auto impl =
      net::make_with_loop([&] { return std::make_shared<Impl>(options, std::move(parts)); });
  if (impl) (*impl)->owner_pid_ = ::getpid();
  return impl;
}

LeafStream::Impl::Impl(const LeafOptions& options, Parts parts)
    : options_(options),
      parts_(std::move(parts)),
      node_(parts_.joining.node, *parts_.journal, *parts_.joining.starter, *this),
      loop_(node_, std::move(parts_.joining.network)) {}

Result<void> LeafStream::Impl::join() {
  if (auto started = start(); !started) return started;
  auto state = state_.lock();
  const bool done =
      wait(state, deadline_in(options_.join_limit), [&] { return state->id || state->closed; });
  if (state->key_refused) return unexpected(Code::kPermissionDenied, state->why_closed);
  if (state->closed) return unexpected(leaf_closed(state->why_closed));
  if (!done) return unexpected(leaf_timed_out("the front end did not accept this leaf"));
  // exit() runs functions in reverse order. Registered again here, so that it runs before the
  // destruction of objects that joining has made, such as OpenSSL's state.
  [[maybe_unused]] static const int kAgain = std::atexit(&close_all);
  return {};
}

// Another thread may have called exit() meanwhile. Then nothing is started.
Result<void> LeafStream::Impl::start() {
  if (options_.threading == Threading::kCaller) return {};
  const Turn::Hold starting(stopping_, kForever);
  const auto state = state_.lock();
  if (state->leaving) return unexpected(leaf_closed("the program ends"));
  return thread_.start("xylem-leaf", [this] {
    const Turn::Hold in_loop(in_loop_, kForever);
    loop_.run();
  });
}

// With kOwnThread the loop runs on its thread, and this thread waits for a change of state.
// Otherwise the loop runs here.
bool LeafStream::Impl::wait(Locked& state, Nanos deadline, const std::function<bool()>& done) {
  if (is_on_own_thread()) return done();
  if (options_.threading == Threading::kOwnThread) return state.wait_until(deadline, done);
  state.unlock();
  run_loop(
      [&] {
        state.lock();
        const bool is_done = done();
        state.unlock();
        return is_done;
      },
      deadline);
  state.lock();
  return done();
}

void LeafStream::Impl::run_loop(const std::function<bool()>& done, Nanos deadline) {
  const Turn::Hold in_loop(in_loop_, deadline);
  if (!in_loop) return;
  pump();
  loop_.run_until(done, deadline);
}

// ---- end ----

Result<void> LeafStream::Impl::wait_until_closed(Nanos timeout) {
  auto state = state_.lock();
  if (!wait(state, deadline_in(timeout), [&] { return state->closed; })) {
    return unexpected(leaf_timed_out("the tree was not closed"));
  }
  if (!state->why_closed.empty()) return unexpected(leaf_closed(state->why_closed));
  return {};
}

void LeafStream::Impl::leave(Nanos deadline) {
  const auto state = state_.lock();
  state->leaving = true;
  loop_.post([this, deadline] {
    pump();
    node_.leave(deadline, monotonic_now());
  });
}

Result<void> LeafStream::Impl::close(Nanos timeout) {
  const Nanos deadline = deadline_in(timeout);
  leave(deadline);
  // The node itself gives up at the deadline, and says what is lost.
  auto closed = wait_until_closed(std::min(timeout, kForever - kCloseAtEnd) + kCloseAtEnd);
  if (options_.threading == Threading::kCaller) {
    // The goodbye is not sent yet.
    run_loop([this] { return loop_.is_stopped(); }, monotonic_now() + kCloseAtEnd);
  }
  if (!closed && monotonic_now() >= deadline) closed.error().code = Code::kTimedOut;
  return closed;
}

void LeafStream::Impl::stop() {
  CHECK(!is_on_own_thread());  // A coroutine must not end the leaf that resumed it.
  const Turn::Hold only_one(stopping_, kForever);  // exit() may meet the destructor.
  // The thread does not run if the system refused it, or if exit() has ended it.
  if (options_.threading == Threading::kOwnThread && !thread_.is_running()) return;
  static_cast<void>(close(kCloseAtEnd));
  thread_.join();
}

bool LeafStream::Impl::is_of_parent() const { return ::getpid() != owner_pid_; }
bool LeafStream::Impl::is_left() const { return is_of_parent() || is_left_; }

// The list of the program's leaves. exit() may run on any thread, and must find the open leaves
// before the destructors of static objects run. For this reason the list is never destroyed.
LeafStream::Impl::Living& LeafStream::Impl::living() {
  // NOLINTNEXTLINE(readability-identifier-naming): what it points to changes.
  static Living* const all = [] {
    // exit() destroys objects in reverse order. A leaf's thread uses the log until it ends, so the
    // log must be made before close_all is registered.
    log(Level::kDebug, "leaves that live when the program exits are closed then");
    std::atexit(&LeafStream::Impl::close_all);
    return new Living;
  }();
  return *all;
}

void LeafStream::Impl::close_at_exit(const std::shared_ptr<Impl>& leaf) {
  const auto all = living().lock();
  std::erase_if(*all, [](const auto& one) { return one.expired(); });
  all->push_back(leaf);
}

// A signal handler may call exit() during a call of this leaf. That call then never ends, so the
// leaf is left as it is. The process ends in any case.
bool LeafStream::Impl::may_be_entered() {
  constexpr auto kPause = std::chrono::milliseconds(1);
  const Nanos deadline = monotonic_now() + kLongestCall;
  while (!state_.try_lock()) {
    if (monotonic_now() > deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  if (options_.threading == Threading::kOwnThread) return true;
  return static_cast<bool>(Turn::Hold(in_loop_, deadline));
}

// Nothing here waits for a change of state_: a handler may have interrupted such a wait, and a
// second wait on the same thread is not possible.
bool LeafStream::Impl::end_at_exit() {
  if (is_on_own_thread() || !may_be_entered()) return false;
  const Turn::Hold stopping(stopping_, monotonic_now() + kLongestStop);
  if (options_.threading == Threading::kCaller) {
    if (stopping) static_cast<void>(close(kCloseAtEnd));
    return static_cast<bool>(stopping);
  }
  // Otherwise the destructor was interrupted, and the thread is about to end.
  if (stopping) leave(deadline_in(kCloseAtEnd));
  if (!Turn::Hold(in_loop_, monotonic_now() + kLongestStop)) return false;
  if (stopping) thread_.join();
  return static_cast<bool>(stopping);
}

void LeafStream::Impl::close_all() {
  const auto leaves = std::exchange(*living().lock(), {});
  for (const auto& one : leaves) {
    const auto leaf = one.lock();
    if (leaf && !leaf->is_of_parent() && !leaf->end_at_exit()) leaf->is_left_ = true;
  }
}

void LeafStream::Impl::serve(Nanos time) {
  CHECK(options_.threading == Threading::kCaller);  // Otherwise the loop would run on two threads.
  run_loop([time] { return time == 0; }, deadline_in(time));
}

// ---- the public face ----

Result<void> LeafStream::send(const wire::Fields& fields, Nanos timeout) {
  return impl_->send(name_, std::nullopt, fields, timeout);
}

Result<void> LeafStream::send_wave(std::uint64_t wave, const wire::Fields& fields, Nanos timeout) {
  return impl_->send(name_, wave, fields, timeout);
}

Awaitable<Result<void>> LeafStream::async_send(const wire::Fields& fields, Nanos timeout) {
  return Awaitable<Result<void>>(
      [impl = impl_, name = name_, fields, timeout](Completion<Result<void>> then) {
        impl->send_then(name, std::nullopt, fields, timeout, std::move(then));
      });
}

Awaitable<Result<void>> LeafStream::async_send_wave(std::uint64_t wave, const wire::Fields& fields,
                                                    Nanos timeout) {
  return Awaitable<Result<void>>(
      [impl = impl_, name = name_, wave, fields, timeout](Completion<Result<void>> then) {
        impl->send_then(name, wave, fields, timeout, std::move(then));
      });
}

Result<Received> LeafStream::receive(Nanos timeout) { return impl_->receive(name_, timeout); }

Awaitable<Result<Received>> LeafStream::async_receive(Nanos timeout) {
  return Awaitable<Result<Received>>(
      [impl = impl_, name = name_, timeout](Completion<Result<Received>> then) {
        impl->receive_then(name, timeout, std::move(then));
      });
}

Result<void> LeafStream::flush(Nanos timeout) { return impl_->flush(timeout); }

Awaitable<Result<void>> LeafStream::async_flush(Nanos timeout) {
  return Awaitable<Result<void>>([impl = impl_, timeout](Completion<Result<void>> then) {
    impl->flush_then(timeout, std::move(then));
  });
}

Result<std::unique_ptr<Leaf>> Leaf::join(const LeafOptions& options) {
  auto impl = LeafStream::Impl::make(options);
  if (!impl) return unexpected(std::move(impl.error()));
  std::unique_ptr<Leaf> leaf(new Leaf(*std::move(impl)));  // A private constructor.
  LeafStream::Impl::close_at_exit(leaf->impl_);
  if (auto joined = leaf->impl_->join(); !joined) return unexpected(std::move(joined.error()));
  return leaf;
}

Leaf::~Leaf() {
  if (!impl_->is_left()) {
    impl_->stop();
    return;
  }
  // In a child of fork(), the thread does not exist and the sockets belong to the parent. Or exit()
  // has interrupted a call of this leaf. In both cases nothing of the leaf may be used, so it is
  // leaked.
  static_cast<void>(new (std::nothrow) std::shared_ptr<LeafStream::Impl>(std::move(impl_)));
}

LeafId Leaf::id() const { return impl_->id(); }

Result<LeafStream> Leaf::stream(const std::string& name, Nanos timeout) {
  if (auto open = impl_->wait_for_stream(name, timeout); !open) {
    return unexpected(std::move(open.error()));
  }
  return LeafStream(impl_, name);
}

Result<Received> Leaf::receive(Nanos timeout) { return impl_->receive("", timeout); }

Awaitable<Result<Received>> Leaf::async_receive(Nanos timeout) {
  return Awaitable<Result<Received>>([impl = impl_, timeout](Completion<Result<Received>> then) {
    impl->receive_then("", timeout, std::move(then));
  });
}

void Leaf::serve(Nanos time) { impl_->serve(time); }
Result<void> Leaf::wait_until_closed(Nanos timeout) { return impl_->wait_until_closed(timeout); }
Result<void> Leaf::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::backend
