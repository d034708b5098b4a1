#include "net/runtime.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <limits>
#include <list>
#include <map>
#include <optional>

#include "base/log.h"
#include "net/handshake.h"
#include "net/link_internal.h"
#include "net/refusals.h"
#include "net/spawn_internal.h"

namespace xylem::net {
namespace {

using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr Nanos kNever = std::numeric_limits<Nanos>::max();
constexpr Nanos kStopGrace = 1 * kSecond;
constexpr unsigned char kTlsHandshakeRecord = 0x16;

std::string describe(const asio::generic::stream_protocol::endpoint& endpoint) {
  if (endpoint.protocol().family() == AF_UNIX) return "unix";
  asio::ip::tcp::endpoint tcp;
  if (endpoint.size() > tcp.capacity()) return "unknown";
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  asio::ip::address address = tcp.address();
  // As it came to a socket of both families.
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return address.to_string() + ":" + std::to_string(tcp.port());
}

bool is_unix(const Socket& socket) {
  error_code error;
  return socket.local_endpoint(error).protocol().family() == AF_UNIX;
}

// The key proves the run; that a Unix socket's other end is this user's costs nothing to know
// before a word is said. Root of another user namespace shows as somebody else, and then TCP is
// there.
Result<void> check_owner(Socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return unexpected(Code::kPermissionDenied, "the owner of the other end cannot be seen");
  }
  if (peer.uid == ::geteuid()) return {};
  return unexpected(Code::kPermissionDenied,
                    "the other end belongs to user " + std::to_string(peer.uid));
}

// Small frames must not wait for more to come; a dead host must not keep a socket for hours.
void tune(Socket& socket) {
  if (is_unix(socket)) return;
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}

asio::awaitable<Result<void>> write_frame(Transport& transport, const wire::Bytes& frame) {
  const Piece piece(frame);
  co_return co_await transport.write_all(std::span(&piece, 1));
}

}  // namespace

class EventLoop::Loop final : public Network, private LinkHost {
 public:
  Loop(Node& node, RuntimeOptions options)
      : work_(context_.get_executor()),
        node_(node),
        options_(std::move(options)),
        tls_(options_.key),
        timer_(context_),
        stopping_(context_) {}

  ~Loop() override {
    // Watched descriptors are their owners' to close.
    for (auto& [fd, descriptor] : watched_) descriptor.release();
    if (options_.notices != nullptr) options_.notices->set_wake({});
  }

  void start() {
    if (std::exchange(started_, true)) return;
    for (UniqueFd& fd : options_.listening) open_acceptor(std::move(fd));
    for (auto& acceptor : acceptors_) spawn(context_.get_executor(), accept_loop(acceptor));
    if (options_.notices != nullptr) {
      options_.notices->set_wake([this] { asio::post(context_, [this] { send_notices(); }); });
    }
    asio::post(context_, [this] { node_.on_start(*this, monotonic_now()); });
  }

  void run() {
    start();
    context_.run();
  }

  void run_until(const std::function<bool()>& done, Nanos deadline) {
    start();
    while (!done() && !context_.stopped()) {
      const Nanos left = deadline - monotonic_now();
      if (left <= 0 || context_.run_one_for(std::chrono::nanoseconds(left)) == 0) break;
    }
    context_.poll();  // What this has brought goes out.
  }

  bool is_stopped() const { return context_.stopped(); }
  int exit_code() const { return exit_code_; }
  void post(std::function<void()> work) { asio::post(context_, std::move(work)); }
  void post_at(Nanos when, std::function<void()> work) {
    post([this, when, work = std::move(work)]() mutable {
      spawn(context_.get_executor(), run_at(when, std::move(work)));
    });
  }

  void send(LinkId link, wire::Message message) override {
    const auto it = links_.find(link);
    if (it != links_.end()) it->second.link->send(std::move(message));
  }

  void connect(const wire::Parent& parent, const wire::Hello& hello) override {
    spawn(context_.get_executor(), connect_to(parent, hello));
  }

