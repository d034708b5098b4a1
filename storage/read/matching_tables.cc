#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/read/event_reader.h"
#include "storage/read/matched_events.h"
#include "storage/read/matching_tables_internal.h"
#include "storage/read/row_table_internal.h"
#include "storage/read/unmatched_reasons.h"
#include "storage/table_keys_internal.h"

namespace xylem::storage {
namespace {

/// A call of a collective that has succeeded, or the start of a persistent one.
bool is_collective_call(const wire::Event& event, const WaitFunction& function) {
  constexpr std::uint16_t kOthers = wire::kEventSend | wire::kEventReceive | wire::kEventBlock |
                                    wire::kEventAnyTag | wire::kEventHasBuffer;
  if (event.result != 0 || (event.flags & kOthers) != 0) return false;
  if ((event.flags & wire::kEventCollective) != 0) return true;
  // The communicator is not known, or the chunk is of a version before this flag.
  if ((event.flags & wire::kEventNumbered) != 0) return event.tag == wire::kNoTag;
  if (is_collective(function.role) || function.role == CallRole::kNotAnalysed)
    return event.calls != 0;
  // A function that makes a persistent request starts nothing.
  return function.role == CallRole::kOtherCollective && (event.flags & wire::kEventPosts) != 0;
}

/// Collects the collectives of a trace.
class Collectives {
 public:
  struct Key {
    WorldId world{};
    CommId comm{};
    std::uint32_t number = 0;
    std::string_view function;  ///< Without the _c of large counts.
    std::optional<Rank> alone;  ///< On MPI_COMM_SELF, each rank has collectives of its own.
    auto operator<=>(const Key&) const = default;
  };
  struct Row {
    std::vector<Rank> ranks;  ///< Of all calls, so a rank may be in it twice.
    std::optional<std::int32_t> root;
    const char* operation = nullptr;
    std::uint64_t bytes = 0, received_bytes = 0;
    Nanos first_ns = 0, last_ns = 0;
  };

