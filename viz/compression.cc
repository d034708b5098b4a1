#include "viz/compression.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

namespace xylem::viz {
namespace {

// Higher levels hardly make digits shorter, and each level takes twice as long.
constexpr int kLevel = 4;
constexpr int kGzip = 15 + 16;  // The window of 32 KiB, and gzip's head and tail.
constexpr int kMemory = 8;      // zlib's own default.

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Removes the text up to the first `end`, and `end` itself. Returns the text without `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view piece = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return trimmed(piece);
}

bool are_alike(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, [](unsigned char left, char right) {
    return std::tolower(left) == static_cast<unsigned char>(right);
  });
}

/// "q=0" and "q=0.000" forbid gzip, in any position among the parameters.
bool forbid(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = take_until(parameters, ';');
    const std::string_view name = take_until(value, '=');
    value = trimmed(value);
    if (are_alike(name, "q") && value.starts_with('0') &&
        value.find_first_not_of("0.") == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

/// Returns nullopt if the result would not be shorter, or if there is no memory.
std::optional<std::string> gzip(const std::string& body) {
  z_stream stream{};
  if (::deflateInit2(&stream, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(body.size(), '\0');
  // zlib promises not to write there.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (code != Z_STREAM_END) return std::nullopt;
  return packed;
}

bool has_header(const net::HttpReply& reply, std::string_view name) {
  return std::ranges::any_of(reply.headers,
                             [&](const auto& header) { return header.first == name; });
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
  std::optional<bool> any;  // "*" applies to encodings that are not named.
  while (!accept_encoding.empty()) {
    std::string_view one = take_until(accept_encoding, ',');
    const std::string_view name = take_until(one, ';');
    const bool takes = !forbid(one);
    if (are_alike(name, "gzip") || are_alike(name, "x-gzip")) return takes;
    if (name == "*") any = takes;
  }
  return any.value_or(false);
}

net::HttpReply compressed(net::HttpReply reply, std::string_view accept_encoding) {
  // zlib counts in 32 bits; no answer is near that.
  constexpr std::size_t kMax = 1u << 30;
  if (reply.body.size() < kMinCompressed || reply.body.size() > kMax ||
      has_header(reply, "Content-Encoding")) {
    return reply;
  }
  reply.headers.emplace_back("Vary", "Accept-Encoding");
  if (!takes_gzip(accept_encoding)) return reply;
  if (auto packed = gzip(reply.body)) {
    reply.body = *std::move(packed);
    reply.headers.emplace_back("Content-Encoding", "gzip");
  }
  return reply;
}

}  // namespace xylem::viz
