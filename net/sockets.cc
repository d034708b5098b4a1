#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "net/runtime.h"

namespace xylem::net {
namespace {

Code code_of(int error) {
  switch (error) {
    case EADDRINUSE:
      return Code::kAlreadyExists;
    case EADDRNOTAVAIL:
      return Code::kInvalidArgument;
    case EACCES:
      return Code::kPermissionDenied;
    default:
      return Code::kInternal;
  }
}

std::string remedy(int error) {
  switch (error) {
    case EADDRINUSE:
      return "; choose another port, or leave it out";
    case EADDRNOTAVAIL:
      return "; `ip address` lists this host's addresses";
    default:
      return "";
  }
}

Result<UniqueFd> listen_on(const sockaddr* address, socklen_t length, const std::string& name) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // On Linux bind() makes the file with the socket's own mode, so it is never open to others.
  if (fd && address->sa_family == AF_UNIX) ::fchmod(fd.get(), 0600);
  // On Linux, SO_REUSEADDR allows an address in TIME_WAIT, but still refuses an address that is in
  // use.
  const int on = 1;
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // "::" accepts both families, whatever the system's default is.
  const int off = 0;
  if (fd && address->sa_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (!fd || ::bind(fd.get(), address, length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    const int error = errno;
    return unexpected(code_of(error),
                      "cannot listen on " + name + ": " + std::strerror(error) + remedy(error));
  }
  return fd;
}

// A numeric address of either family, with its length.
struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<TcpAddress> tcp_address(const std::string& host, std::uint16_t port) {
  TcpAddress address;
  auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    address.length = sizeof v4;
    return address;
  }
  address.storage = {};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    address.length = sizeof v6;
    return address;
  }
  return unexpected(Code::kInvalidArgument, "'" + host + "' is not a numeric address");
}

bool is_v6(const InterfaceAddress& it) { return it.address.find(':') != std::string::npos; }

std::optional<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace

Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port) {
  auto address = tcp_address(host, port);
  if (!address) return unexpected(std::move(address.error()));
  return listen_on(address->get(), address->length, host + " port " + std::to_string(port));
}

Result<UniqueFd> listen_unix(const std::string& path) {
  const auto address = unix_address(path);
  if (!address) {
    return unexpected(Code::kInvalidArgument,
                      "a socket's path has 1 to 107 characters, this one not: '" + path + "'");
  }
  ::unlink(path.c_str());
  return listen_on(reinterpret_cast<const sockaddr*>(&*address), sizeof *address, path);
}

Result<std::uint16_t> bound_port(const UniqueFd& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0) {
    if (storage.ss_family == AF_INET) {
      return ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
    }
    if (storage.ss_family == AF_INET6) {
      return ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port);
    }
  }
  return unexpected(Code::kInvalidArgument, "not a bound TCP socket");
}

std::vector<InterfaceAddress> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<std::pair<int, InterfaceAddress>> found;
  for (const ifaddrs* it = list; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || (it->ifa_flags & IFF_UP) == 0) continue;
    char text[INET6_ADDRSTRLEN] = "";
    const bool loopback = (it->ifa_flags & IFF_LOOPBACK) != 0;
    int order = loopback ? 2 : 0;
    if (it->ifa_addr->sa_family == AF_INET) {
      const auto* v4 = reinterpret_cast<const sockaddr_in*>(it->ifa_addr);
      ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    } else if (it->ifa_addr->sa_family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(it->ifa_addr);
      if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)) continue;
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
      ++order;
    } else {
      continue;
    }
    found.push_back({order, {it->ifa_name, text, loopback}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<InterfaceAddress> addresses;
  addresses.reserve(found.size());
  for (auto& [order, address] : found) addresses.push_back(std::move(address));
  return addresses;
}

std::vector<std::string> reachable_addresses(const std::string& host,
                                             const std::vector<InterfaceAddress>& all) {
  if (host != "0.0.0.0" && host != "::") return {host};
  const bool takes_v6 = host == "::";
  std::vector<std::string> found;
  for (const bool loopback : {false, true}) {
    if (!found.empty()) break;
    for (const InterfaceAddress& it : all) {
      if ((takes_v6 || !is_v6(it)) && it.loopback == loopback) found.push_back(it.address);
    }
  }
  if (found.empty()) found.emplace_back(takes_v6 ? "::1" : "127.0.0.1");
  return found;
}

std::string any_address(const std::vector<InterfaceAddress>& all) {
  const bool has_v6 =
      std::any_of(all.begin(), all.end(), [](const auto& it) { return !it.loopback && is_v6(it); });
  return has_v6 ? "::" : "0.0.0.0";
}

Result<std::string> address_towards(const std::string& host) {
  constexpr std::uint16_t kAnyPort = 9;  // Connecting UDP asks the routes, no more.
  auto there = tcp_address(host, kAnyPort);
  if (!there) return unexpected(std::move(there.error()));
  const UniqueFd fd(::socket(there->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage here{};
  socklen_t length = sizeof here;
  if (!fd || ::connect(fd.get(), there->get(), there->length) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&here), &length) != 0) {
    return unexpected(Code::kUnavailable, "no route leads to " + host + ": " +
                                              std::strerror(errno) + "; `ip route` lists them");
  }
  char text[INET6_ADDRSTRLEN] = "";
  if (here.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(here).sin_addr, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6&>(here).sin6_addr, text, sizeof text);
  }
  return std::string(text);
}

std::string listening_host(const std::vector<wire::Address>& front_end,
                           const std::vector<InterfaceAddress>& all) {
  std::vector<std::string> hosts;
  for (const wire::Address& address : front_end) {
    if (address.unix_path.empty()) hosts.push_back(address.host);
  }
  if (hosts.empty()) return "127.0.0.1";
  if (hosts.size() > 1) return any_address(all);
  // Without a route, connecting to the front end will fail, too. The link reports that.
  const auto own = address_towards(hosts.front());
  const bool v6 = hosts.front().find(':') != std::string::npos;
  return own ? *own : v6 ? "::1" : "127.0.0.1";
}

}  // namespace xylem::net
