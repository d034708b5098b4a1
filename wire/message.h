#pragma once

// The messages of the overlay as plain values. For each, `xylem.capnp` says who sends it, when, and
// what the receiver must do. This header is the C++ form, so that code above wire/ does not handle
// bytes.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/handshake.h"
#include "wire/multicast.h"
#include "wire/packet.h"
#include "wire/series.h"
#include "wire/stream.h"

namespace xylem::wire {

/// Maximum size of a frame. The length is checked against it before anything is allocated.
constexpr std::size_t kMaxFrameBytes = 16u << 20;

struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
  /// Key of the host on which the path is valid. Empty: the path is unique across hosts, so a
  /// process that does not find it is on another host.
  std::string host_key;
  bool operator==(const Address&) const = default;
};

/// The transport of a link.
enum class Transport : std::uint16_t { kUnknown = 0, kUnix = 1, kTcp = 2, kTls = 3 };

/// "unix", "tcp", "tls"; empty when unknown.
const char* transport_name(Transport transport);

struct HostReport {
  std::string name;
  std::string host_key;
  std::vector<std::string> addresses;
  std::uint32_t pid = 0;
  std::uint32_t cores = 0;
  double load = 0;
  std::uint32_t processes = 0;
  bool operator==(const HostReport&) const = default;
};

struct StartCommProcess {
  NodeId node{};
  std::uint32_t level = 0;
  bool operator==(const StartCommProcess&) const = default;
};

struct CommProcessReport {
  NodeId node{};
  std::vector<Address> addresses;
  std::uint32_t pid = 0;
  std::string failure;  ///< Why it could not be started; empty if it was.
  bool operator==(const CommProcessReport&) const = default;
};

struct Parent {
  NodeId node{};
  std::vector<Address> addresses;
  bool operator==(const Parent&) const = default;
};

struct Assignment {
  NodeId node{};
  LeafId leaf = kNoLeaf;
  std::uint32_t level = 0;
  std::vector<Parent> parents;  ///< In the order in which to try them; the last is the front end.
  bool operator==(const Assignment&) const = default;
};

struct Attached {
  NodeId node{};
  NodeId parent{};
  bool operator==(const Attached&) const = default;
};

struct LeafSet {
  IntervalSet leaves;
  IntervalSet ended;
  bool operator==(const LeafSet&) const = default;
};

struct Acknowledgement {
  std::vector<PacketId> stored;
  std::vector<PacketId> resend;
  bool operator==(const Acknowledgement&) const = default;
};

struct Control {
  std::uint64_t version = 0;
  bool enabled = true;
  bool chunks = false;
  Nanos window_ns = 250 * kMillisecond;
  bool finish = false;
  Nanos epoch_ns = 0;
  std::vector<StreamSpec> streams;      ///< The open streams of tools.
  std::vector<ServiceSpec> services{};  ///< Of each host; at most kMaxServices.
  Nanos facts_ns = 0;          ///< Interval at which back ends measure their hosts; 0: never.
  bool facts_at_once = false;  ///< The front end waits for the first measurement.
  bool streams_fixed = false;  ///< The streams are a run's: no others will be opened.
  bool operator==(const Control&) const = default;
};

struct Ping {
  Nanos sent_ns = 0;
  bool operator==(const Ping&) const = default;
};

struct Pong {
  Nanos ping_sent_ns = 0;
  Nanos received_ns = 0;
  Nanos sent_ns = 0;
  Nanos root_offset_ns = 0;
  Nanos root_error_ns = 0;
  bool operator==(const Pong&) const = default;
};

struct Goodbye {
  std::string reason;
  bool operator==(const Goodbye&) const = default;
};

struct LinkReport {
  NodeId node{};
  std::uint64_t queue_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_packets = 0;
  Nanos round_trip_ns = 0;
  Nanos offset_ns = 0;
  Nanos error_ns = 0;  ///< Negative: the offset of this host's clock is not known yet.
  std::uint64_t refused = 0;
  Transport transport = Transport::kUnknown;
  bool operator==(const LinkReport&) const = default;
};

/// Maximum length of a notice's text. Senders and readers cut a longer one.
constexpr std::size_t kMaxNoticeBytes = 512;

