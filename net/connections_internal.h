#pragma once

// How links begin: listens, connects, and gives on only what has proved the run's key.

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

/// Whom Connections serves.
class ConnectionHost {
 public:
  virtual ~ConnectionHost() = default;
  /// Both sides have proved the key. `features` are those that both have; `already_read` came
  /// behind the proof.
  virtual void on_connected(const overlay::Peer& peer, std::uint64_t features,
                            std::unique_ptr<Transport> transport, wire::Bytes already_read) = 0;
  /// None of the parent's addresses answered as one should.
  virtual void on_connect_failed(NodeId node, const Error& why) = 0;
};

/// Strangers cost little: kMaxUnproved connections, each with a small frame and a deadline; the
/// oldest goes when there are more. Each is counted and told of in the log (overlay/refusals.h).
///
/// One thread, that of the loop. May go before the context when that runs no more: what it has
/// begun does not go on then.
class Connections {
 public:
  /// All three are borrowed.
  Connections(asio::io_context& context, const RuntimeOptions& options, ConnectionHost& host);

  void listen(std::vector<UniqueFd> listening);
  /// One of the host's two calls answers, later.
  void connect(const wire::Parent& parent, const wire::Hello& hello);

  const std::vector<wire::Address>& addresses() const noexcept { return addresses_; }
  std::uint64_t refused() const noexcept { return refusals_.count(); }
  /// Logs those that have not been told of.
  void tell_refusals();

 private:
  using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol>;
  struct Unproved {
    asio::steady_timer deadline;
    bool evicted = false;  // And no longer in unproved_.
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
  std::list<Unproved*> unproved_;  // Oldest first; each lives in its greet().
  std::vector<wire::Address> addresses_;
  overlay::Refusals refusals_;
  std::optional<Nanos> telling_;  // When they will be told.
};

}  // namespace xylem::net
