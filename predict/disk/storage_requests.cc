#include "predict/disk/storage_requests.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"

namespace xylem::predict {

StorageRequests::StorageRequests(const StorageOptions& options, const LogGpsCosts& ends,
                                 const std::vector<Node>& servers,
                                 const std::vector<std::uint64_t>& file_bytes, Network& network,
                                 std::vector<StorageStep>& steps)
    : ends_(ends),
      policy_(options.connection),
      stripes_(options.stripe_bytes, static_cast<std::uint32_t>(servers.size())),
      file_bytes_(file_bytes),
      network_(network),
      steps_(steps) {
  const StorageCosts costs(options, ends);
  servers_.reserve(servers.size());
  for (const Node it : servers) servers_.push_back({StorageNode(options, costs), it, 0, 0});
}

std::uint32_t StorageRequests::send(const StorageRequest& request, Ticks now) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<std::uint32_t>(all_.size()));
    all_.emplace_back();
  }
  const std::uint32_t id = unused_.back();
  unused_.pop_back();
  Entry& entry = all_[id];
  entry = {};
  entry.request = request;
  entry.server = stripes_.find(request.file, request.offset).server;
  entry.times.sent = now;
  ++totals_.requests;
  if (policy_ == ConnectionPolicy::kPerRequest) {
    connect(id, now);
    return id;
  }
  Connection& connection = connection_of(entry);
  if (connection.is_established) {
    ask(id, now);
  } else {
    connection.waiting.push_back(id);
    if (connection.waiting.size() == 1) connect(id, now);
  }
  return id;
}

bool StorageRequests::go_on(std::uint32_t id, Ticks now) {
  if (all_[id].is_in_network) {
    follow(id, network_.go_on(all_[id].message, now), true);
    return false;
  }
  switch (all_[id].stage) {
    case Stage::kConnecting:
      take_at_server(id, kControlBytes, Stage::kConnected, now);
      return false;
    case Stage::kConnected:
      established(id, now);
      return false;
    case Stage::kAsking: {
      const StorageRequest& request = all_[id].request;
      take_at_server(id, request.is_write ? request.bytes : kControlBytes, Stage::kArrived, now);
      return false;
    }
    case Stage::kArrived:
      serve(id, now);
      return false;
    case Stage::kServed:
      all_[id].times.served = now;
      [[fallthrough]];
    case Stage::kReplying:
      reply(id, now);
      return false;
    case Stage::kAnswering: {
      const StorageRequest& request = all_[id].request;
      const std::uint64_t bytes = request.is_write ? kControlBytes : request.bytes;
      wait_until(id, Stage::kDelivered, later(now, ends_.receive_cpu(bytes)));
      return false;
    }
    case Stage::kDelivered:
      all_[id].times.delivered = now;
      return true;
  }
  return false;
}

StorageRequests::Connection& StorageRequests::connection_of(const Entry& entry) {
  return connections_[std::uint64_t{raw(entry.request.node)} << 32 | entry.server];
}

void StorageRequests::connect(std::uint32_t id, Ticks now) {
  ++totals_.connections;
  Entry& entry = all_[id];
  entry.stage = Stage::kConnecting;
  send_message(id, entry.request.node, servers_[entry.server].at, kControlBytes, now);
}

/// Sends the request, and those that have waited for its connection.
void StorageRequests::established(std::uint32_t id, Ticks now) {
  if (policy_ == ConnectionPolicy::kPerRequest) {
    ask(id, now);
    return;
  }
  Connection& connection = connection_of(all_[id]);
  connection.is_established = true;
  for (const std::uint32_t it : std::exchange(connection.waiting, {})) ask(it, now);
}

void StorageRequests::ask(std::uint32_t id, Ticks now) {
  Entry& entry = all_[id];
  entry.times.connected = now;
  entry.stage = Stage::kAsking;
  const StorageRequest& request = entry.request;
  send_message(id, request.node, servers_[entry.server].at,
               request.is_write ? request.bytes : kControlBytes, now);
}

void StorageRequests::serve(std::uint32_t id, Ticks now) {
  Entry& entry = all_[id];
  const StorageRequest& request = entry.request;
  entry.times.arrived = now;
  const StoredAt at = stripes_.find(request.file, request.offset);
  const StoredRange range{request.file, at.offset, request.bytes,
                          stripes_.bytes_on(entry.server, request.file, file_bytes_[request.file]),
                          request.is_write};
  entry.times.service = servers_[entry.server].node.serve(range, now);
  totals_.buffer_hits += entry.times.service.hit_pages;
  totals_.buffer_misses += entry.times.service.missed_pages;
  if (entry.times.service.missed_bytes > 0) ++totals_.disk_reads;
  if (request.is_write) ++totals_.disk_writes;
  wait_until(id, Stage::kServed, entry.times.service.end);
}

/// Sends the answer when the NIC of the storage node is free.
void StorageRequests::reply(std::uint32_t id, Ticks now) {
  Entry& entry = all_[id];
  Server& server = servers_[entry.server];
  const std::uint64_t bytes = entry.request.is_write ? kControlBytes : entry.request.bytes;
  if (entry.stage == Stage::kServed) {
    const Ticks begin = std::max(now, server.sends_until);
    server.sends_until = later(begin, ends_.nic(bytes));
    if (begin > now) {
      wait_until(id, Stage::kReplying, begin);
      return;
    }
  }
  entry.stage = Stage::kAnswering;
  send_message(id, server.at, entry.request.node, bytes, now);
}

void StorageRequests::send_message(std::uint32_t id, Node from, Node to, std::uint64_t bytes,
                                   Ticks now) {
  follow(id, network_.send(from, to, bytes, now + ends_.overhead()), false);
}

void StorageRequests::follow(std::uint32_t id, const Network::Step& step, bool keeps_order) {
  all_[id].is_in_network = !step.has_arrived;
  all_[id].message = step.message;
  steps_.push_back({step.time, id, keeps_order});
}

/// The message of a request has come to its storage node.
void StorageRequests::take_at_server(std::uint32_t id, std::uint64_t bytes, Stage next, Ticks now) {
  Server& server = servers_[all_[id].server];
  const Ticks begin = std::max(now, server.receives_until);
  server.receives_until = later(begin, ends_.nic(bytes));
  wait_until(id, next, later(begin, ends_.receive_cpu(bytes)));
}

void StorageRequests::wait_until(std::uint32_t id, Stage stage, Ticks time) {
  all_[id].stage = stage;
  steps_.push_back({time, id, false});
}

}  // namespace xylem::predict
