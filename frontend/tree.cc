#include "frontend/tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/run_contract.h"
#include "frontend/tree_internal.h"
#include "launch/back_end_launch.h"
#include "net/address.h"
#include "net/key.h"
#include "tree/shape.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kCloseAtEnd = 5 * kSecond;
constexpr Nanos kKillPatience = 2 * kSecond;
constexpr Nanos kGatherFailures = 300 * kMillisecond;

bool all_are_here(const TreeOptions& options) {
  return options.launcher.empty() &&
         std::all_of(options.hosts.begin(), options.hosts.end(), launch::is_this_host);
}

}  // namespace

Error tree_closed() { return {Code::kUnavailable, "the tree is closed"}; }
Error tree_timed_out(const std::string& what) { return {Code::kTimedOut, what + " in time"}; }

// ---- starting ----

Result<std::unique_ptr<Stream::Impl::Parts>> Stream::Impl::prepare(TreeOptions options) {
  auto parts = std::make_unique<Parts>();
  auto shape = tree::parse_shape(options.shape);
  if (!shape) return unexpected(std::move(shape.error()));
  if (options.hosts.empty()) options.hosts = {""};
  const bool here = all_are_here(options);
  const bool others_start = options.back_end.empty();
  std::string host = options.listen;
  if (host.empty()) host = here && !others_start ? "127.0.0.1" : "0.0.0.0";
  auto socket = net::listen_tcp(host, 0);
  if (!socket) return unexpected(std::move(socket.error()));
  auto port = net::bound_port(*socket);
  if (!port) return unexpected(std::move(port.error()));

  parts->network.key = net::make_key();
  std::array<std::uint8_t, 8> run{};
  net::fill_random(run);
  parts->network.run = net::to_hex(run);
  parts->network.tls = options.tls;
  parts->network.node = kFrontEndNode;
  parts->network.is_root = true;
  parts->network.listening.push_back(*std::move(socket));
  std::string addresses;
  parts->network.reachable_hosts = net::reachable_addresses(host, net::interface_addresses());
  for (const std::string& it : parts->network.reachable_hosts) {
    addresses += (addresses.empty() ? "" : ",") + net::address_text(it, *port);
  }
  const auto add_variable = [&parts](const char* name, const std::string& value) {
    parts->environment.push_back(std::string(name) + "=" + value);
  };
  add_variable(kEnvAddress, addresses);
  add_variable(kEnvRun, parts->network.run);
  add_variable(kEnvKey, net::to_hex(parts->network.key));
  add_variable(kEnvTls, options.tls ? "on" : "off");
  if (!options.comm_process.empty()) add_variable(kEnvCommproc, options.comm_process);
  parts->node.root.shape = *shape;
  parts->node.root.lost_limit = options.lost_limit;
  parts->node.gathering.expected = options.expected;
  if (options.expected == 0 && !others_start) {
    parts->node.gathering.expected = options.hosts.size() * options.back_ends_per_host;
  }
  parts->node.gathering.settle = options.settle;
  parts->node.queue_bytes = options.queue_bytes;
  parts->options = std::move(options);
  return parts;
}

Stream::Impl::Impl(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)), state_(parts_->node), loop_(*this, std::move(parts_->network)) {}

Result<void> Stream::Impl::start() {
  if (auto started = thread_.start("xylem-tree", [this] { loop_.run(); }); !started) return started;
  auto state = state_.lock();
  state.wait_until(kForever, [&] { return state->network != nullptr; });
  state.unlock();
  const TreeOptions& options = parts_->options;
  if (options.back_end.empty()) return {};
  const Nanos deadline = deadline_in(options.start_limit);
  if (auto launched = launch_all(); !launched) return launched;
  state.lock();
  const std::size_t count = parts_->node.gathering.expected;
  const auto& failures = state->back_end_failures;
  wait_until(state, deadline, [&] { return !failures.empty() || state->node.has_all(count); });
  if (!failures.empty() && !state->node.has_all(count)) {
    // A launcher that fails on one host usually fails on others, too. One message reports all
    // failures.
    wait_until(state, std::min(deadline, deadline_in(kGatherFailures)),
               [&] { return failures.size() == state->children.size(); });
    return unexpected(Code::kUnavailable, gather_failures(failures));
  }
  if (state->node.has_all(count)) return {};
  return unexpected(tree_timed_out(state->node.what_is_missing(count) + not_there(*state)));
}

