#pragma once

// A byte stream between two processes. Plain connections and connections with TLS have the same
// interface.

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

/// There may be at most one reader and one writer at a time. All calls must be on one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Reads at least one byte. Fails with kUnavailable if the peer is gone.
  virtual asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> buffer) = 0;
  /// Writes all pieces, in order.
  virtual asio::awaitable<Result<void>> write_all(std::span<const Piece> pieces) = 0;
  /// Writes as many bytes of the pieces as the kernel takes immediately, and returns their number.
  /// The number may be 0; with TLS it is always 0. The next write_all() reports errors. Do not call
  /// write_now() while a write_all() waits.
  virtual std::size_t write_now(std::span<const Piece> pieces) noexcept = 0;
  virtual wire::Transport kind() const noexcept = 0;
  /// Ends all waiting operations.
  virtual void close() noexcept = 0;
};

std::unique_ptr<Transport> make_plain_transport(Socket socket);

/// Makes TLS 1.3 transports with the key as external PSK. They use only psk_dhe_ke and
/// TLS_AES_128_GCM_SHA256, without tickets, early data and certificates. A TlsKey must live as long
/// as its transports. Used only on the event loop's thread.
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
