#pragma once

// The messages of the overlay as plain C++ values. docs/protocol.md says who sends each message,
// when, and what the receiver does.

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

/// Maximum size of a frame. The receiver checks the length before it allocates memory.
constexpr std::size_t kMaxFrameBytes = 16u << 20;

struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
  /// Key of the host on which the path is valid. If it is empty, the path is unique across hosts: a
  /// process that does not find the path is on another host.
  std::string host_key;
  bool operator==(const Address&) const = default;
};

/// The transport of a link.
enum class Transport : std::uint16_t { kUnknown = 0, kUnix = 1, kTcp = 2, kTls = 3 };

/// "unix", "tcp", "tls"; empty when unknown.
const char* transport_name(Transport transport);

struct HostReport {
  std::string name;
  std::string host_key;                ///< Identity of the host's run folder.
  std::vector<std::string> addresses;  ///< Numeric addresses of the host, reachable ones first.
  std::uint32_t pid = 0;               ///< Process id of the back end.
  std::uint32_t cores = 0;             ///< Number of the host's processors that are online.
  double load = 0;                     ///< Load average of the last minute.
  std::uint32_t processes = 0;         ///< Number of the job's processes that have registered.
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
  std::string failure;  ///< Why the process was not started or has ended; else empty.
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
  /// The parents in the order in which to try them. The last one is the front end.
  std::vector<Parent> parents;
  bool operator==(const Assignment&) const = default;
};

struct Attached {
  NodeId node{};
  NodeId parent{};
  bool operator==(const Attached&) const = default;
};

struct LeafSet {
  IntervalSet leaves;  ///< All leaves below the link.
  IntervalSet ended;   ///< The subset of `leaves` that sends nothing more.
  bool operator==(const LeafSet&) const = default;
};

struct Acknowledgement {
  std::vector<PacketId> stored;
  std::vector<PacketId> resend;
  bool operator==(const Acknowledgement&) const = default;
};

struct Control {
  std::uint64_t version = 0;  ///< A node keeps the newest version.
  bool enabled = true;        ///< True if capture libraries record calls.
  bool chunks = false;        ///< True if single calls are stored too (`--detail trace`).
  Nanos window_ns = 250 * kMillisecond;
  bool finish = false;  ///< True if the run is over: nodes send their remaining data and leave.
  Nanos epoch_ns = 0;   ///< Start of the run, on the front end's monotonic clock.
  /// The open streams of the tool, or of the run's configuration.
  std::vector<StreamSpec> streams;
  std::vector<ServiceSpec> services{};  ///< Services of each host; at most kMaxServices.
  Nanos facts_ns = 0;  ///< Interval at which back ends measure their hosts; 0: never.
  /// True if back ends must measure immediately. Used when the front end waits for the first
  /// measurement.
  bool facts_at_once = false;
  /// True if the run's configuration sets the streams. Then no other streams will be opened.
  bool streams_fixed = false;
  bool operator==(const Control&) const = default;
};

struct Ping {
  Nanos sent_ns = 0;
  bool operator==(const Ping&) const = default;
};

struct Pong {
  Nanos ping_sent_ns = 0;
  Nanos received_ns = 0;     ///< When the ping was received, on the parent's clock.
  Nanos sent_ns = 0;         ///< When the pong was sent, on the parent's clock.
  Nanos root_offset_ns = 0;  ///< Parent's clock + `root_offset_ns` = front end's clock.
  Nanos root_error_ns = 0;   ///< Maximum error of `root_offset_ns`.
  bool operator==(const Pong&) const = default;
};

struct Goodbye {
  std::string reason;
  bool operator==(const Goodbye&) const = default;
};

struct LinkReport {
  NodeId node{};
  std::uint64_t queue_bytes = 0;   ///< Bytes that wait to be sent to the parent.
  std::uint64_t sent_bytes = 0;    ///< Bytes sent since the link opened.
  std::uint64_t sent_packets = 0;  ///< Messages of all kinds sent since the link opened.
  Nanos round_trip_ns = 0;         ///< Shortest of the recent round trips.
  Nanos offset_ns = 0;             ///< This host's clock + `offset_ns` = front end's clock.
  Nanos error_ns = 0;  ///< Maximum error of `offset_ns`; negative while the offset is not known.
  std::uint64_t refused = 0;  ///< Number of connections that this process has refused.
  Transport transport = Transport::kUnknown;
  bool operator==(const LinkReport&) const = default;
};

/// Maximum length of a notice's text. Senders and readers cut longer texts.
constexpr std::size_t kMaxNoticeBytes = 512;

