#pragma once

// Access control. People and programs need a token of 256 bits. Further rules prevent pages of
// other web sites from using the browser's cookie.

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

/// Reads the token from a file. If the file does not exist, creates it with a new token and mode
/// 0600. Fails with kPermissionDenied if the file does not belong to this user, or if group or
/// others have access to it. Also fails with kPermissionDenied if it cannot be read or created.
/// Fails with kInvalidArgument if the file contains no token.
Result<Token> token_from_file(const std::string& path);

struct AccessOptions {
  Token token{};
  std::uint16_t port = 0;   ///< The server's port. It is part of the cookie's name (xylem_PORT).
  bool is_loopback = true;  ///< True if the server listens only on loopback.
  /// Names of this host that `Host` may have, in addition to addresses and "localhost".
  std::vector<std::string> host_names;
};

/// Checks requests, and counts refusals by reason. The checks are made in this order:
///
/// - There must be exactly one header `Host`. It may be "localhost" or a loopback address. If the
///   server does not listen only on loopback, `Host` may also be any numeric address or a name of
///   this host. Any other name is refused, because it is a sign of DNS rebinding. The port is not
///   checked, because ssh tunnels change it.
/// - If the browser sends the header `Origin`, it must name the same host and port as `Host`.
/// - The method must be GET or HEAD.
/// - The token must be correct. A client sends it in the header `Authorization: Bearer`, in the
///   cookie, or as the parameter `token`. If the token is sent as a parameter, the reply sets the
///   cookie and redirects to the same address without the parameter. The comparison takes constant
///   time. /healthz needs no token.
///
/// Thread-safe.
class Access {
 public:
  enum class Reason { kHost, kOrigin, kMethod, kToken, kMalformed, kServer, kReasons };

  explicit Access(AccessOptions options) : options_(std::move(options)) {}

  /// Checks a request. Returns a refusal or a redirection; nullopt if the request is accepted.
  /// `target` is the request's decoded target; its parameter `token` then counts as read.
  std::optional<net::HttpReply> judge(const net::HttpRequest& request, Target& target);

  /// Counts a refusal and returns the reply for it.
  net::HttpReply refuse(Reason reason, unsigned status, const std::string& sentence);
  /// Returns the number of refusals for this reason so far.
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
