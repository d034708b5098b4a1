#pragma once

// Chooses the journalled packets to send now: new ones in order, within a limit of bytes in flight,
// and unacknowledged ones again.

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "backend/leaf/journal.h"
#include "base/clock.h"
#include "base/interval_set.h"
#include "wire/packet.h"

namespace xylem::backend {

struct OutboxOptions {
  /// Maximum size of packets sent and not yet acknowledged. Waiting packets stay in the journal and
  /// are not copied.
  std::size_t max_in_flight = 8u << 20;
  /// A packet is resent after this long without an acknowledgement; the pause doubles each time.
  Nanos first_resend = 5 * kSecond;
  Nanos longest_resend = 60 * kSecond;
};

/// The state of each journalled packet on its way. Does not send. One thread; the journal is
/// borrowed. A packet that was sent before, also by a predecessor, is marked `alone`: the first
/// copy may have been merged into another packet, and the root stores whichever arrives first. The
/// leaf's last packet is sent when all others are acknowledged. So when the root has stored it,
/// nothing more can come from this leaf.
class Outbox {
 public:
  Outbox(OutboxOptions options, Journal& journal);

  /// A packet was just journalled.
  void add(const PacketKey& key);
  /// A packet that a predecessor journalled and may have sent.
  void add_recovered(const PacketKey& key);

  /// As add(), with the packet itself. True if it may be sent now, before all added packets; it
  /// then counts as sent. Else it is added.
  bool add_and_send(const wire::Packet& packet, Nanos now);

  /// The packets to send now, oldest first; they count as sent.
  std::vector<wire::Packet> take_due(Nanos now);
  /// When take_due() next has a packet without a further event; 0: not scheduled.
  Nanos next_due() const;

  /// The root has stored the packet: removes it here and from the journal. Ignores unknown packets.
  /// On tools' streams `id` names waves; a packet is removed when all of its waves are
  /// acknowledged.
  void acknowledge(const wire::PacketId& id);
  /// The root, or a node on the way, asks for the packet again; on tools' streams, for every packet
  /// with one of the waves. The stream kEveryStream stands for all streams.
  void resend(const wire::PacketId& id);
  /// The path of the packets was lost or has changed: resends all packets that are not acknowledged
  /// by `when`.
  void resend_everything(Nanos when);

  std::size_t packets() const noexcept { return states_.size(); }
  std::size_t in_flight_bytes() const noexcept { return in_flight_; }

 private:
  struct State {
    bool sent = false;
    bool last = false;
    bool alone = false;
    Nanos due = 0;  // When it is to be sent again; meaningless before it was sent.
    Nanos pause = 0;
    std::size_t bytes = 0;
    std::uint64_t wave_end = 0;  // Known when it was sent.
    IntervalSet acknowledged;    // Of its waves, on tools' streams.
  };
  using States = std::map<PacketKey, State>;
  std::vector<States::iterator> sent_overlapping(const wire::PacketId& id);
  void forget(States::iterator it);
  void resend(States::iterator it);
  State& take_in(const PacketKey& key);
  void note_sent(State& state, const wire::Packet& packet, Nanos now);
  void set_due(const PacketKey& key, State& state, Nanos when);

  OutboxOptions options_;
  Journal& journal_;
  States states_;
  std::deque<PacketKey> fresh_;                // Not sent by us yet; may hold acknowledged ones.
  std::set<std::pair<Nanos, PacketKey>> due_;  // Sent ones.
  std::size_t in_flight_ = 0;
  std::size_t others_ = 0;  // Packets that are not the last.
};

}  // namespace xylem::backend
