#include "wire/message.h"

#include <capnp/message.h>

#include "wire/flat_internal.h"
#include "wire/message_internal.h"

// A frame, in bytes:
//
//   0  length of what follows, little-endian
//   4  format of what follows: 0 for any message, 1 for a packet
//
// Format 0, one flat Cap'n Proto segment, without a segment table:
//   8  the segment, in 8-byte words; its root is a Message
//
// Format 1, so that a payload is moved and not copied on its way:
//   8  bytes of the segment; 12  bytes of the payload, both little-endian
//  16  the segment; its root is a Message, a packet without its payload
//      the payload, and 0 to 7 bytes of 0 that make it whole words
//
// With Cap'n Proto's segment table, the segment would begin at 12. With the format word it is
// aligned if the buffer is aligned. All further frames in the buffer are aligned, too. So no frame
// is copied for reading.

namespace xylem::wire {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kFormatBytes = 4;
constexpr std::size_t kHeadBytes = kLengthBytes + kFormatBytes;
constexpr std::size_t kPacketHeadBytes = kHeadBytes + 8;
constexpr std::uint32_t kFlatFormat = 0;
constexpr std::uint32_t kPacketFormat = 1;
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

void store_u32(Bytes& frame, std::size_t at, std::size_t value) {
  CHECK(value <= kMaxFrameBytes);
  for (std::size_t i = 0; i < sizeof(std::uint32_t); ++i) {
    frame[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
  }
}

constexpr std::size_t padding_of(std::size_t bytes) {
  return (sizeof(capnp::word) - bytes % sizeof(capnp::word)) % sizeof(capnp::word);
}

Result<Message> decode_segment(std::span<const std::byte> segment) {
  return internal::decode_flat<schema::Message>("a frame", segment, internal::read_message);
}

// `sizes` are the bytes after the format. The frame ends `length` bytes after the format.
std::optional<PacketSizes> read_sizes(std::span<const std::byte> sizes, std::size_t length) {
  constexpr std::size_t kSizes = kPacketHeadBytes - kHeadBytes;
  if (sizes.size() < kSizes || length < kSizes) return std::nullopt;
  const std::size_t segment = load_u32(sizes);
  const std::size_t payload = load_u32(sizes.subspan(sizeof(std::uint32_t)));
  if (segment > length || payload > length ||
      kSizes + segment + payload + padding_of(payload) != length) {
    return std::nullopt;
  }
  return PacketSizes{kPacketHeadBytes + segment, payload, padding_of(payload)};
}

Result<Message> decode_bare_packet(std::span<const std::byte> segment, Bytes payload) {
  auto message = decode_segment(segment);
  if (!message) return message;
  auto* packet = std::get_if<Packet>(&*message);
  if (packet == nullptr || !packet->payload.empty()) {
    return internal::corrupt("a frame", segment.size() + payload.size(),
                             "it should be a bare packet");
  }
  packet->payload = std::move(payload);
  return message;
}

// `rest` is what follows the format.
Result<Message> decode_packet(std::span<const std::byte> rest) {
  const bool has_sizes = rest.size() >= kPacketHeadBytes - kHeadBytes;
  const auto sizes = read_sizes(rest, rest.size());
  if (!sizes) {
    return internal::corrupt(
        "a frame", rest.size(),
        has_sizes ? "its sizes do not add up" : "it has no room for its sizes");
  }
  const auto payload = rest.subspan(sizes->head - kHeadBytes, sizes->payload);
  return decode_bare_packet(
      rest.first(sizes->head - kHeadBytes).subspan(kPacketHeadBytes - kHeadBytes),
      {payload.begin(), payload.end()});
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
    case Role::kProgram:
      return "program";
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

PacketFrame encode_in_pieces(Packet packet) {
  PacketFrame frame;
  frame.payload = std::exchange(packet.payload, {});
  frame.padding = padding_of(frame.payload.size());
  const std::size_t words = kPacketWords + kWordsPerInterval * packet.id.sources.intervals().size();
  frame.head = internal::encode_flat<schema::Message>(
      kPacketHeadBytes, words,
      [&](schema::Message::Builder out) { internal::write_message(packet, out); });
  store_u32(frame.head, 0, frame.size() - kLengthBytes);
  store_u32(frame.head, kLengthBytes, kPacketFormat);
  store_u32(frame.head, kHeadBytes, frame.head.size() - kPacketHeadBytes);
  store_u32(frame.head, kHeadBytes + sizeof(std::uint32_t), frame.payload.size());
  return frame;
}

std::size_t max_payload_bytes(std::size_t intervals) {
  const std::size_t head = kPacketHeadBytes - kLengthBytes +
                           (kPacketWords + kWordsPerInterval * intervals) * sizeof(capnp::word);
  if (head >= kMaxFrameBytes) return 0;
  const std::size_t rest = kMaxFrameBytes - head;
  return rest - rest % sizeof(capnp::word);
}

Bytes encode(const Message& message) {
  if (const auto* packet = std::get_if<Packet>(&message)) {
    PacketFrame pieces = encode_in_pieces(*packet);
    Bytes frame = std::move(pieces.head);
    frame.insert(frame.end(), pieces.payload.begin(), pieces.payload.end());
    frame.resize(frame.size() + pieces.padding);
    return frame;
  }
  Bytes frame = internal::encode_flat<schema::Message>(
      kHeadBytes, kUsualWords,
      [&](schema::Message::Builder out) { internal::write_message(message, out); });
  store_u32(frame, 0, frame.size() - kLengthBytes);
  store_u32(frame, kLengthBytes, kFlatFormat);
  return frame;
}

Result<Message> decode(std::span<const std::byte> frame) {
  if (frame.size() < kFormatBytes) {
    return internal::corrupt("a frame", frame.size(), "it has no room for its format");
  }
  const std::span<const std::byte> rest = frame.subspan(kFormatBytes);
  switch (load_u32(frame)) {
    case kFlatFormat:
      return decode_segment(rest);
    case kPacketFormat:
      return decode_packet(rest);
    default:
      return internal::corrupt("a frame", frame.size(), "its format is unknown");
  }
}

std::optional<PacketSizes> packet_sizes(std::span<const std::byte> bytes) {
  if (bytes.size() < kPacketHeadBytes) return std::nullopt;
  const std::size_t length = load_u32(bytes);
  if (length < kFormatBytes || load_u32(bytes.subspan(kLengthBytes)) != kPacketFormat) {
    return std::nullopt;
  }
  return read_sizes(bytes.subspan(kHeadBytes), length - kFormatBytes);
}

Result<Message> decode_in_pieces(std::span<const std::byte> head, Bytes payload) {
  const auto sizes = packet_sizes(head);
  if (!sizes || sizes->head != head.size() || sizes->payload != payload.size()) {
    return internal::corrupt("a frame", head.size(), "its pieces do not fit together");
  }
  return decode_bare_packet(head.subspan(kPacketHeadBytes), std::move(payload));
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
