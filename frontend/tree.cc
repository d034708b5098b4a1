#include "frontend/tree.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "filters/aggregation.h"
#include "frontend/back_end_launch.h"
#include "frontend/tree_node.h"
#include "net/key.h"
#include "net/runtime.h"
#include "tree/shape.h"
#include "wire/waves.h"

namespace xylem::frontend {
namespace {

constexpr Nanos kCloseAtEnd = 5 * kSecond;
constexpr Nanos kKillPatience = 2 * kSecond;

Nanos deadline_of(Nanos timeout) { return monotonic_now() + timeout; }

std::chrono::steady_clock::time_point time_point_of(Nanos when) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(when));
}

Error timed_out(const std::string& what) { return {Code::kTimedOut, what + " in time"}; }
Error closed() { return {Code::kUnavailable, "the tree is closed"}; }

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
  return spec;
}

bool all_are_here(const TreeOptions& options) {
  return options.launcher.empty() &&
         std::all_of(options.hosts.begin(), options.hosts.end(), is_this_host);
}

}  // namespace

// The node under a lock: the loop's thread takes it for each event, the program for each call. What
// sends is done on the loop.
class Stream::Impl final : public net::Node {
 public:
  struct Parts {
    TreeOptions options;
    TreeNodeOptions node;
    net::RuntimeOptions network;
    std::vector<std::string> environment;
  };
  static Result<std::unique_ptr<Parts>> prepare(TreeOptions options);
  explicit Impl(std::unique_ptr<Parts> parts);
  ~Impl() override;

  Result<void> start();
  const std::vector<std::string>& environment() const { return parts_->environment; }
  Result<void> wait_for_leaves(std::size_t count, Nanos timeout);
  std::vector<LeafFacts> leaves() const;
  std::string print() const;
  Result<StreamId> open(const StreamOptions& options, Nanos timeout);
  void close_stream(StreamId stream);
  Result<Wave> receive(StreamId stream, Nanos timeout);
  void receive_then(StreamId stream, Nanos timeout, std::function<void(Result<Wave>)> then);
  Result<std::uint64_t> multicast(StreamId stream, const wire::Fields& fields);
  StreamAccount account(StreamId stream) const;
  Result<TreeEvent> next_event(Nanos timeout);
  void next_event_then(Nanos timeout, std::function<void(Result<TreeEvent>)> then);
  Result<void> close(Nanos timeout);

  void on_start(net::Network& network, Nanos now) override;
  void on_link_up(net::LinkId link, const net::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(net::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(net::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int fd, Nanos now) override;

 private:
  // What a coroutine waits for: tried after each event; true when it is answered.
  using Attempt = std::function<bool(bool last)>;

  template <typename Event>
  void on_event(const Event& event);
  template <typename Work>
  auto on_loop(Work work);
  template <typename Done>
  bool wait_until(std::unique_lock<std::mutex>& lock, Nanos deadline, const Done& done);
  void wait_then(Nanos timeout, Attempt attempt);
  std::optional<Wave> take_wave(StreamId stream);
  std::string missing_hosts() const;
  void end_children(Nanos deadline);

  std::unique_ptr<Parts> parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TreeNode node_;
  std::list<Attempt> attempts_;
  bool stopping_ = false;
  bool closed_ = false;
  std::set<pid_t> children_;
  net::Network* network_ = nullptr;
  net::EventLoop loop_;
  std::thread thread_;  // Last: it uses all of the above.
};

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
    const bool six = it.find(':') != std::string::npos;
    addresses +=
        (addresses.empty() ? "" : ",") + (six ? "[" + it + "]" : it) + ":" + std::to_string(*port);
  }
  parts->environment = {"XYLEM_ADDRESS=" + addresses, "XYLEM_RUN=" + parts->network.run,
                        "XYLEM_KEY=" + net::to_hex(parts->network.key),
                        std::string("XYLEM_TLS=") + (options.tls ? "on" : "off")};
  if (!options.comm_process.empty()) {
    parts->environment.push_back("XYLEM_COMMPROC=" + options.comm_process);
  }
  parts->node.root.shape = *shape;
  parts->node.expected = options.expected;
  if (options.expected == 0 && !others_start) {
    parts->node.expected = options.hosts.size() * options.back_ends_per_host;
  }
  parts->node.settle = options.settle;
  parts->node.queue_bytes = options.queue_bytes;
  parts->options = std::move(options);
  return parts;
}

Stream::Impl::Impl(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)), node_(parts_->node), loop_(*this, std::move(parts_->network)) {
  thread_ = std::thread([this] { loop_.run(); });
}