  void close(LinkId link, const std::string& reason) override {
    if (const auto it = links_.find(link); it != links_.end()) it->second.link->close(reason);
  }

  LinkStatus status(LinkId link) const override {
    const auto it = links_.find(link);
    return it == links_.end() ? LinkStatus{} : it->second.link->status();
  }

  void set_upward(LinkId link) override {
    upward_ = link;
    on_link_written();  // The new way has room.
    send_notices();
  }

  void watch(int fd) override {
    if (watched_.contains(fd)) return;
    auto [it, added] = watched_.emplace(fd, asio::posix::stream_descriptor(context_, fd));
    wait_readable(fd, it->second);
  }

  void unwatch(int fd) override {
    const auto it = watched_.find(fd);
    if (it == watched_.end()) return;
    it->second.release();  // Cancels the wait; the descriptor stays its owner's.
    watched_.erase(it);
  }

  // Nodes set their timer on every call of theirs, nearly always later than before: the system's
  // timer is left as it is then, and looked at again when it fires.
  void set_timer(Nanos when) override {
    timer_due_ = when;
    if (when <= monotonic_now()) {
      if (std::exchange(tick_is_posted_, true)) return;
      asio::post(context_, [this] {
        tick_is_posted_ = false;
        tick();
      });
    } else if (when < timer_armed_) {
      arm_timer(when);
    }
  }

  std::vector<wire::Address> addresses() const override { return addresses_; }
  std::uint64_t refused() const override { return refusals_.count(); }

  void stop(int exit_code) override {
    if (stop_called_) return;
    stop_called_ = true;
    exit_code_ = exit_code;
    work_.reset();
    refusals_.tell(monotonic_now());
    send_notices();
    for (auto& [id, entry] : links_) entry.link->close("the process ends");
    stopping_.expires_after(std::chrono::nanoseconds(kStopGrace));
    stopping_.async_wait([this](error_code) { context_.stop(); });
    stop_when_idle();
  }

 private:
  struct Entry {
    // The coroutine that runs the link and this table both need it; whoever is last lets it go.
    std::shared_ptr<Link> link;
    bool accepted = false;
  };

  struct Unproved {
    asio::steady_timer deadline;
    bool evicted = false;  // And no longer in unproved_.
  };

  void arm_timer(Nanos when) {
    timer_armed_ = when;
    timer_.expires_after(std::chrono::nanoseconds(std::max<Nanos>(0, when - monotonic_now())));
    timer_.async_wait([this](error_code error) {
      if (error) return;
      timer_armed_ = kNever;
      tick();
    });
  }

  void tick() {
    const Nanos now = monotonic_now();
    if (timer_due_ > now) {
      if (timer_due_ < timer_armed_) arm_timer(timer_due_);
      return;
    }
    timer_due_ = kNever;
    node_.on_timer(now);
    send_notices();
  }

  asio::awaitable<void> run_at(Nanos when, std::function<void()> work) {
    asio::steady_timer timer(context_, std::chrono::nanoseconds(when - monotonic_now()));
    co_await timer.async_wait(kAwait);
    work();
  }

  // ---- LinkHost ----

  void on_link_message(LinkId link, wire::Message message) override {
    if (auto* notice = std::get_if<wire::Notice>(&message); notice && options_.notices) {
      pass_on(link, std::move(*notice));
    } else {
      node_.on_message(link, std::move(message), monotonic_now());
    }
  }

  ClockEstimate root_clock() const override {
    if (options_.is_root) return {.known = true};
    const LinkStatus up = upward_ ? status(*upward_) : LinkStatus{};
    return {.known = up.clock_known, .offset_ns = up.offset_ns, .error_ns = up.error_ns};
  }

  bool may_grant(bool accepted) override {
    const bool has_room = accepted ? upward_has_room() : children_have_room();
    withheld_ = withheld_ || !has_room;
    return has_room;
  }

  bool upward_has_room() const {
    const auto up = upward_ ? links_.find(*upward_) : links_.end();
    return up == links_.end() || up->second.link->queue_bytes() <= kUpwardHighWater;
  }

