#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <type_traits>
#include <vector>

#include "net/transport_internal.h"

namespace xylem::net {
namespace {

using boost::system::error_code;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMaxPieces = 64;  // For one system call.

Unexpected gone(const error_code& error) {
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
    return unexpected(Code::kUnavailable, "the peer closed the connection");
  }
  return unexpected(Code::kUnavailable, error.message());
}

template <typename Stream>
class StreamTransport final : public Transport {
 public:
  StreamTransport(Stream stream, wire::Transport kind) : stream_(std::move(stream)), kind_(kind) {}
  ~StreamTransport() override { close(); }

  asio::awaitable<Result<std::size_t>> read_some(std::span<std::byte> buffer) override {
    auto [error, size] =
        co_await stream_.async_read_some(asio::buffer(buffer.data(), buffer.size()), kAwait);
    if (error) co_return gone(error);
    co_return size;
  }

  asio::awaitable<Result<void>> write_all(std::span<const Piece> pieces) override {
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(pieces.size());
    for (const Piece& piece : pieces) buffers.emplace_back(piece.data(), piece.size());
    auto [error, size] = co_await asio::async_write(stream_, buffers, kAwait);
    if (error) co_return gone(error);
    co_return Result<void>();
  }

  std::size_t write_now(std::span<const Piece> pieces) noexcept override {
    if constexpr (std::is_same_v<Stream, Socket>) {
      std::array<iovec, kMaxPieces> parts;
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = std::min(pieces.size(), parts.size());
      for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
        parts[i] = {const_cast<std::byte*>(pieces[i].data()), pieces[i].size()};
      }
      const ssize_t size =
          ::sendmsg(stream_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
      return size < 0 ? 0 : static_cast<std::size_t>(size);
    } else {
      return 0;
    }
  }

  wire::Transport kind() const noexcept override { return kind_; }

  void close() noexcept override {
    error_code ignored;
    stream_.lowest_layer().close(ignored);
  }

 private:
  Stream stream_;
  const wire::Transport kind_;
};

// OpenSSL hands the key out through callbacks; each context carries a pointer to it.
int key_index() {
  static const int kIndex = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return kIndex;
}

constexpr unsigned char kIdentity[] = "xylem";
constexpr std::size_t kIdentityBytes = sizeof kIdentity - 1;

SSL_SESSION* make_session(SSL* ssl) {
  const auto* key = static_cast<const Key*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), key_index()));
  static constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256);
  SSL_SESSION* session = SSL_SESSION_new();
  if (key == nullptr || cipher == nullptr || session == nullptr ||
      SSL_SESSION_set1_master_key(session, key->data(), key->size()) != 1 ||
      SSL_SESSION_set_cipher(session, cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1) {
    SSL_SESSION_free(session);
    return nullptr;
  }
  return session;
}

int find_session(SSL* ssl, const unsigned char* identity, std::size_t length,
                 SSL_SESSION** session) {
  *session = nullptr;
  if (length != kIdentityBytes || std::memcmp(identity, kIdentity, kIdentityBytes) != 0) return 1;
  *session = make_session(ssl);
  return *session != nullptr;
}

int use_session(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* length,
                SSL_SESSION** session) {
  *session = nullptr;
  *identity = kIdentity;
  *length = kIdentityBytes;
  if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = make_session(ssl);
  return *session != nullptr;
}

void restrict_context(asio::ssl::context& context, Key& key) {
  SSL_CTX* ctx = context.native_handle();
  CHECK(SSL_CTX_set_ex_data(ctx, key_index(), &key) == 1);
  CHECK(SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1);
  CHECK(SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1);
  CHECK(SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") == 1);
  SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(ctx, 0);
  SSL_CTX_set_max_early_data(ctx, 0);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_psk_find_session_callback(ctx, find_session);
  SSL_CTX_set_psk_use_session_callback(ctx, use_session);
}

}  // namespace

std::unique_ptr<Transport> make_plain_transport(Socket socket) {
  error_code error;
  const bool is_unix = socket.local_endpoint(error).protocol().family() == AF_UNIX;
  return std::make_unique<StreamTransport<Socket>>(
      std::move(socket), is_unix ? wire::Transport::kUnix : wire::Transport::kTcp);
}

TlsKey::TlsKey(const Key& key) : key_(key) {}

TlsKey::~TlsKey() { OPENSSL_cleanse(key_.data(), key_.size()); }

asio::ssl::context& TlsKey::context(bool server) {
  auto& context = server ? server_ : client_;
  if (!context) {
    context.emplace(server ? asio::ssl::context::tls_server : asio::ssl::context::tls_client);
    restrict_context(*context, key_);
  }
  return *context;
}

asio::awaitable<Result<std::unique_ptr<Transport>>> TlsKey::wrap(Socket socket, bool server) {
  using Stream = asio::ssl::stream<Socket>;
  Stream stream(std::move(socket), context(server));
  const auto side = server ? asio::ssl::stream_base::server : asio::ssl::stream_base::client;
  auto [error] = co_await stream.async_handshake(side, kAwait);
  if (error) {
    // An error of TLS itself means that the peer is refused. A broken connection does not.
    const bool verdict = error.category() == asio::error::get_ssl_category();
    co_return unexpected(verdict ? Code::kPermissionDenied : Code::kUnavailable,
                         "no TLS with the run's key: " + error.message() +
                             (server ? "" : "; is TLS off on the other side?"));
  }
  std::unique_ptr<Transport> transport =
      std::make_unique<StreamTransport<Stream>>(std::move(stream), wire::Transport::kTls);
  co_return Result<std::unique_ptr<Transport>>(std::move(transport));
}

}  // namespace xylem::net
