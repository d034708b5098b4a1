#pragma once

// A byte stream between two processes, plain or inside TLS, so that a link is written once.

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

/// One reader and one writer may be in it at a time, all on one thread.
class Transport {
 public:
  virtual ~Transport() = default;
  /// At least one byte. Fails with kUnavailable when the peer is gone.
  virtual asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> buffer) = 0;
  /// All pieces, one behind the other.
  virtual asio::awaitable<Result<void>> write_all(std::span<const Piece> pieces) = 0;
  /// How many bytes of the same the kernel took at once: possibly none, and always none inside TLS.
  /// Not while a write_all() waits, which also tells of errors.
  virtual std::size_t write_now(std::span<const Piece> pieces) noexcept = 0;
  virtual wire::Transport kind() const noexcept = 0;
  /// Ends all waiting operations.
  virtual void close() noexcept = 0;
};

std::unique_ptr<Transport> make_plain_transport(Socket socket);

/// TLS 1.3 with the key as external PSK (psk_dhe_ke only, TLS_AES_128_GCM_SHA256, no tickets, no
/// early data, no certificates). Holds the key as long as a transport lives.
class TlsKey {
 public:
  explicit TlsKey(const Key& key);
  ~TlsKey();
  TlsKey(const TlsKey&) = delete;
  TlsKey& operator=(const TlsKey&) = delete;

  /// Shakes hands as server or client. Fails with kPermissionDenied on another key or on what is no
  /// TLS, kUnavailable when the connection breaks.
  asio::awaitable<Result<std::unique_ptr<Transport>>> wrap(Socket socket, bool server);

 private:
  // Made when the first is asked for: a context takes OpenSSL milliseconds.
  asio::ssl::context& context(bool server);

  Key key_;
  std::optional<asio::ssl::context> server_;
  std::optional<asio::ssl::context> client_;
};

}  // namespace xylem::net
