#pragma once

// The first messages of a link. The connecting side sends its role. Each side proves that it knows
// the run's key. net/handshake.h describes the order of these messages.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ids.h"

namespace xylem::wire {

constexpr std::uint32_t kMagic = 0x4d4c5958;  // "XYLM"
constexpr std::uint32_t kMajorVersion = 1;
/// Maximum size of a frame from a peer that has not yet proved that it knows the run's key.
constexpr std::size_t kMaxHelloBytes = 4096;

constexpr NodeId kNoNode{0xffffffff};
constexpr LeafId kNoLeaf{0xffffffff};

enum class Role : std::uint16_t {
  kFrontEnd = 0,
  kCommProcess = 1,
  kBackEnd = 2,
  kTool = 3,
  /// A program that has joined as a leaf. In a run's tree it does not count as a host. On the wire
  /// it is a back end with Hello.program set.
  kProgram = 4,
};

/// "front_end", "comm_process", "back_end", "tool", "program".
const char* role_name(Role role);

using Nonce = std::array<std::uint8_t, 16>;
using Mac = std::array<std::uint8_t, 32>;

/// First message of the connecting side. The accepting side answers with Challenge or Refusal. If
/// `magic` is wrong, it closes the connection without an answer. The fields are not verified: the
/// proof shows only that the sender knows the key.
struct Hello {
  std::uint32_t magic = kMagic;
  std::uint32_t major = kMajorVersion;
  /// Bits of the optional features that the sender supports. Unknown bits are ignored.
  std::uint64_t features = 0;
  Role role = Role::kBackEnd;
  /// Run id. The accepting side refuses another run.
  std::string run;
  /// The sender's node id; kNoNode before it has one.
  NodeId node = kNoNode;
  /// The sender's leaf id; kNoLeaf if it is no leaf or has none yet.
  LeafId leaf = kNoLeaf;
  /// Level in the tree. A node accepts only children with a larger level.
  std::uint32_t level = 0;
  Nonce nonce{};  ///< A random number from which the receiver makes Welcome::proof.
  std::uint64_t control_version = 0;  ///< Version of the last Control that the sender has.
  std::string host_key;               ///< Identity of the host's run folder.
  bool operator==(const Hello&) const = default;
};

/// From the accepting side, after a Hello that it accepts. The connecting side answers with Proof.
struct Challenge {
  /// A random number from which the receiver makes Proof::mac.
  Nonce nonce{};
  bool operator==(const Challenge&) const = default;
};

/// From the accepting side, after a correct Proof. The connecting side checks `proof`, and closes
/// the connection if it is wrong. It sends no answer. After this message both sides may send any
/// other message.
struct Welcome {
  std::uint32_t major = kMajorVersion;
  std::uint64_t features = 0;  ///< Optional features of the sender, as in Hello::features.
  Mac proof{};                 ///< Proves that the sender knows the key. Made from Hello::nonce.
  /// The sender's node id.
  NodeId node = kNoNode;
  /// Identities of CLOCK_MONOTONIC of the sender and of the front end (base/this_host.h). Equal
  /// identities mean the same clock. 0: unknown.
  std::uint64_t clock = 0;
  std::uint64_t root_clock = 0;
  bool operator==(const Welcome&) const = default;
};

/// From the connecting side, after a Challenge. The accepting side checks it, and answers with
/// Welcome or Refusal.
struct Proof {
  /// Proves that the sender knows the key. Made from Challenge::nonce.
  Mac mac{};
  bool operator==(const Proof&) const = default;
};

/// From the accepting side, in place of Challenge or Welcome. The accepting side then closes the
/// connection. The connecting side sends no answer.
struct Refusal {
  /// The reason, for people.
  std::string sentence;
  bool operator==(const Refusal&) const = default;
};

}  // namespace xylem::wire