  bool children_have_room() const {
    return std::none_of(links_.begin(), links_.end(), [](const auto& link) {
      return link.second.accepted && link.second.link->queue_bytes() > kDownwardHighWater;
    });
  }

  // One turn of the loop makes much for many links; it goes when the turn is over.
  void on_link_queued(LinkId link) override {
    queued_.push_back(link);
    if (queued_.size() > 1) return;
    asio::post(context_, [this] {
      for (const LinkId id : std::exchange(queued_, {})) {
        if (const auto it = links_.find(id); it != links_.end()) it->second.link->flush();
      }
    });
  }

  void on_link_written() override {
    if (!std::exchange(withheld_, false)) return;
    for (auto& [id, entry] : links_) entry.link->grant();
  }

  // ---- notices ----

  // They go up only: one from above would come back to who sent it.
  void pass_on(LinkId link, wire::Notice notice) {
    const auto it = links_.find(link);
    if (it == links_.end() || !it->second.accepted) return;
    options_.notices->pass_on(std::move(notice), monotonic_now());
    send_notices();
  }

  void send_notices() {
    if (options_.notices == nullptr || !upward_) return;
    const auto up = links_.find(*upward_);
    if (up == links_.end()) return;
    const Nanos now = monotonic_now();
    if (std::exchange(told_, *upward_) != *upward_) options_.notices->send_again();
    options_.notices->confirm(up->second.link->answered_ping());
    if (!options_.notices->due(now)) return;
    options_.notices->set_sending(true);
    for (wire::Notice& notice : options_.notices->take(now)) {
      up->second.link->send(wire::Message(std::move(notice)));
    }
    options_.notices->set_sending(false);
  }

  // ---- accepting ----

