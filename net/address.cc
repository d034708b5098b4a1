#include "net/address.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/run_contract.h"
#include "base/unique_fd.h"

namespace xylem::net {
namespace {

constexpr std::string_view kUnix = "unix:";

Result<wire::Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  wire::Address address;
  if (text.starts_with(kUnix) && text.size() > kUnix.size()) {
    address.unix_path = text.substr(kUnix.size());
    return address;
  }
  const char* end = text.data() + text.size();
  if (colon != std::string_view::npos && colon > 0) {
    std::string_view host = text.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    address.host = host;
    const auto parsed = std::from_chars(text.data() + colon + 1, end, address.port);
    if (parsed.ec == std::errc() && parsed.ptr == end && !host.empty()) return address;
  }
  return unexpected(Code::kInvalidArgument,
                    "'" + std::string(text) + "' is not an address; write HOST:PORT or unix:PATH");
}

}  // namespace

Result<std::vector<wire::Address>> parse_addresses(std::string_view text) {
  std::vector<wire::Address> addresses;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    auto address = parse_address(one);
    if (!address) return unexpected(std::move(address.error()));
    addresses.push_back(*std::move(address));
  }
  if (addresses.empty()) {
    return unexpected(Code::kInvalidArgument, "no address of the front end is given");
  }
  return addresses;
}

std::string address_text(std::string_view host, std::uint16_t port) {
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::to_string(port);
}

Result<Key> read_key(int fd) {
  const UniqueFd owner(fd);
  std::string text;
  char piece[256];
  constexpr std::size_t kLongest = 256;
  for (ssize_t size; text.size() < kLongest && (size = ::read(fd, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  auto key = parse_key(text);
  std::fill(text.begin(), text.end(), '\0');
  return key;
}

Result<Key> take_key_from_environment() {
  char* text = std::getenv(kEnvKey);
  auto key = parse_key(text == nullptr ? "" : text);
  if (text != nullptr) ::explicit_bzero(text, std::strlen(text));
  ::unsetenv(kEnvKey);
  return key;
}

}  // namespace xylem::net
