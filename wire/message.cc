#include "wire/message.h"

#include <capnp/message.h>

#include "wire/flat_internal.h"
#include "wire/message_internal.h"

// A frame, in bytes:
//
//   0  length of what follows, little-endian
//   4  format of what follows; 0: one flat Cap'n Proto segment, without a segment table
//   8  the segment, in 8-byte words; its root is a Message
//
// The usual segment table would put the segment at 12. With the format word it is aligned in a
// buffer that starts aligned, and so is every further frame behind it: none is copied to be read.

namespace xylem::wire {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = 8;
constexpr std::uint32_t kFlatFormat = 0;
// Most messages are smaller; the others are built twice.
constexpr std::size_t kUsualWords = 64;
// Root pointer, Message, Packet, PacketId and the tag of its list.
constexpr std::size_t kPacketWords = 12;
constexpr std::size_t kWordsPerInterval = 2;

std::uint32_t load_u32(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  }
  return value;
}

template <typename M>
Bytes encode_frame(std::size_t words, const M& m) {
  Bytes frame = internal::encode_flat<schema::Message>(
      kHeadBytes, words, [&](schema::Message::Builder out) { internal::write_message(m, out); });
  const std::size_t length = frame.size() - kLengthBytes;
  CHECK(length <= kMaxFrameBytes);
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    frame[i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
  }
  return frame;
}

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::kFrontEnd:
      return "front_end";
    case Role::kCommProcess:
      return "comm_process";
    case Role::kBackEnd:
      return "back_end";
    case Role::kTool:
      return "tool";
  }
  return "unknown";
}

const char* transport_name(Transport transport) {
  switch (transport) {
    case Transport::kUnix:
      return "unix";
    case Transport::kTcp:
      return "tcp";
    case Transport::kTls:
      return "tls";
    case Transport::kUnknown:
      break;
  }
  return "";
}

Bytes encode(const Packet& packet) {
  const std::size_t payload =
      (packet.payload.size() + sizeof(capnp::word) - 1) / sizeof(capnp::word);
  const std::size_t sources = kWordsPerInterval * packet.id.sources.intervals().size();
  return encode_frame(kPacketWords + sources + payload, packet);
}

Bytes encode(const Message& message) {
  if (const auto* packet = std::get_if<Packet>(&message)) return encode(*packet);
  return encode_frame(kUsualWords, message);
}

Result<Message> decode(std::span<const std::byte> frame) {
  constexpr std::size_t kFormatBytes = kHeadBytes - kLengthBytes;
  if (frame.size() < kFormatBytes) {
    return internal::corrupt("a frame", frame.size(), "it has no room for its format");
  }
  if (load_u32(frame) != kFlatFormat) {
    return internal::corrupt("a frame", frame.size(), "its format is unknown");
  }
  return internal::decode_flat<schema::Message>("a frame", frame.subspan(kFormatBytes),
                                                internal::read_message);
}

Result<std::optional<std::size_t>> frame_length(std::span<const std::byte> bytes,
                                                std::size_t limit) {
  if (bytes.size() < kLengthBytes) return std::optional<std::size_t>();
  const std::size_t length = load_u32(bytes);
  if (length == 0) return internal::corrupt("a frame", length, "it is empty");
  if (length > limit) {
    return internal::corrupt("a frame", length,
                             "no more than " + std::to_string(limit) + " bytes are taken here");
  }
  return std::optional<std::size_t>(length);
}

}  // namespace xylem::wire
