#pragma once

// A leaf of the model. It uses the delivery and the journal of the product, with packets from a
// source whose content is known.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/leaf/delivery.h"
#include "backend/leaf/journal.h"
#include "overlay/node.h"
#include "tests/model/ledger.h"
#include "tests/model/simulation.h"

namespace xylem::model {

/// Zeroed, page-aligned memory that outlives workers.
class Region {
 public:
  explicit Region(std::size_t bytes);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// The behaviour of a host's leaf, drawn once at random.
struct LeafHabits {
  std::size_t journal_bytes = 1u << 20;
  std::uint32_t chunk_events = 0;  ///< 0: no chunks.
  Nanos lateness = 0;  ///< Maximum delay from the end of a slice until its window is sealed.
};

/// The state of a host that survives its workers.
struct LeafHost {
  LeafHost(HostNumber number, LeafHabits drawn);

  HostNumber host{};
  LeafHabits habits;
  Region region;
  std::string host_key;
  std::uint32_t ranks = 1;  ///< Size of the world of this host's process.

  // The source: the calls and records of a process, and how many of them are journalled.
  bool registered = false;
  bool last_is_journalled = false;
  bool ended = false;          ///< All packets are acknowledged and the leaf has said goodbye.
  std::uint64_t calls = 0;     ///< Calls since the last window.
  std::uint64_t captured = 0;  ///< Calls in windows.
  std::uint64_t records = 0;
  /// Encoded chunks by number of events. Chunks with the same number of events have the same bytes.
  /// The reason: tests compare only the identity and the number of calls of a chunk.
  std::map<std::uint32_t, wire::Bytes> chunks;

  LeafId leaf = wire::kNoLeaf;
  Nanos acknowledged_at = 0;  ///< Time of the last acknowledgement for this leaf.
  std::map<backend::PacketKey, Sent> sent;
  std::uint64_t given_up = 0;  ///< Packets that became tombstones here, over all workers.
};

/// The worker. Borrows the host's state and the random numbers.
class Leaf final : public overlay::Node {
 public:
  using StartCommProcess = std::function<void(const wire::StartCommProcess&)>;

  Leaf(LeafHost& host, Random& random, wire::Address front_end, backend::OutboxOptions outbox,
       StartCommProcess start);
  ~Leaf() override;

  void on_start(overlay::Network& network, Nanos now) override;
  void on_link_up(overlay::LinkId link, const overlay::Peer& peer, Nanos now) override;
  void on_connect_failed(NodeId node, const Error& why, Nanos now) override;
  void on_message(overlay::LinkId link, wire::Message message, Nanos now) override;
  void on_link_down(overlay::LinkId link, const Error& why, Nanos now) override;
  void on_timer(Nanos now) override;
  void on_readable(int, Nanos) override {}

  /// Call it when a communication process that this worker has started is gone.
  void comm_process_ended(NodeId node);

 private:
  bool is_encoding() const;
  void work(Nanos now);
  void produce(Nanos now);
  bool append(backend::Draft draft);
  bool announce();
  bool seal_window(Nanos now, bool last);
  bool make_chunk();
  void schedule(Nanos now);

  LeafHost& host_;
  Random& random_;
  backend::Journal journal_;
  backend::Delivery delivery_;
  StartCommProcess start_;
  overlay::Network* network_ = nullptr;
  Nanos next_window_ = 0;
  bool done_ = false;
};

}  // namespace xylem::model