Result<void> Stream::Impl::start() {
  const TreeOptions& options = parts_->options;
  if (options.back_end.empty()) return {};
  for (const std::string& host : options.hosts) {
    for (std::size_t i = 0; i < options.back_ends_per_host; ++i) {
      auto child = launch_on(host, options.launcher, options.back_end, parts_->environment);
      if (!child) return unexpected(std::move(child.error()));
      children_.insert(*child);
    }
  }
  return wait_for_leaves(parts_->node.expected, options.start_limit);
}

Stream::Impl::~Impl() {
  static_cast<void>(close(kCloseAtEnd));
  thread_.join();
}

Result<void> Stream::Impl::wait_for_leaves(std::size_t count, Nanos timeout) {
  std::unique_lock lock(mutex_);
  const bool done = wait_until(lock, deadline_of(timeout), [&] {
    return closed_ || (node_.is_settled() && node_.attached_leaves() >= count);
  });
  if (closed_) return unexpected(closed());
  if (done) return {};
  return unexpected(timed_out(std::to_string(node_.attached_leaves()) + " of " +
                              std::to_string(count) + " back ends were there" + missing_hosts()));
}

std::string Stream::Impl::missing_hosts() const {
  std::set<std::string> seen;
  for (const auto& [id, node] : node_.overlay().nodes()) seen.insert(node.host);
  std::string missing;
  for (const std::string& host : parts_->options.hosts) {
    if (!is_this_host(host) && !seen.contains(host)) missing += " " + host;
  }
  return missing.empty() ? "" : "; none of them on" + missing + ",";
}

// ---- the node, under the lock ----

template <typename Event>
void Stream::Impl::on_event(const Event& event) {
  std::list<Attempt> attempts;
  {
    const std::lock_guard lock(mutex_);
    event();
    if (node_.is_dissolved() && stopping_) network_->stop(0);
    attempts.swap(attempts_);
  }
  changed_.notify_all();
  attempts.remove_if([](const Attempt& attempt) { return attempt(false); });
  if (attempts.empty()) return;
  const std::lock_guard lock(mutex_);
  attempts_.splice(attempts_.begin(), attempts);
}

void Stream::Impl::on_start(net::Network& network, Nanos now) {
  network_ = &network;
  on_event([&] { node_.on_start(network, now); });
}

void Stream::Impl::on_link_up(net::LinkId link, const net::Peer& peer, Nanos now) {
  on_event([&] { node_.on_link_up(link, peer, now); });
}

void Stream::Impl::on_connect_failed(NodeId node, const Error& why, Nanos now) {
  on_event([&] { node_.on_connect_failed(node, why, now); });
}

void Stream::Impl::on_message(net::LinkId link, wire::Message message, Nanos now) {
  on_event([&] { node_.on_message(link, std::move(message), now); });
}

void Stream::Impl::on_link_down(net::LinkId link, const Error& why, Nanos now) {
  on_event([&] { node_.on_link_down(link, why, now); });
}

void Stream::Impl::on_timer(Nanos now) {
  on_event([&] { node_.on_timer(now); });
}

void Stream::Impl::on_readable(int, Nanos) {}

// ---- the program's calls ----

template <typename Done>
bool Stream::Impl::wait_until(std::unique_lock<std::mutex>& lock, Nanos deadline,
                              const Done& done) {
  return changed_.wait_until(lock, time_point_of(deadline), done);
}

// Runs `work` on the loop, under the lock, and gives its outcome.
template <typename Work>
auto Stream::Impl::on_loop(Work work) {
  std::optional<decltype(work())> outcome;
  std::unique_lock lock(mutex_);
  loop_.post([&] {
    const std::lock_guard on_loop_lock(mutex_);
    outcome.emplace(work());
    changed_.notify_all();
  });
  changed_.wait(lock, [&] { return outcome.has_value(); });
  return *std::move(outcome);
}

std::vector<LeafFacts> Stream::Impl::leaves() const {
  const std::lock_guard lock(mutex_);
  std::vector<LeafFacts> leaves;
  for (const auto& [id, node] : node_.overlay().nodes()) {
    if (node.leaf == wire::kNoLeaf) continue;
    leaves.push_back({node.leaf, node.host, node_state_name(node.state)});
  }
  return leaves;
}

std::string Stream::Impl::print() const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  for (const auto& [id, node] : node_.overlay().nodes()) {
    out << raw(id) << ' ' << wire::role_name(node.role) << ' ' << node.host << " level "
        << node.level << " below " << raw(node.parent) << ' ' << node_state_name(node.state)
        << '\n';
  }
  return out.str();
}

