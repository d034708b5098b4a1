#pragma once

// Requests of compute nodes to storage nodes. A request takes, by equation (6) of SimHPC,
//
//   T_storage-system = T_establish-connection + T_send-request + T_storage-node + T_return
//
// All but T_storage-node are messages between two nodes, and take what predict/network/ says:
// - Each has the overhead o at its sender, the network's time, and o + (s-1) times the larger of O
//   and G at its receiver, as a message of an MPI program. They use neither processors nor NICs
//   of ranks.
// - A storage node has one NIC for each direction. It takes g + (s-1) G for a message, so that
//   answers leave one after the other.
// - To establish a connection takes one message of kControlBytes to the storage node. If
//   connections are kept, only the first request between two nodes has one; requests that come
//   in the meantime wait for it.
// - The request of a read has kControlBytes, its answer the bytes that are read. The request of a
//   write has the bytes that are written, its answer kControlBytes.
// - T_storage-node is waiting for the requests that arrived before, and storage_node.h.

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "predict/disk/options.h"
#include "predict/disk/read_ahead.h"
#include "predict/disk/storage_node.h"
#include "predict/disk/stripes.h"
#include "predict/network/network.h"

namespace xylem::predict {

/// Bytes of a message without data: about the size of a header of NFS or Lustre.
constexpr std::uint64_t kControlBytes = 128;

/// What a compute node asks for: a part of one stripe.
struct StorageRequest {
  Node node{};
  std::uint32_t file = 0;
  std::uint64_t offset = 0;  ///< In the file.
  std::uint64_t bytes = 0;   ///< Above 0.
  bool is_write = false;
  PageRange pages;  ///< For the sender: the pages that it awaits. Empty if it awaits none.
};

/// When the parts of a request ended.
struct RequestTimes {
  Ticks sent = 0;
  Ticks connected = 0;  ///< T_establish-connection. The same as `sent` if there is a connection.
  Ticks arrived = 0;    ///< T_send-request.
  Ticks served = 0;     ///< T_storage-node.
  Ticks delivered = 0;  ///< T_return.
  Service service;
};

/// An event that the storage asks for.
struct StorageStep {
  Ticks time = 0;  ///< Not before the call. If it is kMaxTicks or more, the run is too long.
  std::uint32_t id = 0;
  /// It continues the event of the call, and has its order: see Network.
  bool keeps_order = false;
};

/// What all requests were.
struct RequestTotals {
  std::uint64_t requests = 0;
  std::uint64_t connections = 0;
  std::uint64_t buffer_hits = 0;    ///< Pages that a storage node had in its buffer.
  std::uint64_t buffer_misses = 0;  ///< Pages that it did not have.
  std::uint64_t disk_reads = 0;
  std::uint64_t disk_writes = 0;

  bool operator==(const RequestTotals&) const = default;
};

/// Carries requests. Not thread-safe. Calls come in the order of their times. After send() and
/// after each go_on() that returns false, `steps` has an event for the request, at which go_on() is
/// called.
class StorageRequests {
 public:
  /// `servers` has the node of each storage node. `file_bytes` has the length of each file. It,
  /// `network` and `steps` must outlive this. `network` may be used by others, which send at
  /// times that are o later than the calls, too.
  StorageRequests(const StorageOptions& options, const LogGpsCosts& ends,
                  const std::vector<Node>& servers, const std::vector<std::uint64_t>& file_bytes,
                  Network& network, std::vector<StorageStep>& steps);

  /// Returns the number of the request. It is used again after forget().
  std::uint32_t send(const StorageRequest& request, Ticks now);
  /// Whether the answer has been delivered.
  bool go_on(std::uint32_t id, Ticks now);
  void forget(std::uint32_t request) { unused_.push_back(request); }

  const StorageRequest& request(std::uint32_t id) const { return all_[id].request; }
  const RequestTimes& times(std::uint32_t id) const { return all_[id].times; }
  const RequestTotals& totals() const { return totals_; }
  const Stripes& stripes() const { return stripes_; }

 private:
  enum class Stage : std::uint8_t {
    kConnecting,  ///< The message of the connection is under way.
    kConnected,   ///< The storage node takes it.
    kAsking,      ///< The request is under way.
    kArrived,     ///< The storage node takes it.
    kServed,      ///< The storage node serves it.
    kReplying,    ///< The answer waits for the NIC of the storage node.
    kAnswering,   ///< The answer is under way.
    kDelivered,   ///< The compute node takes it.
  };
  struct Entry {
    StorageRequest request;
    RequestTimes times;
    std::uint32_t server = 0;
    std::uint32_t message = 0;  ///< Of the network.
    bool is_in_network = false;
    Stage stage = Stage::kConnecting;
  };
  struct Server {
    StorageNode node;
    Node at{};
    Ticks receives_until = 0, sends_until = 0;  ///< Its NICs.
  };
  struct Connection {
    bool is_established = false;
    std::vector<std::uint32_t> waiting;  ///< Requests, in their order.
  };

  Connection& connection_of(const Entry& entry);
  void connect(std::uint32_t id, Ticks now);
  void established(std::uint32_t id, Ticks now);
  void ask(std::uint32_t id, Ticks now);
  void serve(std::uint32_t id, Ticks now);
  void reply(std::uint32_t id, Ticks now);
  void send_message(std::uint32_t id, Node from, Node to, std::uint64_t bytes, Ticks now);
  void follow(std::uint32_t id, const Network::Step& step, bool keeps_order);
  void take_at_server(std::uint32_t id, std::uint64_t bytes, Stage next, Ticks now);
  void wait_until(std::uint32_t id, Stage stage, Ticks time);

  const LogGpsCosts ends_;
  const ConnectionPolicy policy_;
  const Stripes stripes_;
  const std::vector<std::uint64_t>& file_bytes_;
  Network& network_;
  std::vector<StorageStep>& steps_;
  std::vector<Server> servers_;
  std::vector<Entry> all_;
  std::vector<std::uint32_t> unused_;
  std::unordered_map<std::uint64_t, Connection> connections_;  ///< By node and storage node.
  RequestTotals totals_;
};

}  // namespace xylem::predict
