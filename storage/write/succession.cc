#include <array>
#include <cstring>
#include <utility>

#include "base/named.h"
#include "storage/write/intake_internal.h"
#include "storage/write/succession_internal.h"

namespace xylem::storage {
namespace {

constexpr std::array kRoles = {wire::Role::kFrontEnd, wire::Role::kCommProcess,
                               wire::Role::kBackEnd, wire::Role::kTool, wire::Role::kProgram};

std::uint32_t number(const Statement& row, int column) {
  return static_cast<std::uint32_t>(row.integer(column));
}

void fail_as_corrupt(Connection& connection, const std::string& what) {
  connection.fail(
      Error{Code::kCorrupt, connection.name() + ": " + what + "; the run cannot go on"});
}

void read_nodes(Connection& connection, Past& past) {
  Statement addresses(connection,
                      "SELECT host, port, unix_path, host_key FROM node_address WHERE node = ?"
                      " ORDER BY position");
  Statement rows(connection,
                 "SELECT id, role, host, parent, level, pid, leaf, state, host_key,"
                 " reason FROM node"
                 " ORDER BY id");
  for (bool more = rows.first(); more; more = rows.next()) {
    const auto role = find_named(kRoles, wire::role_name, rows.text(1));
    if (!role) fail_as_corrupt(connection, "a node without a role in it");
    NodeRow& node = past.nodes.emplace_back();
    node.id = NodeId{number(rows, 0)};
    node.role = role.value_or(wire::Role::kBackEnd);
    node.host = rows.text(2);
    node.parent = rows.is_null(3) ? kFrontEndNode : NodeId{number(rows, 3)};
    node.level = number(rows, 4);
    node.pid = number(rows, 5);
    node.leaf = rows.is_null(6) ? wire::kNoLeaf : LeafId{number(rows, 6)};
    node.state = rows.text(7);
    node.host_key = rows.text(8);
    node.reason = rows.text(9);
    for (bool another = addresses.first(node.id); another; another = addresses.next()) {
      wire::Address& address = node.addresses.emplace_back();
      address.host = addresses.text(0);
      address.port = static_cast<std::uint16_t>(addresses.integer(1));
      address.unix_path = addresses.text(2);
      address.host_key = addresses.text(3);
    }
  }
}

void read_processes(Connection& connection, Past& past) {
  Statement rows(connection,
                 "SELECT p.leaf, p.lane, p.rank, w.size, w.key FROM process p"
                 " LEFT JOIN world w ON w.id = p.world ORDER BY p.leaf, p.lane");
  for (bool more = rows.first(); more; more = rows.next()) {
    PastProcess& process = past.processes.emplace_back();
    process.leaf = LeafId{number(rows, 0)};
    process.lane = Lane{number(rows, 1)};
    process.initialised = !rows.is_null(4);
    if (!process.initialised) continue;
    process.rank = Rank{number(rows, 2)};
    process.world_size = number(rows, 3);
    const auto key = rows.blob(4);
    if (key.size() != process.world_key.size()) {
      fail_as_corrupt(connection, "a world without its key in it");
      return;
    }
    std::memcpy(process.world_key.data(), key.data(), key.size());
  }
}

// Counts one more front end. The run's end that a former front end has written is no longer valid.
void raise(Connection& connection, const std::string& run_id, Past& past) {
  Statement run(connection, "SELECT run_id FROM run");
  if (!run.first()) {
    if (connection.ok()) fail_as_corrupt(connection, "no run in it");
    return;
  }
  const std::string found = run.text(0);
  run.reset();
  if (found != run_id) {
    connection.fail(
        Error{Code::kInvalidArgument, connection.name() + ": it is another run's file by now"});
    return;
  }
  Statement one_more(connection,
                     "UPDATE run SET front_ends = front_ends + 1, ended_ns = NULL,"
                     " exit_code = NULL RETURNING front_ends");
  if (one_more.first()) past.front_ends = one_more.count(0);
  one_more.reset();
}

void read_past(Connection& connection, Past& past) {
  Statement succession(connection, "SELECT epoch_ns, ended FROM succession");
  if (!succession.first()) {
    if (connection.ok()) fail_as_corrupt(connection, "nothing for a successor in it");
    return;
  }
  past.epoch_ns = succession.integer(0);
  auto ended = parse_intervals(succession.text(1));
  succession.reset();
  if (!ended) return connection.fail(std::move(ended.error()));
  past.ended = *std::move(ended);
  read_nodes(connection, past);
  read_processes(connection, past);
}

}  // namespace

Result<Past> take_over(Connection& connection, const std::string& run_id) {
  Past past;
  connection.execute("BEGIN IMMEDIATE");
  raise(connection, run_id, past);
  read_past(connection, past);
  connection.execute("COMMIT");
  auto done = connection.take();
  if (done) return past;
  connection.execute("ROLLBACK");
  static_cast<void>(connection.take());  // Often there is nothing left to roll back.
  return unexpected(std::move(done.error()));
}

Succession::Succession(Connection& connection)
    : connection_(connection),
      front_ends_(connection, "SELECT front_ends FROM run"),
      begin_(connection, "INSERT INTO succession VALUES(?,'')"),
      forget_addresses_(connection, "DELETE FROM node_address WHERE node = ?"),
      address_(connection, "INSERT INTO node_address VALUES(?,?,?,?,?,?)"),
      ended_(connection, "SELECT ended FROM succession"),
      set_ended_(connection, "UPDATE succession SET ended = ?") {}

void Succession::begin(Nanos epoch_ns) { begin_.run(epoch_ns); }

bool Succession::is_newest(std::uint64_t front_ends) {
  if (!front_ends_.first()) return false;
  const std::uint64_t newest = front_ends_.count(0);
  front_ends_.reset();
  return newest == front_ends;
}

void Succession::note_addresses(const NodeRow& node) {
  forget_addresses_.run(node.id);
  int position = 0;
  for (const wire::Address& address : node.addresses) {
    address_.run(node.id, position++, address.host, address.port, address.unix_path,
                 address.host_key);
  }
}

void Succession::note_ended(const IntervalSet& leaves) {
  if (!ended_.first()) return;
  auto ended = parse_intervals(ended_.text(0));
  ended_.reset();
  if (!ended) return connection_.fail(std::move(ended.error()));
  ended->insert(leaves);
  set_ended_.run(ended->to_string());
}

}  // namespace xylem::storage
