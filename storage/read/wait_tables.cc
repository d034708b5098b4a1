// The tables are computed in two passes at most. The first one learns which ranks use which
// communicator, and which ranks have several threads. The second one reads the events of all ranks
// in the order of time.

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "storage/read/event_reader.h"
#include "storage/read/matched_events.h"
#include "storage/read/row_table_internal.h"
#include "storage/read/wait_tables_internal.h"

namespace xylem::storage {
namespace {

// ---- message ----

class MessageRows final : public RowSource, MessageSink {
 public:
  explicit MessageRows(Connection& connection)
      : connection_(connection), stream_(connection, events_of_interest()) {}

  bool next() override {
    if (has_row_) rows_.pop_front();
    while (rows_.empty() && !is_over_) read();
    has_row_ = !rows_.empty() && connection_.ok();
    return has_row_;
  }
  void column(sqlite3_context* out, int column) override;

 private:
  struct Row {
    MessageHalf half;
    std::optional<Nanos> sent_ns, received_ns;
  };

  void read() {
    EventReader::Item item;
    is_over_ = !matched_.next(item);
  }
  void pair(const MessageHalf& send, const MessageHalf& receive) override {
    rows_.push_back({send, send.begin_ns, receive.end_ns});
  }
  void unmatched(const MessageHalf& half, Unmatched) override {
    rows_.push_back({half, {}, {}});
    (half.is_send ? rows_.back().sent_ns : rows_.back().received_ns) =
        half.is_send ? half.begin_ns : half.end_ns;
  }

  Connection& connection_;
  EventReader stream_;
  MatchedEvents matched_{stream_, *this};
  std::deque<Row> rows_;
  bool has_row_ = false, is_over_ = false;
};

void put_optional(sqlite3_context* out, const std::optional<Nanos>& value) {
  if (value) sqlite3_result_int64(out, *value);
}

void MessageRows::column(sqlite3_context* out, int column) {
  const Row& row = rows_.front();
  switch (column) {
    case 0:
      return sqlite3_result_int64(out, raw(row.half.world));
    case 1:
      if (row.half.comm != wire::kNoComm) sqlite3_result_int64(out, raw(row.half.comm));
      return;
    case 2:
      if (row.half.tag != wire::kNoTag) sqlite3_result_int64(out, row.half.tag);
      return;
    case 3:
      return sqlite3_result_int64(out, raw(row.half.source));
    case 4:
      return sqlite3_result_int64(out, raw(row.half.destination));
    case 5:
      if (row.half.is_numbered) sqlite3_result_int64(out, row.half.number);
      return;
    case 6:
      return sqlite3_result_int64(out, to_sqlite(row.half.bytes));
    case 7:
      return put_optional(out, row.sent_ns);
    default:
      return put_optional(out, row.received_ns);
  }
}

// ---- wait_state and wait_coverage ----

WaitStates analyse(Connection& connection) {
  EventReader stream(connection, events_of_interest());
  WaitAnalysis analysis({stream.functions().begin(), stream.functions().end()});
  for (const EventReader::Process& process : stream.processes()) {
    const ProcessIndex index = analysis.add_process(*process.world, *process.rank);
    const EventReader::Surveyed surveyed = stream.survey(index);
    for (const CommId comm : surveyed.comms) analysis.add_member(index, comm);
    if (!surveyed.has_one_thread) analysis.expect_threads(index);
  }
  Statement worlds(connection, "SELECT id, size FROM world");
  for (bool more = worlds.first(); more; more = worlds.next()) {
    analysis.expect_ranks(WorldId{static_cast<std::uint32_t>(worlds.integer(0))},
                          static_cast<std::uint64_t>(std::max<std::int64_t>(0, worlds.integer(1))));
  }
  EventReader::Item item;
  for (std::uint64_t events = 1; stream.next(item); ++events) {
    analysis.add(item.process, item.function, *item.event);
    if (events % kEventsOfPromise != 0) continue;
    for (std::uint32_t i = 0; i < stream.processes().size(); ++i) {
      const Nanos time = stream.horizon(ProcessIndex{i});
      if (time == std::numeric_limits<Nanos>::max()) {
        analysis.end(ProcessIndex{i});
      } else {
        analysis.promise(ProcessIndex{i}, time);
      }
    }
  }
  return analysis.finish();
}

class WaitStateRows final : public RowSource {
 public:
  explicit WaitStateRows(std::shared_ptr<const WaitStates> states) : states_(std::move(states)) {}
  bool next() override { return ++at_ <= states_->rows.size(); }
  void column(sqlite3_context* out, int column) override {
    const WaitState& row = states_->rows[at_ - 1];
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(row.world));
      case 1:
        return sqlite3_result_int64(out, raw(row.rank));
      case 2:
        return put_rank(out, row.cause_rank);
      case 3:
        return put_text(out, wait_kind_name(row.kind));
      case 4:
        return put_text(out, row.function);
      case 5:
        return sqlite3_result_int64(out, row.time_ns);
      case 6:
        return sqlite3_result_int64(out, to_sqlite(row.calls));
      default:
        return put_rank(out, row.root_rank);
    }
  }