Result<void> Stream::Impl::launch_all() {
  const TreeOptions& options = parts_->options;
  for (const std::string& host : options.hosts) {
    for (std::size_t i = 0; i < options.back_ends_per_host; ++i) {
      auto launched =
          launch::launch_on(host, options.launcher, options.back_end, parts_->environment);
      if (!launched) return unexpected(std::move(launched.error()));
      const pid_t pid = launched->pid();
      const int said = launched->said();
      Child child{host, *std::move(launched),
                  UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), false};
      const int fd = child.pidfd.get();
      const auto state = state_.lock();
      state->children.emplace(pid, std::move(child));
      overlay::Network* const network = state->network;
      if (fd >= 0) loop_.post([network, fd] { network->watch(fd); });
      if (said >= 0) loop_.post([network, said] { network->watch(said); });
    }
  }
  return {};
}

Result<void> Stream::Impl::wait_for_leaves(std::size_t count, Nanos timeout) {
  auto state = state_.lock();
  wait_until(state, deadline_in(timeout),
             [&] { return state->closed || state->node.has_all(count); });
  if (state->closed) return unexpected(tree_closed());
  if (state->node.has_all(count)) return {};
  return unexpected(tree_timed_out(state->node.what_is_missing(count) + not_there(*state)));
}

std::string Stream::Impl::not_there(const State& state) const {
  std::set<std::string> seen;
  for (const auto& [id, node] : state.node.overlay().nodes()) seen.insert(node.host);
  std::string missing;
  for (const std::string& host : parts_->options.hosts) {
    if (!launch::is_this_host(host) && !seen.contains(host)) missing += " " + host;
  }
  return missing.empty() ? "" : "; none of them on" + missing + ",";
}

// ---- the node, under the lock ----

void Stream::Impl::end_when_dissolved(State& state) {
  if (!state.node.is_dissolved() || !state.stopping) return;
  state.closed = true;
  state.node.end_events("the tree was closed");
  state.network->stop(0);
}

void Stream::Impl::try_waiters() {
  if (state_.lock()->closed) {
    waiters_.end();
  } else {
    net::try_waiters(waiters_, loop_);
  }
}

void Stream::Impl::on_start(overlay::Network& network, Nanos now) {
  on_event([&](State& state) {
    state.network = &network;
    state.node.on_start(network, now);
  });
}

void Stream::Impl::on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) {
  on_event([&](State& state) { state.node.on_link_up(link, peer, now); });
}

void Stream::Impl::on_connect_failed(NodeId node, const Error& why, Nanos now) {
  on_event([&](State& state) { state.node.on_connect_failed(node, why, now); });
}

void Stream::Impl::on_message(overlay::LinkId link, wire::Message message, Nanos now) {
  if (!std::holds_alternative<wire::Packet>(message)) {
    return on_event([&](State& state) { state.node.on_message(link, std::move(message), now); });
  }
  // The node's timer comes after all messages that arrived together; then waiting calls are
  // resumed.
  state_.lock()->node.on_message(link, std::move(message), now);
}

void Stream::Impl::on_link_down(overlay::LinkId link, const Error& why, Nanos now) {
  on_event([&](State& state) { state.node.on_link_down(link, why, now); });
}

void Stream::Impl::on_timer(Nanos now) {
  on_event([&](State& state) { state.node.on_timer(now); });
}

// A process that was started here has written output or has ended.
void Stream::Impl::on_readable(int fd, Nanos) {
  on_event([&](State& state) {
    for (auto& [pid, child] : state.children) {
      if (child.launched.said() == fd && !child.launched.hear()) state.network->unwatch(fd);
      if (child.pidfd.get() == fd && collect(state, pid, child)) state.network->unwatch(fd);
    }
  });
}

bool Stream::Impl::collect(State& state, pid_t pid, Child& child) {
  if (child.has_ended) return true;
  int status = 0;
  const pid_t ended = ::waitpid(pid, &status, WNOHANG);
  if (ended == 0) return false;
  child.has_ended = true;
  if (ended < 0 || status == 0) return true;  // The program itself may have called waitpid().
  const std::string how = WIFEXITED(status)
                              ? "ended with code " + std::to_string(WEXITSTATUS(status))
                              : std::string("was killed: ") + ::strsignal(WTERMSIG(status));
  child.launched.hear();  // The end of the child may be noticed before its last output.
  const std::string& said = child.launched.last_line();
  const launch::BackEndFailure failure{child.host, how + (said.empty() ? "" : ": " + said),
                                       child.launched.by()};
  if (!state.stopping) state.node.note(child.host, gather_failures(std::span(&failure, 1)));
  state.back_end_failures.push_back(failure);
  return true;
}

// ---- closing ----

