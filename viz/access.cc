#include "viz/access.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/unique_fd.h"
#include "viz/reply.h"

namespace xylem::viz {
namespace {

constexpr std::string_view kBearer = "Bearer ";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

/// Returns the host without the port: "::1" for "[::1]:80". Empty if the text is not a host.
std::string host_name(std::string_view host) {
  std::string_view name = host.substr(0, host.rfind(':'));
  std::string_view port = host.substr(name.size());
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    name = host.substr(1, end - 1);
    port = host.substr(end + 1);
  }
  const bool is_port =
      port.empty() || (port.size() <= 6 && port.front() == ':' &&
                       port.find_first_not_of("0123456789", 1) == std::string_view::npos);
  return is_port ? lowered(name) : "";
}

enum class Address { kNone, kLoopback, kOther };

Address address_of(const std::string& name) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == 127 ? Address::kLoopback : Address::kOther;
  }
  if (::inet_pton(AF_INET6, name.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) ? Address::kLoopback : Address::kOther;
  }
  return Address::kNone;
}

std::optional<std::string> cookie(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = cookies.find(';');
    std::string_view one = cookies.substr(0, end);
    cookies = end == std::string_view::npos ? std::string_view() : cookies.substr(end + 1);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('=')) {
      return std::string(one.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

Unexpected refused_file(const std::string& path, const std::string& why) {
  return unexpected(Code::kPermissionDenied, path + ": " + why);
}

}  // namespace

Result<Token> token_from_file(const std::string& path) {
  const UniqueFd made(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
  if (made) {
    const Token token = net::make_key();
    const std::string text = net::to_hex(token) + "\n";
    if (::write(made.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
      return token;
    }
    const int why = errno;
    ::unlink(path.c_str());
    return refused_file(path, std::string("the token cannot be written: ") + std::strerror(why));
  }
  if (errno != EEXIST) {
    return refused_file(path, std::string("it cannot be made: ") + std::strerror(errno));
  }
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file || ::fstat(file.get(), &found) != 0) {
    return refused_file(path, std::string("it cannot be read: ") + std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode) || found.st_uid != ::getuid() || (found.st_mode & 077) != 0) {
    return refused_file(path, "a token's file must be yours with mode 0600");
  }
  std::array<char, 256> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  auto token = net::parse_key({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  if (!token) {
    return unexpected(Code::kInvalidArgument,
                      path +
                          ": no token is in it: 64 hexadecimal digits are wanted; remove it, and"
                          " a new one is made");
  }
  return token;
}

const char* Access::name(Reason reason) {
  static constexpr std::array kNames = {"host", "origin", "method", "token", "malformed", "server"};
  return kNames[static_cast<std::size_t>(reason)];
}

net::HttpReply Access::refuse(Reason reason, unsigned status, const std::string& sentence) {
  refused_[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  return error_reply(status, sentence);
}

bool Access::is_own_host(const std::string& host) const {
  const std::string name = host_name(host);
  if (name == "localhost") return true;
  switch (address_of(name)) {
    case Address::kLoopback:
      return true;
    case Address::kOther:
      return !options_.is_loopback;
    case Address::kNone:
      break;
  }
  const auto is_it = [&name](const std::string& own) { return lowered(own) == name; };
  return !options_.is_loopback && !name.empty() && std::ranges::any_of(options_.host_names, is_it);
}

bool Access::is_token(const std::optional<std::string>& text) const {
  if (!text) return false;
  const auto given = net::parse_key(*text);
  if (!given) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < given->size(); ++i) difference |= (*given)[i] ^ options_.token[i];
  return difference == 0;
}

std::optional<net::HttpReply> Access::judge(const net::HttpRequest& request, Target& target) {
  if (request.is_ambiguous) {
    return refuse(Reason::kMalformed, 400, "a header that may come once came several times");
  }
  if (!is_own_host(request.host)) {
    return refuse(Reason::kHost, 403,
                  "this server is not the host that was asked for; use its address, or localhost");
  }
  const bool is_foreign =
      request.origin != "http://" + request.host && request.origin != "https://" + request.host;
  if (!request.origin.empty() && is_foreign) {
    return refuse(Reason::kOrigin, 403, "other sites' pages may not ask here");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    auto reply = refuse(Reason::kMethod, 405, "a run is only read here; use GET or HEAD");
    reply.headers.emplace_back("Allow", "GET, HEAD");
    return reply;
  }
  const auto in_address = target.text("token");
  if (target.path() == "/healthz") return std::nullopt;
  if (in_address && is_token(in_address)) {
    auto reply = make_reply(303, "text/plain", "");
    reply.headers.emplace_back("Location", Target::without(request.target, "token"));
    reply.headers.emplace_back("Set-Cookie", cookie_name() + "=" + net::to_hex(options_.token) +
                                                 "; Path=/; HttpOnly; SameSite=Strict");
    return reply;
  }
  const std::string& bearer = request.authorization;
  const bool is_known = (lowered(bearer.substr(0, kBearer.size())) == lowered(kBearer) &&
                         is_token(bearer.substr(kBearer.size()))) ||
                        is_token(cookie(request.cookie, cookie_name()));
  if (is_known && !in_address) return std::nullopt;
  const std::string sentence =
      in_address || !bearer.empty()
          ? "the token is not this server's; take the address it printed"
          : "a token is needed: open the address that `xylem view` printed, or send it as"
            " Authorization: Bearer";
  auto reply = refuse(Reason::kToken, 401, sentence);
  // The path "/" is opened by people, not by programs.
  if (target.path() == "/") reply = make_reply(401, "text/plain; charset=utf-8", sentence + "\n");
  reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace xylem::viz
