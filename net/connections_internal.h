#pragma once

// Starts links: listens and connects. Passes a connection on only after the peer has proved that it
// knows the run's key.

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "net/runtime.h"
#include "net/transport_internal.h"
#include "overlay/node.h"
#include "overlay/refusals.h"

struct sockaddr_storage;

namespace xylem::net {

/// The user of Connections. All calls are on the loop's thread.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  /// Both sides have proved that they know the key. `features` are the peer's features
  /// (Hello::features or Welcome::features). `already_read` has the bytes that arrived after the
  /// proof.
  virtual void on_connected(const overlay::Peer& peer, std::uint64_t features,
                            std::unique_ptr<Transport> transport, wire::Bytes already_read) = 0;
  /// Identity of the front end's clock; 0 if it is not known yet.
  virtual std::uint64_t root_clock_id() const = 0;
  /// No address of the parent led to a link.
  virtual void on_connect_failed(NodeId node, const Error& why) = 0;
};

/// Opens and accepts connections. An accepted connection is *unproved* until the peer has proved
/// that it knows the key. Each unproved connection has a small frame limit and a deadline. There
/// are at most kMaxUnproved unproved connections. If one more peer connects, the oldest unproved
/// connection is closed. Refused connections are counted and logged (overlay/refusals.h).
///
/// All calls are on the loop's thread. The object may be destroyed before `context` if `context` no
/// longer runs. Pending operations then never continue.
class Connections {
 public:
  /// Borrows all three arguments.
  Connections(asio::io_context& context, const RuntimeOptions& options, ConnectionHost& host);

  void listen(std::vector<UniqueFd> listening);
  /// Later calls ConnectionHost::on_connected() or ConnectionHost::on_connect_failed(), once.
  void connect(const wire::Parent& parent, const wire::Hello& hello);

  const std::vector<wire::Address>& addresses() const noexcept { return addresses_; }
  std::uint64_t refused() const noexcept { return refusals_.count(); }
  /// Logs the refusals that have not been logged yet.
  void tell_refusals();

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  struct Unproved {
    asio::steady_timer deadline;
    bool evicted = false;  // True if the connection was closed in favour of a newer one.
  };

  void open_acceptor(UniqueFd fd);
  void add_addresses(const sockaddr_storage& storage);
  asio::awaitable<void> accept_loop(Acceptor& acceptor);
  asio::awaitable<void> greet(Socket socket);
  asio::awaitable<Result<void>> prove(Socket socket, std::string address);
  asio::awaitable<Result<std::unique_ptr<Transport>>> accept_transport(Socket socket);
  asio::awaitable<void> refuse_plainly(Socket& socket);
  void refuse(const std::string& address, const std::string& why);
  asio::awaitable<void> tell_refusals_at(Nanos when);

  asio::awaitable<void> connect_to(wire::Parent parent, wire::Hello hello);
  asio::awaitable<Result<void>> connect_once(wire::Address address, wire::Hello hello, NodeId node);
  asio::awaitable<Result<std::unique_ptr<Transport>>> connect_transport(wire::Address address);

  asio::io_context& context_;
  const RuntimeOptions& options_;
  ConnectionHost& host_;
  TlsKey tls_;
  std::list<Acceptor> acceptors_;
  std::list<Unproved*> unproved_;  // Oldest first. Each object lives in the frame of its greet().
  std::vector<wire::Address> addresses_;
  overlay::Refusals refusals_;
  std::optional<Nanos> telling_;  // Time of the next log line about refusals.
};

}  // namespace xylem::net
