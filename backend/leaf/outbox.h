#pragma once

// Chooses the journalled packets to send now. New packets are sent in order, within a limit of
// bytes in flight. Unacknowledged packets are sent again.

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
  /// No new packet is sent while at least this many bytes are sent and not yet acknowledged.
  /// Waiting packets stay in the journal and are not copied.
  std::size_t max_in_flight = 8u << 20;
  /// A packet is resent if it is not acknowledged after this time. The time doubles with each
  /// timeout, up to `longest_resend`. It begins again with `first_resend` when a resend was
  /// requested.
  Nanos first_resend = 5 * kSecond;
  Nanos longest_resend = 60 * kSecond;
};

/// Keeps the delivery state of each journalled packet. It does not send. Not thread-safe; the
/// journal is borrowed.
///
/// A packet is marked `alone` if it was sent before, or if an earlier process with the same journal
/// may have sent it. No node merges this packet. This is needed because the packet's first copy may
/// have been merged into another packet. The root takes the copy that arrives first.
///
/// The leaf's last packet is sent only when all other packets are acknowledged. So when the root
/// has the last packet, it already has all other packets of this leaf.
class Outbox {
 public:
  Outbox(OutboxOptions options, Journal& journal);

  /// Adds a packet that was just journalled.
  void add(const PacketKey& key);
  /// Adds a packet that an earlier process journalled and may have sent.
  void add_recovered(const PacketKey& key);

  /// Returns true if the packet may be sent now; it then counts as sent. Returns false if older
  /// packets wait, if the limit of bytes in flight is reached, or if it is the leaf's last packet.
  /// Then the packet waits, as after add().
  bool add_and_send(const wire::Packet& packet, Nanos now);

  /// The packets to send now: first those to send again, then new packets in order. They count as
  /// sent.
  std::vector<wire::Packet> take_due(Nanos now);
  /// When to call take_due() if nothing else happens; 0: not scheduled.
  Nanos next_due() const;

  /// Call it when the root has acknowledged a packet. Removes the packet here and from the journal.
  /// Ignores unknown packets. On streams of tools (ids from kFirstToolStream), `id` names waves. A
  /// packet is removed when all its waves are acknowledged.
  void acknowledge(const wire::PacketId& id);
  /// Makes a sent packet due again, because the root or a node on the way asked for it. On tools'
  /// streams, makes every sent packet due that has one of the waves. The stream kEveryStream means
  /// all streams.
  void resend(const wire::PacketId& id);
  /// At the time `when`, all sent packets that are still not acknowledged become due again. Call it
  /// when the path of the packets was lost or has changed.
  void resend_everything(Nanos when);

  std::size_t packets() const noexcept { return states_.size(); }
  std::size_t in_flight_bytes() const noexcept { return in_flight_; }

 private:
  struct State {
    bool sent = false;
    bool last = false;
    bool alone = false;
    Nanos due = 0;  // When to resend the packet; not used before the packet was sent.
    Nanos pause = 0;
    std::size_t bytes = 0;
    std::uint64_t wave_end = 0;  // Set when the packet is sent.
    IntervalSet acknowledged;    // The packet's acknowledged waves, on tools' streams.
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
  // Packets that this object has not sent yet. Some may already be acknowledged.
  std::deque<PacketKey> fresh_;
  std::set<std::pair<Nanos, PacketKey>> due_;  // Sent packets, by the time of their resend.
  std::size_t in_flight_ = 0;
  std::size_t others_ = 0;  // Number of packets, not counting the leaf's last packet.
};

}  // namespace xylem::backend