struct Notice {
  Role role = Role::kBackEnd;
  std::string host;
  std::uint32_t pid = 0;
  bool error = false;  ///< Else a warning.
  Nanos age_ns = 0;    ///< Not negative.
  std::string text;    ///< One line; decode() puts spaces for control characters.
  std::uint32_t dropped = 0;
  /// Identifies the notice, with host and pid: it may arrive twice, by two ways. 0: from an older
  /// peer.
  std::uint64_t number = 0;
  bool operator==(const Notice&) const = default;
};

/// A node cannot take part in a stream. `reason` says why.
struct StreamRefused {
  StreamId stream{};
  NodeId node = kNoNode;
  std::string host;
  std::string reason;
  bool operator==(const StreamRefused&) const = default;
};

/// All nodes from the sender down to the leaves have taken or refused the streams of this version
/// of Control.
struct StreamsTaken {
  std::uint64_t version = 0;
  bool operator==(const StreamsTaken&) const = default;
};

/// The total number of bytes of packets and multicasts that the receiver may send on the link.
struct Credit {
  std::uint64_t granted = 0;
  bool operator==(const Credit&) const = default;
};

/// Maximum number of facts; decode() refuses longer lists.
constexpr std::size_t kMaxHostFacts = 64;

struct HostFact {
  std::string name;
  double value = 0;
  bool operator==(const HostFact&) const = default;
};

/// Measurements of a back end's host. The reader checks names and values.
struct HostFacts {
  LeafId leaf{};
  std::vector<HostFact> facts;
  bool operator==(const HostFacts&) const = default;
};

/// A message with a tag that this version does not know. Receivers count it and go on.
struct Unknown {
  std::uint16_t tag = 0;
  bool operator==(const Unknown&) const = default;
};

using Message =
    std::variant<Unknown, Hello, Challenge, Welcome, Proof, Refusal, HostReport, StartCommProcess,
                 CommProcessReport, Assignment, Attached, LeafSet, Packet, Acknowledgement, Control,
                 Ping, Pong, Goodbye, LinkReport, Multicast, MulticastGap, StreamRefused,
                 StreamsTaken, Notice, Credit, HostFacts>;

// ---- Frames. Pure functions of their arguments: any thread may call them. ----
//
// Bytes 0-3 are the length of all that follows, 4-7 its format (0: one flat Cap'n Proto segment; 1:
// such a segment and a packet's payload behind it), both little-endian; then whole 8-byte words. So
// consecutive frames stay aligned, and decode() reads bytes that are aligned to 8 in place.

/// The frame of a message. Stops the program when the frame would exceed kMaxFrameBytes (the caller
/// limits the size of packets) and on an Unknown, which is never sent.
Bytes encode(const Message& message);

/// A packet's frame in pieces, so that a relay need not copy the payload. The frame is `head`, then
/// `payload`, then `padding` bytes of 0.
struct PacketFrame {
  Bytes head;
  Bytes payload;
  std::size_t padding = 0;

  std::size_t size() const noexcept { return head.size() + payload.size() + padding; }
};
/// As encode(); the payload is moved.
PacketFrame encode_in_pieces(Packet packet);

/// A message from the bytes of a frame, without its length. The message owns all it holds.
///
/// Fails with kCorrupt on anything that is not a message: truncated, nested too deeply, pointing
/// outside or to one object again and again; nonces and proofs of another size; unknown roles; ids
/// past the last; intervals empty, not ascending or touching; packets without a wave or sources, or
/// of one process but several sources; windows without a length.
///
/// Callers check the rest: the hello's magic and major version (a mismatch gets an answer), and the
/// contents of payloads, which relaying nodes do not open.
///
/// Allocates at most about ten times the frame's size.
Result<Message> decode(std::span<const std::byte> frame);

/// The parts of a packet's frame, its first 4 bytes included in the head.
struct PacketSizes {
  std::size_t head = 0;
  std::size_t payload = 0;
  std::size_t padding = 0;
};
/// The sizes for the frame that starts with these bytes. nullopt when it is no packet's frame, when
/// there are too few bytes, or when the sizes do not add up (decode() then gives the error).
std::optional<PacketSizes> packet_sizes(std::span<const std::byte> bytes);
/// decode() of such a frame in pieces; the payload is moved. Ignores the padding.
Result<Message> decode_in_pieces(std::span<const std::byte> head, Bytes payload);

/// The length of the frame that starts with these bytes, without the first 4; nullopt if there are
/// fewer than 4 bytes. Fails with kCorrupt when it exceeds `limit` or is 0.
Result<std::optional<std::size_t>> frame_length(std::span<const std::byte> bytes,
                                                std::size_t limit);

}  // namespace xylem::wire
