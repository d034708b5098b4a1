#pragma once

// Access control. People and programs need a token of 256 bits. Further rules keep the pages of
// other web sites from using a browser's cookie.

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

/// Reads the token from a file. If the file does not exist, creates it with a new token. The file
/// must belong to this user and have mode 0600; otherwise fails with kPermissionDenied. Also fails
/// with kPermissionDenied when the file cannot be read or created. Fails with kInvalidArgument when
/// it contains no token.
Result<Token> token_from_file(const std::string& path);

struct AccessOptions {
  Token token{};
  std::uint16_t port = 0;   ///< The server's port. It is part of the cookie's name (xylem_PORT).
  bool is_loopback = true;  ///< The server listens only on loopback.
  /// Names of this host, besides addresses and "localhost".
  std::vector<std::string> host_names;
};

/// Checks requests in this order, and counts the refusals by reason:
///
/// - There must be exactly one `Host`. It may be "localhost" or a loopback address. If the server
///   also listens beyond loopback, it may be any numeric address or a name of this host. The port
///   is not checked, because ssh tunnels change it. Any other name is a sign of DNS rebinding.
/// - `Origin`, if the browser sends it, must name the same host and port as `Host`.
/// - The method must be GET or HEAD.
/// - The token must be correct. It is sent as `Authorization: Bearer`, in the cookie, or as the
///   parameter `token`. If the token comes as a parameter, the reply sets the cookie and redirects
///   to the same address without the parameter. The comparison takes constant time. /healthz needs
///   no token.
///
/// Thread-safe.
class Access {
 public:
  enum class Reason { kHost, kOrigin, kMethod, kToken, kMalformed, kServer, kReasons };

  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  /// Returns a refusal or a redirection; nullopt if the request is accepted.
  std::optional<net::HttpReply> judge(const net::HttpRequest& request, Target& target);

  /// Counts a refusal and returns its reply.
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
