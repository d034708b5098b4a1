#pragma once

// The messages of the overlay as plain values. `xylem.capnp` says of each who sends it, when, and
// what the receiver owes; this header is its C++ form, so that nobody above wire/ knows bytes.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/packet.h"

namespace xylem::wire {

constexpr std::uint32_t kMagic = 0x4d4c5958;  // "XYLM"
constexpr std::uint32_t kMajorVersion = 1;
/// No frame is longer. A frame's length is checked against this before anything is allocated.
constexpr std::size_t kMaxFrameBytes = 16u << 20;
/// Until a peer has proved the key, no frame of it may be longer.
constexpr std::size_t kMaxHelloBytes = 4096;

constexpr NodeId kNoNode{0xffffffff};
constexpr LeafId kNoLeaf{0xffffffff};

enum class Role : std::uint16_t { kFrontEnd = 0, kCommProcess = 1, kBackEnd = 2, kTool = 3 };

/// "front_end", "comm_process", "back_end", "tool".
const char* role_name(Role role);

using Nonce = std::array<std::uint8_t, 16>;
using Mac = std::array<std::uint8_t, 32>;

struct Hello {
  std::uint32_t magic = kMagic;
  std::uint32_t major = kMajorVersion;
  std::uint64_t features = 0;
  Role role = Role::kBackEnd;
  std::string run;
  NodeId node = kNoNode;
  LeafId leaf = kNoLeaf;
  std::uint32_t level = 0;
  Nonce nonce{};
  std::uint64_t control_version = 0;
  std::string host_key;
};

struct Challenge {
  Nonce nonce{};
};

struct Welcome {
  std::uint32_t major = kMajorVersion;
  std::uint64_t features = 0;
  Mac proof{};
  NodeId node = kNoNode;
};

struct Proof {
  Mac mac{};
};

struct Refusal {
  std::string sentence;
};

struct Address {
  std::string host;
  std::uint16_t port = 0;
  std::string unix_path;
  std::string host_key;
  bool operator==(const Address&) const = default;
};

struct HostReport {
  std::string name;
  std::string host_key;
  std::vector<std::string> addresses;
  std::uint32_t pid = 0;
  std::uint32_t cores = 0;
  double load = 0;
  std::uint32_t processes = 0;
};

struct StartCommProcess {
  NodeId node{};
  std::uint32_t level = 0;
};

struct CommProcessReport {
  NodeId node{};
  std::vector<Address> addresses;
  std::uint32_t pid = 0;
  std::string failure;  ///< Not empty: it could not be started, and why.
};

struct Parent {
  NodeId node{};
  std::vector<Address> addresses;
};

struct Assignment {
  NodeId node{};
  LeafId leaf = kNoLeaf;
  std::uint32_t level = 0;
  std::vector<Parent> parents;  ///< In the order in which to try them; the last is the front end.
};

struct Attached {
  NodeId node{};
  NodeId parent{};
};

struct LeafSet {
  IntervalSet leaves;
  IntervalSet ended;
};

struct Acknowledgement {
  std::vector<PacketId> stored;
  std::vector<PacketId> resend;
};

struct Control {
  std::uint64_t version = 0;
  bool enabled = true;
  bool chunks = false;
  Nanos window_ns = 250 * kMillisecond;
  bool finish = false;
  Nanos epoch_ns = 0;
};

struct Ping {
  Nanos sent_ns = 0;
};

struct Pong {
  Nanos ping_sent_ns = 0;
  Nanos received_ns = 0;
  Nanos sent_ns = 0;
  Nanos root_offset_ns = 0;
  Nanos root_error_ns = 0;
};

struct Goodbye {
  std::string reason;
};

struct LinkReport {
  NodeId node{};
  std::uint64_t queue_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t sent_packets = 0;
  Nanos round_trip_ns = 0;
  Nanos offset_ns = 0;
  Nanos error_ns = 0;
  std::uint64_t refused = 0;
};

/// A tag that this version does not know. Count it and go on.
struct Unknown {
  std::uint16_t tag = 0;
};

using Message =
    std::variant<Unknown, Hello, Challenge, Welcome, Proof, Refusal, HostReport, StartCommProcess,
                 CommProcessReport, Assignment, Attached, LeafSet, Packet, Acknowledgement, Control,
                 Ping, Pong, Goodbye, LinkReport>;

/// The frame of a message: a 4-byte little-endian length, then so many bytes.
/// Stops the program when the message would exceed kMaxFrameBytes: whoever fills a packet bounds it.
Bytes encode(const Message& message);
Bytes encode(const Packet& packet);  ///< Without copying the packet into a Message.

/// A message from the bytes of a frame, without its length.
/// Fails with kCorrupt on anything that is not a message: truncated, nested too deeply, pointing
/// outside, numbers out of range, intervals not ascending.
Result<Message> decode(std::span<const std::byte> frame);

/// The length of the frame that starts with these bytes; nullopt while there are fewer than 4.
/// Fails with kCorrupt when it exceeds `limit` or is 0.
Result<std::optional<std::size_t>> frame_length(std::span<const std::byte> bytes,
                                                std::size_t limit);

}  // namespace xylem::wire