Result<StreamId> Stream::Impl::open(const StreamOptions& options, Nanos timeout) {
  wire::StreamSpec spec = spec_of(options);
  if (!spec.plugin.empty()) {
    auto fingerprint = filters::plugin_fingerprint(spec.plugin);
    if (!fingerprint) return unexpected(std::move(fingerprint.error()));
    spec.plugin_sha256 = *fingerprint;
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || stopping_) return unexpected(closed());
  }
  auto stream = on_loop([&] { return node_.open(std::move(spec)); });
  if (!stream) return stream;
  std::unique_lock lock(mutex_);
  Result<bool> is_open = false;
  wait_until(lock, deadline_of(timeout), [&] {
    is_open = node_.is_open(*stream);
    return closed_ || !is_open || *is_open;
  });
  lock.unlock();
  if (is_open && *is_open) return stream;
  close_stream(*stream);
  if (!is_open) return unexpected(std::move(is_open.error()));
  return unexpected(timed_out("stream '" + options.name + "': not every node answered"));
}

void Stream::Impl::close_stream(StreamId stream) {
  loop_.post([this, stream] { on_event([&] { node_.close(stream); }); });
}

std::optional<Wave> Stream::Impl::take_wave(StreamId stream) {
  Inbox* inbox = node_.inbox(stream);
  if (inbox == nullptr) return std::nullopt;
  const bool was_full = inbox->is_full();
  auto wave = inbox->receive();
  if (was_full && inbox->owes_acknowledgement()) {
    loop_.post([this] {
      const std::lock_guard lock(mutex_);
      node_.send_acknowledgements();
    });
  }
  return wave;
}

Result<Wave> Stream::Impl::receive(StreamId stream, Nanos timeout) {
  std::unique_lock lock(mutex_);
  std::optional<Wave> wave;
  wait_until(lock, deadline_of(timeout), [&] {
    wave = take_wave(stream);
    return wave || closed_ || node_.inbox(stream) == nullptr;
  });
  if (wave) return *std::move(wave);
  if (closed_) return unexpected(closed());
  if (node_.inbox(stream) == nullptr) {
    return unexpected(Code::kUnavailable, "the stream is closed");
  }
  return unexpected(timed_out("no wave was complete"));
}

// `attempt` is tried now, after each event, and for the last time at the time-out.
void Stream::Impl::wait_then(Nanos timeout, Attempt attempt) {
  auto shared = std::make_shared<Attempt>(std::move(attempt));
  auto answered = std::make_shared<bool>(false);
  const Attempt once = [shared, answered](bool last) {
    if (*answered) return true;
    *answered = (*shared)(last);
    return *answered;
  };
  loop_.post([this, timeout, once] {
    if (once(false)) return;
    loop_.post_at(deadline_of(timeout), [once] { once(true); });
    const std::lock_guard lock(mutex_);
    attempts_.push_back(once);
  });
}

void Stream::Impl::receive_then(StreamId stream, Nanos timeout,
                                std::function<void(Result<Wave>)> then) {
  wait_then(timeout, [this, stream, then = std::move(then)](bool last) {
    std::unique_lock lock(mutex_);
    auto wave = take_wave(stream);
    const bool is_closed = closed_ || node_.inbox(stream) == nullptr;
    lock.unlock();
    if (wave) {
      then(*std::move(wave));
    } else if (is_closed) {
      then(unexpected(Code::kUnavailable, "the stream is closed"));
    } else if (last) {
      then(unexpected(timed_out("no wave was complete")));
    } else {
      return false;
    }
    return true;
  });
}

Result<std::uint64_t> Stream::Impl::multicast(StreamId stream, const wire::Fields& fields) {
  const std::lock_guard lock(mutex_);
  if (closed_ || stopping_) return unexpected(closed());
  auto number = node_.next_multicast(stream);
  if (!number) return number;
  loop_.post([this, stream, number = *number, fields] {
    const std::lock_guard on_loop_lock(mutex_);
    node_.multicast(stream, number, fields);
  });
  return number;
}

StreamAccount Stream::Impl::account(StreamId stream) const {
  const std::lock_guard lock(mutex_);
  const Inbox* inbox = const_cast<TreeNode&>(node_).inbox(stream);
  return inbox == nullptr ? StreamAccount{} : inbox->account();
}