struct Notice {
  Role role = Role::kBackEnd;
  std::string host;
  std::uint32_t pid = 0;
  bool error = false;  ///< True for an error, false for a warning.
  Nanos age_ns = 0;    ///< Age of the notice when it was sent. Not negative.
  std::string text;    ///< One line. decode() replaces control characters by spaces.
  std::uint32_t dropped = 0;
  /// Together with host and pid, this number identifies the notice, because the same notice may
  /// arrive twice, by different paths. 0 if the sender is an older version.
  std::uint64_t number = 0;
  bool operator==(const Notice&) const = default;
};

/// Reports that a node cannot take part in a stream. `reason` says why.
struct StreamRefused {
  StreamId stream{};
  NodeId node = kNoNode;
  std::string host;
  std::string reason;
  bool operator==(const StreamRefused&) const = default;
};

/// Reports that the sender and all nodes below have accepted or refused the streams of this version
/// of Control.
struct StreamsTaken {
  std::uint64_t version = 0;
  bool operator==(const StreamsTaken&) const = default;
};

/// Allows the receiver of this message to send `granted` bytes of packets and multicasts on the
/// link. This total counts from the start of the link.
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

/// A message with a tag that this version does not know. Receivers count the message and continue.
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
// Bytes 0-3 are the length of everything after them. Bytes 4-7 are the format: 0 means one flat
// Cap'n Proto segment; 1 means the sizes of a segment and of a payload, then both. All numbers are
// little-endian. The size of a frame is a multiple of 8 bytes, so consecutive frames stay aligned.
// If a frame is aligned to 8 bytes, decode() reads its segment in place.

/// Encodes a message as a frame. Stops the program if the frame would be larger than
/// kMaxFrameBytes, because the caller must limit the size of packets. Also stops the program if the
/// message is an Unknown, which must not be sent.
Bytes encode(const Message& message);

/// Returns a number of payload bytes with which a packet fits into a frame, if its sources are
/// `intervals` intervals (IntervalSet::intervals()). The exact maximum is at most 64 bytes more.
/// Returns 0 if the intervals alone do not fit.
std::size_t max_payload_bytes(std::size_t intervals);

/// A packet's frame in pieces. So a relay does not copy the payload. The frame is `head`, then
/// `payload`, then `padding` zero bytes.
struct PacketFrame {
  Bytes head;
  Bytes payload;
  std::size_t padding = 0;

  std::size_t size() const noexcept { return head.size() + payload.size() + padding; }
};
/// Encodes a packet without a copy of its payload.
PacketFrame encode_in_pieces(Packet packet);

/// Decodes a frame. `frame` does not include the first 4 bytes (the length). The message owns all
/// its contents.
///
/// Fails with kCorrupt if the bytes are not a valid message, for example:
///  - truncated or too deeply nested bytes;
///  - pointers that lead outside, or very often to one object;
///  - nonces or proofs of the wrong size, unknown roles, ids that are too large;
///  - intervals that are empty, adjacent, overlapping, or not in ascending order;
///  - packets without a wave or without sources; packets of one process with several sources;
///  - windows without a length.
///
/// decode() does not check the magic and the major version of a hello. The caller checks these and
/// answers the peer if they differ. decode() also does not check payloads, because relaying nodes
/// do not open payloads.
///
/// Allocates at most about ten times the frame's size.
Result<Message> decode(std::span<const std::byte> frame);

/// The sizes of the parts of a packet's frame. `head` includes the first 4 bytes.
struct PacketSizes {
  std::size_t head = 0;
  std::size_t payload = 0;
  std::size_t padding = 0;
};
/// Returns the sizes for the frame that starts with these bytes. Returns nullopt if there are too
/// few bytes or if the frame contains no packet. Also returns nullopt if the sizes contradict each
/// other; decode() then gives the error.
std::optional<PacketSizes> packet_sizes(std::span<const std::byte> bytes);
/// Decodes a packet's frame that was read in pieces. `payload` does not include the padding, and is
/// moved into the message. Fails like decode().
Result<Message> decode_in_pieces(std::span<const std::byte> head, Bytes payload);

/// Returns the length of the frame that starts with these bytes, not counting the first 4. Returns
/// nullopt if there are fewer than 4 bytes. Fails with kCorrupt if the length is 0 or more than
/// `limit`.
Result<std::optional<std::size_t>> frame_length(std::span<const std::byte> bytes,
                                                std::size_t limit);

}  // namespace xylem::wire
