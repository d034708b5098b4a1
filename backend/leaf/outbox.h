#pragma once

// Which journalled packets are to be sent now: new ones in order while not too much is on its way,
// and again those whose acknowledgement does not come.

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
  /// Sent and not yet acknowledged: no more than this. What waits stays in the journal, in this
  /// process's memory only once.
  std::size_t max_in_flight = 8u << 20;
  /// Without an acknowledgement for so long a packet is sent again; the pause doubles each time.
  Nanos first_resend = 5 * kSecond;
  Nanos longest_resend = 60 * kSecond;
};

/// The state of each journalled packet on its way. Does not send. One thread; the journal is
/// borrowed. A packet that was sent before, by whomever, goes `alone`: it may have been merged into
/// another packet, of which the root stores the one that arrives first. The leaf's last packet goes
/// when all others are acknowledged: so the root knows, when it has stored that, that nothing more
/// comes, whatever else it hears or does not hear.
class Outbox {
 public:
  Outbox(OutboxOptions options, Journal& journal);

  /// A packet was journalled just now.
  void add(const PacketKey& key);
  /// A predecessor journalled it; perhaps it sent it.
  void add_recovered(const PacketKey& key);

  /// The same, of one that is at hand: true when it may go now, before all that add() was told, and
  /// counts as sent. Else it was added.
  bool add_and_send(const wire::Packet& packet, Nanos now);

  /// The packets to send now, oldest first; they count as sent.
  std::vector<wire::Packet> take_due(Nanos now);
  /// When take_due() has something again if nothing happens; 0: not before something happens.
  Nanos next_due() const;

  /// The root has stored it: gone from the journal too. Not ours, or known already: no matter. On
  /// tools' streams it names waves; a packet is gone when all of its waves have been named.
  void acknowledge(const wire::PacketId& id);
  /// The root, or a node on the way, asks for it again; on tools' streams, for every packet that
  /// has one of the waves. The stream kEveryStream stands for all.
  void resend(const wire::PacketId& id);
  /// The way that packets took is gone, or has changed: all that is not acknowledged by `when` is
  /// sent again.
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