Result<void> Stream::Impl::close(Nanos timeout) {
  const Nanos deadline = deadline_in(timeout);
  auto state = state_.lock();
  const bool is_first = !std::exchange(state->stopping, true);
  if (is_first && !state->closed) {
    loop_.post([this] { on_event([](State& on_loop) { on_loop.node.finish(); }); });
  }
  wait_until(state, deadline, [&] { return state->closed; });
  Result<void> outcome;
  if (!state->closed) {
    const IntervalSet open = state->node.open_leaves();
    outcome =
        unexpected(tree_timed_out(open.empty() ? "not all communication processes left"
                                               : "leaves " + open.to_string() + " did not leave"));
    state->closed = true;
    state->node.end_events("the tree was closed: " + outcome.error().message);
    loop_.post([this] { on_event([](State& on_loop) { on_loop.network->stop(0); }); });
  }
  state.unlock();
  end_children(std::max(deadline, deadline_in(kKillPatience)));
  return outcome;
}

// Back ends that were started here end by themselves when the tree is closed. Others get SIGTERM,
// then SIGKILL.
void Stream::Impl::end_children(Nanos deadline) {
  const auto all_have_ended = [this](int signal) {
    const auto state = state_.lock();
    bool all = true;
    for (auto& [pid, child] : state->children) {
      if (collect(*state, pid, child)) continue;
      all = false;
      if (signal != 0) ::kill(pid, signal);
    }
    return all;
  };
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal != 0) deadline = deadline_in(kKillPatience);
    if (all_have_ended(signal)) return;
    while (monotonic_now() < deadline) {
      ::usleep(1000);
      if (all_have_ended(0)) return;
    }
  }
}

void Stream::Impl::stop() {
  CHECK(!thread_.is_current());  // A coroutine must not end the tree that resumed it.
  // The system has refused the thread: nothing is to be closed.
  if (!thread_.is_running()) return;
  static_cast<void>(close(kCloseAtEnd));
  thread_.join();
}

// ---- the public face ----

Result<Wave> Stream::receive(Nanos timeout) { return impl_->receive(id_, timeout); }

Awaitable<Result<Wave>> Stream::async_receive(Nanos timeout) {
  return Awaitable<Result<Wave>>([impl = impl_, id = id_, timeout](Completion<Result<Wave>> then) {
    impl->receive_then(id, timeout, std::move(then));
  });
}

Result<std::uint64_t> Stream::multicast(const wire::Fields& fields, Nanos timeout) {
  return impl_->multicast(id_, fields, {}, timeout);
}

Result<std::uint64_t> Stream::multicast(const wire::Fields& fields, const IntervalSet& to,
                                        Nanos timeout) {
  return impl_->multicast(id_, fields, to, timeout);
}

Awaitable<Result<std::uint64_t>> Stream::async_multicast(const wire::Fields& fields,
                                                         const IntervalSet& to, Nanos timeout) {
  using Outcome = Result<std::uint64_t>;
  return Awaitable<Outcome>(
      [impl = impl_, id = id_, fields, to, timeout](Completion<Outcome> then) {
        impl->multicast_then(id, fields, to, timeout, std::move(then));
      });
}

StreamAccount Stream::account() const { return impl_->account(id_); }
void Stream::close() { impl_->close_stream(id_); }

Result<std::unique_ptr<Tree>> Tree::start(TreeOptions options) {
  auto parts = Stream::Impl::prepare(std::move(options));
  if (!parts) return unexpected(std::move(parts.error()));
  auto impl =
      net::make_with_loop([&] { return std::make_shared<Stream::Impl>(*std::move(parts)); });
  if (!impl) return unexpected(std::move(impl.error()));
  std::unique_ptr<Tree> tree(new Tree(*impl));  // A private constructor.
  if (auto started = (*impl)->start(); !started) return unexpected(std::move(started.error()));
  return tree;
}

Tree::~Tree() { impl_->stop(); }

std::vector<std::string> Tree::environment() const { return impl_->environment(); }

Result<void> Tree::wait_for_leaves(std::size_t count, Nanos timeout) {
  return impl_->wait_for_leaves(count, timeout);
}

std::vector<LeafFacts> Tree::leaves() const { return impl_->leaves(); }
std::string Tree::print() const { return impl_->print(); }
Result<std::string> Tree::topology() const { return impl_->topology(); }

Result<Stream> Tree::open(const StreamOptions& options, Nanos timeout) {
  auto id = impl_->open(options, timeout);
  if (!id) return unexpected(std::move(id.error()));
  return Stream(impl_, *id);
}

Result<TreeEvent> Tree::next_event(Nanos timeout) { return impl_->next_event(timeout); }

Awaitable<Result<TreeEvent>> Tree::async_next_event(Nanos timeout) {
  return Awaitable<Result<TreeEvent>>([impl = impl_, timeout](Completion<Result<TreeEvent>> then) {
    impl->next_event_then(timeout, std::move(then));
  });
}

Result<void> Tree::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::frontend