  void open_acceptor(UniqueFd fd) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    CHECK(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0);
    add_addresses(storage);
    acceptors_.emplace_back(context_, asio::generic::stream_protocol(storage.ss_family, 0),
                            fd.release());
  }

  void add_addresses(const sockaddr_storage& storage) {
    wire::Address address;
    address.host_key = options_.host_key;
    if (storage.ss_family == AF_UNIX) {
      address.unix_path = reinterpret_cast<const sockaddr_un&>(storage).sun_path;
      addresses_.insert(addresses_.begin(), address);
      return;
    }
    asio::ip::tcp::endpoint endpoint;
    std::memcpy(endpoint.data(), &storage, endpoint.capacity());
    address.port = endpoint.port();
    if (!endpoint.address().is_unspecified()) {
      address.host = endpoint.address().to_string();
      addresses_.push_back(address);
      return;
    }
    for (const std::string& host : options_.reachable_hosts) {
      address.host = host;
      addresses_.push_back(address);
    }
  }

  asio::awaitable<void> accept_loop(Acceptor& acceptor) {
    for (;;) {
      auto [error, socket] = co_await acceptor.async_accept(kAwait);
      if (error == asio::error::operation_aborted) co_return;
      if (error) {
        // Out of descriptors, most likely: wait for some to come back instead of spinning.
        refuse("unknown", error.message());
        asio::steady_timer pause(context_, std::chrono::milliseconds(100));
        co_await pause.async_wait(kAwait);
        continue;
      }
      if (unproved_.size() >= kMaxUnproved) {
        Unproved* oldest = unproved_.front();
        unproved_.pop_front();
        oldest->evicted = true;
        oldest->deadline.cancel();
      }
      spawn(context_.get_executor(), greet(Socket(std::move(socket))));
    }
  }

  // Whoever connects has kProofDeadline to prove the key.
  asio::awaitable<void> greet(Socket socket) {
    tune(socket);
    error_code ignored;
    const std::string address = describe(socket.remote_endpoint(ignored));
    Unproved self{asio::steady_timer(context_, std::chrono::nanoseconds(options_.proof_deadline))};
    const auto place = unproved_.insert(unproved_.end(), &self);
    auto outcome = co_await (prove(std::move(socket), address) || self.deadline.async_wait(kAwait));
    if (!self.evicted) unproved_.erase(place);
    if (outcome.index() == 1 && self.evicted) {
      refuse(address, "too many connections that have not proved the key: the oldest goes");
    } else if (outcome.index() == 1) {
      refuse(address, "no proof of the key in time");
    } else if (auto& failed = std::get<0>(outcome); !failed) {
      refuse(address, failed.error().message);
    }
  }

  void refuse(const std::string& address, const std::string& why) {
    refusals_.add(address, why, monotonic_now());
    const auto due = refusals_.due();
    if (!due || telling_ == due) return;
    telling_ = due;
    post_at(*due, [this] {
      const Nanos now = monotonic_now();
      if (refusals_.due().value_or(now + 1) <= now) refusals_.tell(now);
    });
  }

  asio::awaitable<Result<void>> prove(Socket socket, std::string address) {
    auto transport = co_await accept_transport(std::move(socket));
    if (!transport) co_return unexpected(std::move(transport.error()));
    FrameReader reader(**transport, wire::kMaxHelloBytes);
    wire::Welcome welcome;
    welcome.node = options_.node;
    welcome.features = kFeatureCredits;
    AcceptHandshake handshake(options_.key, options_.run, welcome);
    while (!handshake.proved()) {
      auto message = co_await reader.next();
      if (!message) co_return unexpected(std::move(message.error()));
      auto answer = handshake.on_message(*message);
      if (!answer) co_return unexpected(std::move(answer.error()));
      const wire::Bytes frame = wire::encode(*answer);
      auto written = co_await write_frame(**transport, frame);
      if (!written) co_return unexpected(std::move(written.error()));
      if (!handshake.refusal().empty()) {
        co_return unexpected(Code::kPermissionDenied, handshake.refusal());
      }
    }
    const wire::Hello& hello = handshake.hello();
    Peer peer;
    peer.role = hello.role;
    peer.node = hello.node;
    peer.leaf = hello.leaf;
    peer.level = hello.level;
    peer.control_version = hello.control_version;
    peer.host_key = hello.host_key;
    peer.address = address;
    peer.accepted = true;
    start_link(peer, hello.features, *std::move(transport), reader.rest());
    co_return Result<void>();
  }

  // TLS or not is decided by the first byte, so that a plain stranger gets a clear refusal.
  asio::awaitable<Result<std::unique_ptr<Transport>>> accept_transport(Socket socket) {
    if (is_unix(socket)) {
      auto owner = check_owner(socket);
      if (!owner) co_return unexpected(std::move(owner.error()));
      co_return make_plain_transport(std::move(socket));
    }
    unsigned char first = 0;
    auto [error, size] = co_await socket.async_receive(asio::buffer(&first, 1),
                                                       asio::socket_base::message_peek, kAwait);
    if (error) co_return unexpected(Code::kUnavailable, "closed before it said anything");
    const bool tls = first == kTlsHandshakeRecord;
    if (tls != options_.tls) {
      if (!tls) co_await refuse_plainly(socket);
      co_return unexpected(Code::kPermissionDenied,
                           tls ? "it speaks TLS, this run does not" : "it does not speak TLS");
    }
    if (!tls) co_return make_plain_transport(std::move(socket));
    co_return co_await tls_.wrap(std::move(socket), true);
  }

  // Who has TLS off where we have it on gets a sentence in its own terms.
  asio::awaitable<void> refuse_plainly(Socket& socket) {
    wire::Refusal refusal;
    refusal.sentence =
        "links of this run use TLS, and yours does not; give both sides the same --tls";
    const wire::Bytes frame = wire::encode(wire::Message(std::move(refusal)));
    const auto buffer = asio::buffer(frame.data(), frame.size());
    co_await asio::async_write(socket, buffer, kAwait);
    // What it has sent is read, lest closing resets the connection under the sentence.
    error_code ignored;
    socket.shutdown(asio::socket_base::shutdown_send, ignored);
    wire::Bytes piece(wire::kMaxHelloBytes);
    co_await socket.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
  }

  // ---- connecting ----

  asio::awaitable<void> connect_to(wire::Parent parent, wire::Hello hello) {
    std::string failures;
    int asked = 0;
    int refused = 0;
    hello.run = options_.run;
    hello.host_key = options_.host_key;
    hello.features = kFeatureCredits;
    for (const wire::Address& address : parent.addresses) {
      if (!address.host_key.empty() && !address.unix_path.empty() &&
          address.host_key != options_.host_key) {
        continue;
      }
      asio::steady_timer deadline(context_, std::chrono::nanoseconds(options_.proof_deadline));
      auto outcome =
          co_await (connect_once(address, hello, parent.node) || deadline.async_wait(kAwait));
      const std::string name = address.unix_path.empty()
                                   ? address.host + ":" + std::to_string(address.port)
                                   : address.unix_path;
      if (outcome.index() == 1) {
        failures += name + ": no answer in time; ";
        ++asked;
      } else if (auto& done = std::get<0>(outcome); done) {
        co_return;
      } else {
        failures += name + ": " + done.error().message + "; ";
        // On another host a path leads nowhere: that says nothing of the parent.
        const bool is_refused = done.error().code == Code::kPermissionDenied;
        asked += is_refused || address.unix_path.empty() ? 1 : 0;
        refused += is_refused ? 1 : 0;
      }
    }
    const bool all_refused = refused > 0 && refused == asked;
    if (failures.empty()) failures = "no address is known; ";
    failures.resize(failures.size() - 2);
    const Error why{all_refused ? Code::kPermissionDenied : Code::kUnavailable, failures};
    node_.on_connect_failed(parent.node, why, monotonic_now());
  }

  asio::awaitable<Result<void>> connect_once(wire::Address address, wire::Hello hello,
                                             NodeId node) {
    auto transport = co_await connect_transport(address);
    if (!transport) co_return unexpected(std::move(transport.error()));
    FrameReader reader(**transport, wire::kMaxHelloBytes);
    ConnectHandshake handshake(options_.key, hello);
    wire::Bytes frame = wire::encode(wire::Message(handshake.hello()));
    auto written = co_await write_frame(**transport, frame);
    if (!written) co_return unexpected(std::move(written.error()));
    while (!handshake.proved()) {
      auto message = co_await reader.next();
      if (!message) co_return unexpected(std::move(message.error()));
      auto answer = handshake.on_message(*message);
      if (!answer) co_return unexpected(std::move(answer.error()));
      if (!*answer) continue;
      frame = wire::encode(**answer);
      auto sent = co_await write_frame(**transport, frame);
      if (!sent) co_return unexpected(std::move(sent.error()));
    }
    Peer peer;
    peer.node = node;
    peer.role = node == kFrontEndNode ? wire::Role::kFrontEnd : wire::Role::kCommProcess;
    peer.address = address.unix_path.empty() ? address.host + ":" + std::to_string(address.port)
                                             : address.unix_path;
    start_link(peer, handshake.welcome().features, *std::move(transport), reader.rest());
    co_return Result<void>();
  }

  asio::awaitable<Result<std::unique_ptr<Transport>>> connect_transport(wire::Address address) {
    asio::generic::stream_protocol::endpoint endpoint;
    if (!address.unix_path.empty()) {
      if (address.unix_path.size() >= sizeof(sockaddr_un::sun_path)) {
        co_return unexpected(Code::kInvalidArgument, "the socket's path is too long");
      }
      endpoint = asio::local::stream_protocol::endpoint(address.unix_path);
    } else {
      error_code error;
      const auto ip = asio::ip::make_address(address.host, error);
      if (error) co_return unexpected(Code::kInvalidArgument, "not a numeric address");
      endpoint = asio::ip::tcp::endpoint(ip, address.port);
    }
    Socket socket(context_);
    auto [error] = co_await socket.async_connect(endpoint, kAwait);
    if (error) co_return unexpected(Code::kUnavailable, error.message());
    if (is_unix(socket)) {
      // Whoever listens there is no parent that refuses.
      auto owner = check_owner(socket);
      if (!owner) co_return unexpected(Code::kUnavailable, std::move(owner.error().message));
    }
    tune(socket);
    if (!address.unix_path.empty() || !options_.tls) {
      co_return make_plain_transport(std::move(socket));
    }
    co_return co_await tls_.wrap(std::move(socket), false);
  }

  // ---- links ----

  void start_link(const Peer& peer, std::uint64_t features, std::unique_ptr<Transport> transport,
                  wire::Bytes already_read) {
    if (stop_called_) return;
    const LinkId id{++last_link_};
    auto link = std::make_shared<Link>(id, peer.accepted, (features & kFeatureCredits) != 0,
                                       std::move(transport), std::move(already_read),
                                       context_.get_executor(), static_cast<LinkHost&>(*this));
    links_.emplace(id, Entry{link, peer.accepted});
    node_.on_link_up(id, peer, monotonic_now());
    spawn(context_.get_executor(), run_link(id, std::move(link)));
  }

  asio::awaitable<void> run_link(LinkId id, std::shared_ptr<Link> link) {
    const Error why = co_await link->run();
    links_.erase(id);
    if (upward_ == id) upward_.reset();
    node_.on_link_down(id, why, monotonic_now());
    on_link_written();  // It holds up nobody any more.
    stop_when_idle();
  }

  void stop_when_idle() {
    if (stop_called_ && links_.empty()) context_.stop();
  }

  void wait_readable(int fd, asio::posix::stream_descriptor& descriptor) {
    descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this, fd](error_code error) {
      if (error) return;
      node_.on_readable(fd, monotonic_now());
      if (const auto it = watched_.find(fd); it != watched_.end()) wait_readable(fd, it->second);
    });
  }

  asio::io_context context_{1};
  // Having nothing to do is not the end.
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  Node& node_;
  RuntimeOptions options_;
  TlsKey tls_;
  asio::steady_timer timer_;
  Nanos timer_due_ = kNever;    // As the node asked for last.
  Nanos timer_armed_ = kNever;  // When timer_ fires; never later than timer_due_.
  bool tick_is_posted_ = false;
  asio::steady_timer stopping_;
  std::list<Acceptor> acceptors_;
  std::list<Unproved*> unproved_;  // Oldest first; each lives in its greet().
  std::map<LinkId, Entry> links_;
  std::map<int, asio::posix::stream_descriptor> watched_;
  std::vector<wire::Address> addresses_;
  std::optional<LinkId> upward_;
  std::optional<LinkId> told_;  // Where notices went last.
  std::uint64_t last_link_ = 0;
  std::vector<LinkId> queued_;  // Links that have something to write.
  bool withheld_ = false;       // A link was granted nothing, for want of room.
  Refusals refusals_;
  std::optional<Nanos> telling_;  // When they will be told.
  bool stop_called_ = false;
  bool started_ = false;
  int exit_code_ = 0;
};

EventLoop::EventLoop(Node& node, RuntimeOptions options)
    : loop_(std::make_unique<Loop>(node, std::move(options))) {}
EventLoop::~EventLoop() = default;
void EventLoop::run() { loop_->run(); }
void EventLoop::run_until(const std::function<bool()>& done, Nanos deadline) {
  loop_->run_until(done, deadline);
}
bool EventLoop::is_stopped() const { return loop_->is_stopped(); }
int EventLoop::exit_code() const { return loop_->exit_code(); }
void EventLoop::post(std::function<void()> work) { loop_->post(std::move(work)); }
void EventLoop::post_at(Nanos when, std::function<void()> work) {
  loop_->post_at(when, std::move(work));
}

int run_node(Node& node, RuntimeOptions options) {
  EventLoop loop(node, std::move(options));
  loop.run();
  return loop.exit_code();
}

}  // namespace xylem::net
