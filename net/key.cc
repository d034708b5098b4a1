#include "net/key.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace xylem::net {

void fill_random(std::span<std::uint8_t> bytes) {
  // Uses the kernel's source. The setup of OpenSSL's source takes as long as all other work of a
  // leaf that joins.
  while (!bytes.empty()) {
    const ssize_t size = ::getrandom(bytes.data(), bytes.size(), 0);
    CHECK(size > 0 || errno == EINTR);
    if (size > 0) bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
}

Key make_key() {
  Key key;
  fill_random(key);
  return key;
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

Result<Key> parse_key(std::string_view hex) {
  const auto begin = hex.find_first_not_of(" \t\r\n");
  const auto end = hex.find_last_not_of(" \t\r\n");
  hex = begin == std::string_view::npos ? std::string_view() : hex.substr(begin, end - begin + 1);
  Key key{};
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  bool valid = hex.size() == 2 * key.size();
  for (std::size_t i = 0; valid && i < key.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    key[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if (!valid) {
    return unexpected(Code::kInvalidArgument,
                      "the run's key is not 64 hexadecimal digits; take it from `xylem serve`");
  }
  return key;
}

}  // namespace xylem::net