  explicit Collectives(Connection& connection) {
    Statement worlds(connection, "SELECT id, size FROM world WHERE size > 0");
    for (bool more = worlds.first(); more; more = worlds.next())
      members_[{world_of(worlds.integer(0)), wire::kCommWorld}] = worlds.integer(1);
    // Files before schema 19 do not know members.
    if (!has_row(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'communicator_member'"))
      return;
    Statement members(connection,
                      "SELECT world, id, count(*) FROM communicator_member GROUP BY world, id");
    for (bool more = members.first(); more; more = members.next()) {
      const CommId comm{static_cast<std::uint32_t>(members.integer(1))};
      members_.try_emplace({world_of(members.integer(0)), comm}, members.integer(2));
    }
  }

  /// Returns true if all members are in the row, once.
  bool add(WorldId world, Rank rank, const wire::Event& event, std::string_view function) {
    if (function.ends_with("_c")) function.remove_suffix(2);
    Key key{world, event.comm, event.number, function, std::nullopt};
    if (event.comm == wire::kCommSelf) key.alone = rank;
    bool is_first = false;
    std::tie(newest_, is_first) = rows_.try_emplace(key);
    Row& row = newest_->second;
    row.ranks.push_back(rank);
    row.first_ns = is_first ? event.begin_ns : std::min(row.first_ns, event.begin_ns);
    row.last_ns = is_first ? event.end_ns : std::max(row.last_ns, event.end_ns);
    row.bytes += event.bytes;
    row.received_bytes += event.room;
    if (event.peer != wire::kNoPeer) row.root = event.peer;
    if (const char* name = wire::operation_name(event)) row.operation = name;
    const auto expected = members(key);
    return expected && *expected == static_cast<std::int64_t>(row.ranks.size()) &&
           *expected == distinct(row.ranks);
  }
  /// Forgets the row to which the last call was added.
  void drop_newest() { rows_.erase(newest_); }

  static std::int64_t distinct(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return std::unique(ranks.begin(), ranks.end()) - ranks.begin();
  }

  std::optional<std::int64_t> members(const Key& key) const {
    if (key.alone) return 1;
    const auto known = members_.find({key.world, key.comm});
    return known == members_.end() ? std::nullopt : std::optional(known->second);
  }
  const std::map<Key, Row>& rows() const { return rows_; }

 private:
  static WorldId world_of(std::int64_t id) { return WorldId{static_cast<std::uint32_t>(id)}; }

  std::map<Key, Row> rows_;
  std::map<Key, Row>::iterator newest_;
  std::map<std::pair<WorldId, CommId>, std::int64_t> members_;
};

// ---- collective ----

class CollectiveRows final : public RowSource {
 public:
  explicit CollectiveRows(Connection& connection)
      : connection_(connection), stream_(connection, events_of_interest()), found_(connection) {}

  bool next() override {
    if (!is_read_) {
      read();
      at_ = found_.rows().begin();
    } else if (at_ != found_.rows().end()) {
      ++at_;
    }
    return connection_.ok() && at_ != found_.rows().end();
  }
  void column(sqlite3_context* out, int column) override;

 private:
  void read() {
    is_read_ = true;
    EventReader::Item item;
    while (stream_.next(item)) {
      const EventReader::Process& process = stream_.processes()[raw(item.process)];
      const WaitFunction& function = stream_.functions()[raw(item.function)];
      const bool is_known =
          (item.event->flags & wire::kEventNumbered) != 0 && item.event->comm != wire::kNoComm;
      if (is_known && is_collective_call(*item.event, function))
        found_.add(*process.world, *process.rank, *item.event, stream_.function_name(item));
    }
  }

  Connection& connection_;
  EventReader stream_;
  Collectives found_;
  std::map<Collectives::Key, Collectives::Row>::const_iterator at_;
  bool is_read_ = false;
};

void CollectiveRows::column(sqlite3_context* out, int column) {
  const auto& [key, row] = *at_;
  switch (column) {
    case 0:
      return sqlite3_result_int64(out, raw(key.world));
    case 1:
      return sqlite3_result_int64(out, raw(key.comm));
    case 2:
      return sqlite3_result_int64(out, key.number);
    case 3:
      return put_text(out, key.function);
    case 4:
      return sqlite3_result_int64(out, Collectives::distinct(row.ranks));
    case 5:
      if (const auto members = found_.members(key)) sqlite3_result_int64(out, *members);
      return;
    case 6:
      if (row.root) sqlite3_result_int(out, *row.root);
      return;
    case 7:
      if (row.operation != nullptr) put_text(out, row.operation);
      return;
    case 8:
      return sqlite3_result_int64(out, to_sqlite(row.bytes));
    case 9:
      return sqlite3_result_int64(out, to_sqlite(row.received_bytes));
    case 10:
      return sqlite3_result_int64(out, row.first_ns);
    default:
      return sqlite3_result_int64(out, row.last_ns);
  }
}

// ---- unmatched ----

const char* reason_of(Unmatched reason) {
  switch (reason) {
    case Unmatched::kNotReceived:
      return kReceiveIsMissing;
    case Unmatched::kNotSent:
      return "its send is not in the trace";
    case Unmatched::kNoNumber:
      return kNumberIsUnknown;
    case Unmatched::kAmbiguous:
      return "two threads used the channel at the same time";
  }
  return "";
}

class UnmatchedRows final : public RowSource, MessageSink {
 public:
  explicit UnmatchedRows(Connection& connection)
      : connection_(connection), stream_(connection, events_of_interest()), found_(connection) {}

  bool next() override {
    if (!is_read_) {
      is_read_ = true;
      count_missing();
      read();
      at_ = counts_.begin();
    } else if (at_ != counts_.end()) {
      ++at_;
    }
    return connection_.ok() && at_ != counts_.end();
  }
  void column(sqlite3_context* out, int column) override {
    const auto& [world, rank, kind, reason] = at_->first;
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(world));
      case 1:
        return sqlite3_result_int64(out, raw(rank));
      case 2:
        return put_text(out, kind);
      case 3:
        return sqlite3_result_int64(out, to_sqlite(at_->second));
      default:
        return put_text(out, reason);
    }
  }

 private:
  using Key = std::tuple<WorldId, Rank, std::string_view, std::string_view>;

  void pair(const MessageHalf&, const MessageHalf&) override {}
  void unmatched(const MessageHalf& half, Unmatched reason) override {
    const Rank rank = half.is_send ? half.source : half.destination;
    ++counts_[{half.world, rank, half.is_send ? "send" : "receive", reason_of(reason)}];
  }

