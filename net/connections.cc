#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "net/connections_internal.h"
#include "net/handshake.h"
#include "net/spawn_internal.h"
#include "overlay/credits.h"

namespace xylem::net {
namespace {

using namespace asio::experimental::awaitable_operators;
using boost::system::error_code;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kFramePrefix = 4;
constexpr unsigned char kTlsHandshakeRecord = 0x16;

// Reads whole frames of at most `limit` bytes during the handshake. Keeps the bytes that follow.
class FrameReader {
 public:
  FrameReader(Transport& transport, std::size_t limit) : transport_(transport), limit_(limit) {}
  asio::awaitable<Result<wire::Message>> next();
  // The bytes after the last message. They belong to the link.
  wire::Bytes rest() { return std::move(buffer_); }

 private:
  Transport& transport_;
  std::size_t limit_;
  wire::Bytes buffer_;
};

asio::awaitable<Result<wire::Message>> FrameReader::next() {
  std::array<std::byte, 2048> piece;
  for (;;) {
    auto length = wire::frame_length(buffer_, limit_);
    if (!length) co_return unexpected(std::move(length.error()));
    if (*length && buffer_.size() >= kFramePrefix + **length) {
      auto message =
          wire::decode(std::span<const std::byte>(buffer_).subspan(kFramePrefix, **length));
      buffer_.erase(buffer_.begin(),
                    buffer_.begin() + static_cast<std::ptrdiff_t>(kFramePrefix + **length));
      co_return message;
    }
    auto size = co_await transport_.read_some(piece);
    if (!size) co_return unexpected(std::move(size.error()));
    buffer_.insert(buffer_.end(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(*size));
  }
}

std::string describe(const asio::generic::stream_protocol::endpoint& endpoint) {
  if (endpoint.protocol().family() == AF_UNIX) return "unix";
  asio::ip::tcp::endpoint tcp;
  if (endpoint.size() > tcp.capacity()) return "unknown";
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  tcp.resize(endpoint.size());
  asio::ip::address address = tcp.address();
  // A socket for both families gives IPv4 addresses in IPv6 form.
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  }
  return address.to_string() + ":" + std::to_string(tcp.port());
}

bool is_unix(const Socket& socket) {
  error_code error;
  return socket.local_endpoint(error).protocol().family() == AF_UNIX;
}

// Checks that the other end of a Unix socket belongs to this user. The key already proves
// membership in the run, but this check costs nothing and comes before any message. Root of another
// user namespace looks like another user; TCP is used in that case.
Result<void> check_owner(Socket& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return unexpected(Code::kPermissionDenied, "the owner of the peer cannot be determined");
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

Connections::Connections(asio::io_context& context, const RuntimeOptions& options,
                         ConnectionHost& host)
    : context_(context), options_(options), host_(host), tls_(options.key) {}

void Connections::listen(std::vector<UniqueFd> listening) {
  for (UniqueFd& fd : listening) open_acceptor(std::move(fd));
  for (Acceptor& acceptor : acceptors_) spawn(context_.get_executor(), accept_loop(acceptor));
}

void Connections::connect(const wire::Parent& parent, const wire::Hello& hello) {
  spawn(context_.get_executor(), connect_to(parent, hello));
}

void Connections::tell_refusals() { refusals_.tell(monotonic_now()); }

asio::awaitable<void> Connections::tell_refusals_at(Nanos when) {
  asio::steady_timer timer(context_, std::chrono::nanoseconds(when - monotonic_now()));
  co_await timer.async_wait(kAwait);
  const Nanos now = monotonic_now();
  if (refusals_.due().value_or(now + 1) <= now) refusals_.tell(now);
}

// ---- accepting ----

void Connections::open_acceptor(UniqueFd fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  CHECK(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0);
  add_addresses(storage);
  acceptors_.emplace_back(context_, asio::generic::stream_protocol(storage.ss_family, 0),
                          fd.release());
}

void Connections::add_addresses(const sockaddr_storage& storage) {
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

asio::awaitable<void> Connections::accept_loop(Acceptor& acceptor) {
  for (;;) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (error == asio::error::operation_aborted) co_return;
    if (error) {
      // Most likely there are no free descriptors: wait a little instead of retrying in a busy
      // loop.
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

// A peer that connects must finish the handshake within kProofDeadline.
asio::awaitable<void> Connections::greet(Socket socket) {
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

void Connections::refuse(const std::string& address, const std::string& why) {
  refusals_.add(address, why, monotonic_now());
  const auto due = refusals_.due();
  if (!due || telling_ == due) return;
  telling_ = due;
  spawn(context_.get_executor(), tell_refusals_at(*due));
}

asio::awaitable<Result<void>> Connections::prove(Socket socket, std::string address) {
  auto transport = co_await accept_transport(std::move(socket));
  if (!transport) co_return unexpected(std::move(transport.error()));
  FrameReader reader(**transport, wire::kMaxHelloBytes);
  wire::Welcome welcome;
  welcome.node = options_.node;
  welcome.features = overlay::kFeatureCredits;
  welcome.clock = options_.clock;
  welcome.root_clock = host_.root_clock_id();
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
  overlay::Peer peer;
  peer.role = hello.role;
  peer.node = hello.node;
  peer.leaf = hello.leaf;
  peer.level = hello.level;
  peer.control_version = hello.control_version;
  peer.host_key = hello.host_key;
  peer.address = address;
  peer.accepted = true;
  host_.on_connected(peer, hello.features, *std::move(transport), reader.rest());
  co_return Result<void>();
}

// The first byte shows whether the peer uses TLS. So a peer without TLS gets a clear refusal.
asio::awaitable<Result<std::unique_ptr<Transport>>> Connections::accept_transport(Socket socket) {
  if (is_unix(socket)) {
    auto owner = check_owner(socket);
    if (!owner) co_return unexpected(std::move(owner.error()));
    co_return make_plain_transport(std::move(socket));
  }
  unsigned char first = 0;
  auto [error, size] = co_await socket.async_receive(asio::buffer(&first, 1),
                                                     asio::socket_base::message_peek, kAwait);
  if (error) co_return unexpected(Code::kUnavailable, "closed before it sent anything");
  const bool tls = first == kTlsHandshakeRecord;
  if (tls != options_.tls) {
    if (!tls) co_await refuse_plainly(socket);
    co_return unexpected(Code::kPermissionDenied,
                         tls ? "it speaks TLS, this run does not" : "it does not speak TLS");
  }
  if (!tls) co_return make_plain_transport(std::move(socket));
  co_return co_await tls_.wrap(std::move(socket), true);
}

// Sends the refusal without TLS to a peer that has TLS off while we have it on.
asio::awaitable<void> Connections::refuse_plainly(Socket& socket) {
  wire::Refusal refusal;
  refusal.sentence =
      "links of this run use TLS, and yours does not; give both sides the same --tls";
  const wire::Bytes frame = wire::encode(wire::Message(std::move(refusal)));
  const auto buffer = asio::buffer(frame.data(), frame.size());
  co_await asio::async_write(socket, buffer, kAwait);
  // Reads what the peer has sent. Otherwise close() could reset the connection before the peer has
  // read the refusal.
  error_code ignored;
  socket.shutdown(asio::socket_base::shutdown_send, ignored);
  wire::Bytes piece(wire::kMaxHelloBytes);
  co_await socket.async_read_some(asio::buffer(piece.data(), piece.size()), kAwait);
}

// ---- connecting ----

asio::awaitable<void> Connections::connect_to(wire::Parent parent, wire::Hello hello) {
  std::string failures;
  int asked = 0;
  int refused = 0;
  hello.run = options_.run;
  hello.host_key = options_.host_key;
  hello.features = overlay::kFeatureCredits;
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
      // A Unix path of another host cannot be reached. This says nothing about the parent.
      const bool is_refused = done.error().code == Code::kPermissionDenied;
      asked += is_refused || address.unix_path.empty() ? 1 : 0;
      refused += is_refused ? 1 : 0;
    }
  }
  const bool all_refused = refused > 0 && refused == asked;
  if (failures.empty()) failures = "no address is known; ";
  failures.resize(failures.size() - 2);
  const Error why{all_refused ? Code::kPermissionDenied : Code::kUnavailable, failures};
  host_.on_connect_failed(parent.node, why);
}

asio::awaitable<Result<void>> Connections::connect_once(wire::Address address, wire::Hello hello,
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
  overlay::Peer peer;
  peer.node = node;
  peer.role = node == kFrontEndNode ? wire::Role::kFrontEnd : wire::Role::kCommProcess;
  peer.address = address.unix_path.empty() ? address.host + ":" + std::to_string(address.port)
                                           : address.unix_path;
  peer.clock = handshake.welcome().clock;
  peer.root_clock = handshake.welcome().root_clock;
  host_.on_connected(peer, handshake.welcome().features, *std::move(transport), reader.rest());
  co_return Result<void>();
}

asio::awaitable<Result<std::unique_ptr<Transport>>> Connections::connect_transport(
    wire::Address address) {
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
    // A process of another user listens there. This does not count as a refusal by the parent.
    auto owner = check_owner(socket);
    if (!owner) co_return unexpected(Code::kUnavailable, std::move(owner.error().message));
  }
  tune(socket);
  if (!address.unix_path.empty() || !options_.tls) {
    co_return make_plain_transport(std::move(socket));
  }
  co_return co_await tls_.wrap(std::move(socket), false);
}

}  // namespace xylem::net