 private:
  static void put_rank(sqlite3_context* out, std::optional<Rank> rank) {
    if (rank) sqlite3_result_int64(out, raw(*rank));
  }
  std::shared_ptr<const WaitStates> states_;  // Shared, see WaitStates.
  std::size_t at_ = 0;
};

class CoverageRows final : public RowSource {
 public:
  explicit CoverageRows(const WaitStates& states) {
    for (const WaitCoverage& world : states.worlds) {
      const auto add = [&](const char* part, WaitCoverage::Part sum, bool has_calls = true) {
        rows_.push_back({world.world, part, sum, has_calls});
      };
      add("blocking", world.blocking);
      add("analysed", world.analysed);
      for (std::size_t i = 0; i < kNotAnalysedReasons; ++i) {
        add(not_analysed_name(static_cast<NotAnalysed>(i)), world.not_analysed[i]);
      }
      add("waiting", {0, world.waiting_ns}, false);
      add("unfollowed", {0, world.unfollowed_ns}, false);
    }
  }
  bool next() override { return ++at_ <= rows_.size(); }
  void column(sqlite3_context* out, int column) override {
    const Row& row = rows_[at_ - 1];
    switch (column) {
      case 0:
        return sqlite3_result_int64(out, raw(row.world));
      case 1:
        return put_text(out, row.part);
      case 2:
        if (row.has_calls) sqlite3_result_int64(out, to_sqlite(row.sum.calls));
        return;
      default:
        return sqlite3_result_int64(out, row.sum.time_ns);
    }
  }

 private:
  struct Row {
    WorldId world{};
    const char* part = "";
    WaitCoverage::Part sum;
    bool has_calls = true;
  };
  std::vector<Row> rows_;
  std::size_t at_ = 0;
};

class WaitTable final : public RowTable {
 public:
  WaitTable(std::shared_ptr<KeptWaitStates> kept, bool is_coverage)
      : kept_(std::move(kept)), is_coverage_(is_coverage) {}
  std::unique_ptr<RowSource> open(Connection& connection) override {
    auto states = kept_->get(connection);
    if (is_coverage_) return std::make_unique<CoverageRows>(*states);
    return std::make_unique<WaitStateRows>(std::move(states));
  }

 private:
  std::shared_ptr<KeptWaitStates> kept_;  // Shared, see KeptWaitStates.
  bool is_coverage_;
};

}  // namespace

std::shared_ptr<const WaitStates> KeptWaitStates::get(Connection& connection) {
  Version version;
  Statement row(connection,
                "SELECT (SELECT max(id) FROM event_chunk),"
                " (SELECT count(*) + total(world IS NOT NULL) FROM process)");
  if (row.first()) version = {row.integer(0), row.integer(1)};
  row.reset();
  if (states_ && version == version_) return states_;
  auto states = std::make_shared<const WaitStates>(analyse(connection));
  if (!connection.ok()) return states;
  states_ = std::move(states);
  version_ = version;
  return states_;
}

int register_wait_tables(sqlite3* database, const std::shared_ptr<KeptWaitStates>& kept) {
  int code = register_row_table(
      database, "message",
      "CREATE TABLE message(world INTEGER, comm INTEGER, tag INTEGER, source INTEGER,"
      " destination INTEGER, number INTEGER, bytes INTEGER, sent_ns INTEGER, received_ns INTEGER)",
      std::make_unique<TableOf<MessageRows>>());
  if (code == SQLITE_OK) {
    code = register_row_table(
        database, "wait_state",
        "CREATE TABLE wait_state(world INTEGER, rank INTEGER, cause_rank INTEGER, kind TEXT,"
        " function TEXT, time_ns INTEGER, calls INTEGER, root_rank INTEGER)",
        std::make_unique<WaitTable>(kept, false));
  }
  if (code == SQLITE_OK) {
    code = register_row_table(database, "wait_coverage",
                              "CREATE TABLE wait_coverage(world INTEGER, part TEXT, calls INTEGER,"
                              " time_ns INTEGER)",
                              std::make_unique<WaitTable>(kept, true));
  }
  return code;
}

}  // namespace xylem::storage