  // Adds what the account of each process and the file know to be missing.
  void count_missing() {
    const auto column = [&](const std::string& name) {
      return has_row(connection_,
                     "SELECT 1 FROM pragma_table_info('process') WHERE name = '" + name + "'")
                 ? "p." + name
                 : std::string("0");
    };
    // Schema 21 has another name for it.
    const std::string parts = column("lost_parts");
    const std::string sql =
        "SELECT p.world, p.rank, p.ring_lost, max(0, p.event_calls - p.stored_event_calls),"
        " iif(p.event_calls = 0, max(0, p.captured - p.ring_lost), 0), " +
        (parts == "0" ? column("lost_requests") : parts) + ", " + column("untracked_receives") +
        ", " + column("lost_messages") + ", " + column("lost_receives") +
        ", h.lost_reason IS NOT NULL FROM process p LEFT JOIN host h ON h.leaf = p.leaf"
        " WHERE p.world IS NOT NULL";
    Statement rows(connection_, sql);
    for (bool more = rows.first(); more; more = rows.next()) {
      const WorldId world{static_cast<std::uint32_t>(rows.integer(0))};
      const Rank rank{static_cast<std::uint32_t>(rows.integer(1))};
      const auto add = [&](const char* kind, std::int64_t count, const char* reason) {
        if (count > 0) counts_[{world, rank, kind, reason}] += static_cast<std::uint64_t>(count);
      };
      add("call", rows.integer(2), "there was no room for their records");
      add("call", rows.integer(3), "their chunks are not in the file");
      add("call", rows.integer(4), "the rank has no trace");
      add("part", rows.integer(5), "there was no room for their records");
      add("part", rows.integer(6), "the request could not be followed");
      add("send", rows.integer(7), "there was no room for their records");
      add("receive", rows.integer(8), "there was no room for their records");
      add("rank", rows.integer(9), "its host was lost");
    }
    if (!has_row(connection_, "SELECT 1 FROM sqlite_schema WHERE name = 'unwatched_rank'")) return;
    Statement unwatched(connection_,
                        "SELECT world, rank FROM unwatched_rank WHERE world IS NOT NULL");
    for (bool more = unwatched.first(); more; more = unwatched.next()) {
      ++counts_[{WorldId{static_cast<std::uint32_t>(unwatched.integer(0))},
                 Rank{static_cast<std::uint32_t>(unwatched.integer(1))}, "rank",
                 "it was not watched"}];
    }
  }

  void read() {
    MatchedEvents matched(stream_, *this);
    EventReader::Item item;
    while (matched.next(item)) {
      const EventReader::Process& process = stream_.processes()[raw(item.process)];
      const WaitFunction& function = stream_.functions()[raw(item.function)];
      const wire::Event& event = *item.event;
      if (!is_collective_call(event, function)) continue;
      if ((event.flags & wire::kEventNumbered) != 0 && event.comm != wire::kNoComm) {
        const std::string& name = stream_.function_name(item);
        if (found_.add(*process.world, *process.rank, event, name)) found_.drop_newest();
      } else {
        ++counts_[{*process.world, *process.rank, "collective", kNumberIsUnknown}];
      }
    }
    for (const auto& [key, row] : found_.rows()) {
      const auto members = found_.members(key);
      const bool is_repeated =
          Collectives::distinct(row.ranks) != static_cast<std::int64_t>(row.ranks.size());
      const char* const reason = is_repeated ? "a rank has called it twice"
                                 : members   ? "calls of other members are not in the trace"
                                             : "the members of its communicator are not known";
      for (const Rank rank : row.ranks) ++counts_[{key.world, rank, "collective", reason}];
    }
  }

  Connection& connection_;
  EventReader stream_;
  Collectives found_;
  std::map<Key, std::uint64_t> counts_;
  std::map<Key, std::uint64_t>::const_iterator at_;
  bool is_read_ = false;
};

}  // namespace

int register_matching_tables(sqlite3* database) {
  const int code = register_row_table(
      database, "collective",
      "CREATE TABLE collective(world INTEGER, comm INTEGER, number INTEGER, function TEXT,"
      " ranks INTEGER, members INTEGER, root INTEGER, operation TEXT, bytes INTEGER,"
      " received_bytes INTEGER, first_ns INTEGER, last_ns INTEGER)",
      std::make_unique<TableOf<CollectiveRows>>());
  if (code != SQLITE_OK) return code;
  return register_row_table(database, "unmatched",
                            "CREATE TABLE unmatched(world INTEGER, rank INTEGER, kind TEXT,"
                            " count INTEGER, reason TEXT)",
                            std::make_unique<TableOf<UnmatchedRows>>());
}

}  // namespace xylem::storage
