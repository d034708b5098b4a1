#pragma once

// Access control: a token of 256 bits for people and programs, and for browsers the rules that keep
// other pages out.

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/http.h"
#include "net/key.h"
#include "viz/parameters.h"

namespace xylem::viz {

using Token = net::Key;

/// Reads the token from a file, or makes the file with a new one where there is none.
/// Fails with kPermissionDenied when it is another user's, when others may read it (its mode must
/// be 0600), or when it cannot be read or made; kInvalidArgument when no token is in it.
Result<Token> token_from_file(const std::string& path);

struct AccessOptions {
  Token token{};
  std::uint16_t port = 0;   ///< Where the server listens; names its cookie.
  bool is_loopback = true;  ///< It listens only on loopback.
  std::vector<std::string>
      host_names;  ///< Further names of this host, besides addresses and "localhost".
};

/// Judges requests in this order, and counts each refusal by its reason:
///
/// - `Host` must be there, once, and name this server: "localhost", a loopback address, or,
///   where it listens on more than loopback, any address or a name of this host; any port, for
///   tunnels. A foreign name here means DNS rebinding.
/// - `Origin`, where a browser sends one, must be that same host and port.
/// - The method must be GET or HEAD.
/// - The token must be right: as `Authorization: Bearer`, in the cookie, or as the parameter
///   `token`, which is answered by a cookie and a redirection that takes it out of the address. It
///   is compared in constant time. /healthz needs none.
///
/// Thread-safe.
class Access {
 public:
  enum class Reason { kHost, kOrigin, kMethod, kToken, kMalformed, kServer, kReasons };

  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  /// A refusal or a redirection; nothing if the request is accepted.
  std::optional<net::HttpReply> judge(const net::HttpRequest& request, Target& target);

  /// Counts a refusal and makes its reply.
  net::HttpReply refuse(Reason reason, unsigned status, const std::string& sentence);
  std::uint64_t refused(Reason reason) const {
    return refused_[static_cast<std::size_t>(reason)].load(std::memory_order_relaxed);
  }
  static const char* name(Reason reason);

 private:
  bool is_own_host(const std::string& host) const;
  bool is_token(const std::optional<std::string>& text) const;
  std::string cookie_name() const { return "xylem_" + std::to_string(options_.port); }

  AccessOptions options_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Reason::kReasons)> refused_{};
};

}  // namespace xylem::viz