Result<TreeEvent> Stream::Impl::next_event(Nanos timeout) {
  std::unique_lock lock(mutex_);
  std::optional<TreeEvent> event;
  wait_until(lock, deadline_of(timeout), [&] {
    event = node_.take_event();
    return event || closed_;
  });
  if (event) return *std::move(event);
  if (closed_) return unexpected(closed());
  return unexpected(timed_out("nothing has happened to the tree"));
}

void Stream::Impl::next_event_then(Nanos timeout, std::function<void(Result<TreeEvent>)> then) {
  wait_then(timeout, [this, then = std::move(then)](bool last) {
    std::unique_lock lock(mutex_);
    auto event = node_.take_event();
    const bool is_closed = closed_;
    lock.unlock();
    if (event) {
      then(*std::move(event));
    } else if (is_closed || last) {
      then(unexpected(is_closed ? closed() : timed_out("nothing has happened to the tree")));
    } else {
      return false;
    }
    return true;
  });
}

// ---- closing ----

Result<void> Stream::Impl::close(Nanos timeout) {
  const Nanos deadline = deadline_of(timeout);
  std::unique_lock lock(mutex_);
  if (closed_) return {};
  if (!std::exchange(stopping_, true)) {
    loop_.post([this] { on_event([&] { node_.finish(); }); });
  }
  const bool done = wait_until(lock, deadline, [&] { return node_.is_dissolved(); });
  std::string trouble;
  const IntervalSet open = node_.open_leaves();
  if (!done && !open.empty()) trouble = "leaves " + open.to_string() + " did not leave";
  closed_ = true;
  lock.unlock();
  loop_.post([this] { on_event([&] { network_->stop(0); }); });
  end_children(std::max(deadline, deadline_of(kKillPatience)));
  if (!trouble.empty()) return unexpected(timed_out(trouble));
  return {};
}

// Back ends that were started here end by themselves when the tree is gone; those that do not are
// asked, then made to.
void Stream::Impl::end_children(Nanos deadline) {
  const auto collect = [this](Nanos until) {
    while (!children_.empty()) {
      std::erase_if(children_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
      if (children_.empty() || monotonic_now() >= until) return;
      ::usleep(1000);
    }
  };
  collect(deadline);
  for (const pid_t child : children_) ::kill(child, SIGTERM);
  collect(deadline_of(kKillPatience));
  for (const pid_t child : children_) ::kill(child, SIGKILL);
  collect(deadline_of(kKillPatience));
}

// ---- the public face ----

Result<Wave> Stream::receive(Nanos timeout) { return impl_->receive(id_, timeout); }

Awaitable<Result<Wave>> Stream::async_receive(Nanos timeout) {
  return Awaitable<Result<Wave>>(
      [impl = impl_, id = id_, timeout](std::function<void(Result<Wave>)> then) {
        impl->receive_then(id, timeout, std::move(then));
      });
}

Result<std::uint64_t> Stream::multicast(const wire::Fields& fields) {
  return impl_->multicast(id_, fields);
}

StreamAccount Stream::account() const { return impl_->account(id_); }
void Stream::close() { impl_->close_stream(id_); }

Result<std::unique_ptr<Tree>> Tree::start(TreeOptions options) {
  auto parts = Stream::Impl::prepare(std::move(options));
  if (!parts) return unexpected(std::move(parts.error()));
  auto impl = std::make_shared<Stream::Impl>(*std::move(parts));
  std::unique_ptr<Tree> tree(new Tree(impl));
  if (auto started = impl->start(); !started) return unexpected(std::move(started.error()));
  return tree;
}

Tree::~Tree() { static_cast<void>(impl_->close(kCloseAtEnd)); }

std::vector<std::string> Tree::environment() const { return impl_->environment(); }

Result<void> Tree::wait_for_leaves(std::size_t count, Nanos timeout) {
  return impl_->wait_for_leaves(count, timeout);
}

std::vector<LeafFacts> Tree::leaves() const { return impl_->leaves(); }
std::string Tree::print() const { return impl_->print(); }

Result<Stream> Tree::open(StreamOptions options, Nanos timeout) {
  auto id = impl_->open(options, timeout);
  if (!id) return unexpected(std::move(id.error()));
  return Stream(impl_, *id);
}

Result<TreeEvent> Tree::next_event(Nanos timeout) { return impl_->next_event(timeout); }

Awaitable<Result<TreeEvent>> Tree::async_next_event(Nanos timeout) {
  return Awaitable<Result<TreeEvent>>(
      [impl = impl_, timeout](std::function<void(Result<TreeEvent>)> then) {
        impl->next_event_then(timeout, std::move(then));
      });
}

Result<void> Tree::close(Nanos timeout) { return impl_->close(timeout); }

}  // namespace xylem::frontend
