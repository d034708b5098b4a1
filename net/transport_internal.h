#pragma once

// A byte stream between two processes, plain or inside TLS. A link uses both through one interface.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "net/key.h"
#include "wire/message.h"

namespace xylem::net {

namespace asio = boost::asio;
using Socket = asio::generic::stream_protocol::socket;
using Piece = std::span<const std::byte>;

/// At most one reader and one writer at a time, all on one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Reads at least one byte. Fails with kUnavailable if the peer is gone.
  virtual asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> buffer) = 0;
  /// Writes all pieces, in order.
  virtual asio::awaitable<Result<void>> write_all(std::span<const Piece> pieces) = 0;
  /// Writes as many bytes of the pieces as the kernel takes at once, and returns their number. It
  /// may be 0, and inside TLS it always is 0. Errors are reported by the next write_all(). Do not
  /// call it while a write_all() waits.
  virtual std::size_t write_now(std::span<const Piece> pieces) noexcept = 0;
  virtual wire::Transport kind() const noexcept = 0;
  /// Ends all waiting operations.
  virtual void close() noexcept = 0;
};

std::unique_ptr<Transport> make_plain_transport(Socket socket);

/// Makes TLS 1.3 transports with the key as external PSK (psk_dhe_ke only, TLS_AES_128_GCM_SHA256,
/// no tickets, no early data, no certificates). Must live as long as its transports.
class TlsKey {
 public:
  explicit TlsKey(const Key& key);
  ~TlsKey();
  TlsKey(const TlsKey&) = delete;
  TlsKey& operator=(const TlsKey&) = delete;

  /// Does the TLS handshake as server or client. Fails with kPermissionDenied if the peer has
  /// another key or does not speak TLS, and with kUnavailable if the connection breaks.
  asio::awaitable<Result<std::unique_ptr<Transport>>> wrap(Socket socket, bool server);

 private:
  // Contexts are made at first use, because OpenSSL needs milliseconds to make one.
  asio::ssl::context& context(bool server);

  Key key_;
  std::optional<asio::ssl::context> server_;
  std::optional<asio::ssl::context> client_;
};

}  // namespace xylem::net
