// Every statement here finds its row by a primary key or appends one; none scans.

#include <utility>

#include "storage/write/sqlite_intake_internal.h"

namespace xylem::storage {

SqliteIntake::WindowStatements::WindowStatements(Connection& c)
    : row(c,
          "INSERT INTO profile_row(process, function, begin_ns, end_ns, calls, time_ns, min_ns,"
          " max_ns, bytes, estimated, histogram) VALUES(?,?,?,?,?,?,?,?,?,?,?)"),
      function_sum(c,
                   "INSERT INTO function_sum(process, function, calls, time_ns, min_ns, max_ns,"
                   " bytes, estimated) VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
                   " calls = calls + excluded.calls, time_ns = time_ns + excluded.time_ns,"
                   " min_ns = CASE WHEN excluded.calls = 0 THEN min_ns WHEN calls = 0"
                   " THEN excluded.min_ns ELSE min(min_ns, excluded.min_ns) END,"
                   " max_ns = max(max_ns, excluded.max_ns),"
                   " bytes = bytes + excluded.bytes, estimated = max(estimated, "
                   "excluded.estimated)"),
      matrix_sum(c,
                 "INSERT INTO matrix_sum VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET"
                 " bytes = bytes + excluded.bytes, messages = messages + excluded.messages"),
      wait_sum(c,
               "INSERT INTO wait_sum VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET"
               " time_ns = time_ns + excluded.time_ns, calls = calls + excluded.calls"),
      stored(c,
             "UPDATE process SET stored_calls = stored_calls + ?2,"
             " first_ns = min(coalesce(first_ns, ?3), ?3),"
             " last_ns = max(coalesce(last_ns, ?4), ?4),"
             " called_ns = CASE WHEN ?2 > 0 THEN max(coalesce(called_ns, ?4), ?4)"
             " ELSE called_ns END WHERE id = ?1"),
      account(c,
              "UPDATE process SET captured = ?3, ring_lost = ?4, windowed = ?5, events = ?6,"
              " event_calls = ?7, ended = ?8, lost_messages = ?9, lost_message_bytes = ?10,"
              " lost_receives = ?11, untracked_receives = ?12, account_wave = ?2,"
              " since_ns = CASE WHEN ?13 > 0 THEN min(coalesce(since_ns, ?13), ?13)"
              " ELSE since_ns END, until_ns = coalesce(nullif(?14, 0), until_ns),"
              " threads = nullif(max(coalesce(threads, 0), ?15), 0), lost_parts = ?16"
              " WHERE id = ?1 AND account_wave < ?2 RETURNING 1"),
      under_way(c,
                "INSERT INTO call_under_way VALUES(?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET"
                " function = excluded.function, begin_ns = excluded.begin_ns,"
                " peer = excluded.peer, comm = excluded.comm, at_ns = excluded.at_ns,"
                " wave = excluded.wave WHERE excluded.at_ns >= at_ns"),
      ring_loss(c, "INSERT OR REPLACE INTO ring_loss VALUES(?,?,?)"),
      alias(c, "SELECT function FROM function_alias WHERE leaf = ? AND id = ?"),
      any_alias(c, "SELECT EXISTS(SELECT 1 FROM function_alias)") {}

SqliteIntake::ChunkStatements::ChunkStatements(Connection& c)
    : seen(c, "chunk_seen", "process"),
      chunk(c,
            "INSERT INTO event_chunk(process, first, end, begin_ns, end_ns, events, calls, chunk)"
            " VALUES(?,?,?,?,?,?,?,?)"),
      stored(c,
             "UPDATE process SET stored_events = stored_events + ?2,"
             " stored_event_calls = stored_event_calls + ?3 WHERE id = ?1") {}

SqliteIntake::RegistrationStatements::RegistrationStatements(Connection& c)
    : host(c,
           "INSERT INTO host(leaf, name, processor, frequency_hz)"
           " VALUES(?, ?, nullif(?, ''), nullif(?, 0)) ON CONFLICT(leaf) DO UPDATE SET"
           " name = coalesce(nullif(excluded.name, ''), name),"
           " processor = coalesce(excluded.processor, processor),"
           " frequency_hz = coalesce(excluded.frequency_hz, frequency_hz)"),
      function_name(c, "SELECT name FROM function WHERE id = ?"),
      function(c, "INSERT INTO function(id, name, class) VALUES(?,?,?)"),
      has_windows(c, "SELECT 1 FROM function_sum WHERE function = ? LIMIT 1"),
      alias(c,
            "INSERT OR REPLACE INTO function_alias VALUES(?1, ?2,"
            " coalesce((SELECT id FROM function WHERE name = ?3),"
            " (SELECT max(65535, max(id)) + 1 FROM function))) RETURNING function"),
      world(c, "SELECT id FROM world WHERE key = ?"),
      grown_world(c,
                  "UPDATE world SET size = max(size, ?2),"
                  " mpi_library = coalesce(nullif(mpi_library, ''), ?3) WHERE id = ?1"
                  " AND (size < ?2 OR mpi_library = '')"),
      new_world(c, "INSERT INTO world SELECT count(*), ?, ?, ?, ? FROM world RETURNING id"),
      process(c,
              "UPDATE process SET pid = ?2, program = coalesce(nullif(?3, ''), program),"
              " mpi_library = coalesce(nullif(?4, ''), mpi_library),"
              " clock = coalesce(nullif(?5, ''), clock),"
              " unwatched = coalesce(nullif(?6, ''), unwatched),"
              " processors = coalesce(nullif(?7, ''), processors) WHERE id = ?1"),
      initialised(c,
                  "UPDATE process SET world = ?2, rank = ?3,"
                  " thread_level = coalesce(nullif(?4, ''), thread_level) WHERE id = ?1") {}

SqliteIntake::LossStatements::LossStatements(Connection& c)
    : given_up(c,
               "INSERT INTO given_up(stream, sources, leaf, process, wave, wave_end, calls, reason)"
               " VALUES(?,?,?,?,?,?,?,?)"),
      chunk_calls(c,
                  "UPDATE process SET given_up_events = given_up_events + ?2,"
                  " given_up_event_calls = given_up_event_calls + ?3 WHERE id = ?1"),
      process_calls(c, "UPDATE process SET given_up_calls = given_up_calls + ?2 WHERE id = ?1"),
      returned(c, "DELETE FROM call_under_way WHERE process = ?1 AND wave < ?2"),
      host_calls(c,
                 "INSERT INTO host(leaf, given_up_calls) VALUES(?,?) ON CONFLICT DO UPDATE SET"
                 " given_up_calls = given_up_calls + excluded.given_up_calls") {}

SqliteIntake::SqliteIntake(Connection& connection, std::shared_ptr<const StreamFold> fold)
    : connection_(connection),
      find_process_(connection, "SELECT id FROM process WHERE leaf = ? AND lane = ?"),
      new_process_(connection, "INSERT INTO process(leaf, lane) VALUES(?,?) RETURNING id"),
      known_sources_(connection, "SELECT sources FROM wave_seen WHERE stream = ? AND wave = ?"),
      remember_sources_(connection, "INSERT OR REPLACE INTO wave_seen VALUES(?,?,?)"),
      window_(connection),
      chunk_(connection),
      registration_(connection),
      loss_(connection),
      definitions_(connection),
      series_(connection),
      summaries_(connection),
      alerts_(connection),
      streams_(connection, std::move(fold)) {}

PutOutcome SqliteIntake::put(const wire::Packet& packet) {
  last_leaf_ = wire::kNoLeaf;
  if (packet.id.stream == wire::kChunkStream) return put_chunk(packet);
  if (packet.id.stream == wire::kSeriesStream) return series_.put(packet);
  if (is_stored_stream(packet.id.stream)) return streams_.put(packet);
  if (packet.id.stream == wire::kStreamAccountStream) {
    streams_.put_account(packet);
    return {};
  }
  if (packet.id.stream == wire::kWindowStream || packet.tombstone) return put_by_sources(packet);
  store_content(packet, open_payload(packet));  // A registration is always stored.
  return {};
}

PutOutcome SqliteIntake::put_by_sources(const wire::Packet& packet) {
  IntervalSet known = known_sources(packet.id);
  PutOutcome outcome = judge_sources(packet.id.sources, known);
  if (outcome.kind != PutOutcome::Kind::kStored) return outcome;
  remember_sources(packet.id, std::move(known));
  store_content(packet, open_payload(packet));
  return outcome;
}

PutOutcome SqliteIntake::put_chunk(const wire::Packet& packet) {
  const wire::PacketId& id = packet.id;
  const LeafId leaf{static_cast<std::uint32_t>(id.sources.intervals().front().first)};
  const ProcessKey process = process_of(leaf, id.lane);
  const auto owner = raw(process);
  const IntervalSet known = chunk_.seen.near(owner, id.wave, id.wave_end);
  PutOutcome outcome = judge_range(id, known);
  if (outcome.kind != PutOutcome::Kind::kStored) return outcome;
  chunk_.seen.insert(owner, id.wave, id.wave_end, known);
  store_content(packet, open_payload(packet));
  return outcome;
}

void SqliteIntake::store_content(const wire::Packet& packet, const Content& content) {
  const LeafId leaf{static_cast<std::uint32_t>(packet.id.sources.intervals().front().first)};
  if (const auto* window = std::get_if<wire::ProfileWindow>(&content)) {
    store_window(packet.id.wave, *window);
    alerts_.note_window(packet.id.sources, window->end_ns);
  } else if (const auto* summary = std::get_if<wire::ChunkSummary>(&content)) {
    store_chunk(packet, *summary);
  } else if (const auto* registration = std::get_if<wire::Registration>(&content)) {
    store_registration(leaf, *registration);
  } else if (const auto* tombstone = std::get_if<wire::Tombstone>(&content)) {
    store_loss(packet, tombstone->calls, tombstone->reason);
    if (packet.id.stream == wire::kWindowStream) store_tombstone(packet.id, *tombstone);
  } else {
    store_loss(packet, std::nullopt, std::get<Defect>(content).reason);
  }
}

void SqliteIntake::store_registration(LeafId leaf, const wire::Registration& registration) {
  registration_.host.run(leaf, registration.host, registration.processor,
                         registration.frequency_hz);
  for (const wire::FunctionRow& row : registration.functions) store_function(leaf, row);
  for (const wire::ProcessRow& row : registration.processes) store_process(leaf, row);
  series_.put_names(leaf, registration);
}

void SqliteIntake::store_function(LeafId leaf, const wire::FunctionRow& row) {
  if (!registration_.function_name.first(row.id)) {
    add_function(key_of(row.id), row);
    return;
  }
  const std::string known = registration_.function_name.text(0);
  registration_.function_name.reset();
  if (known == row.name) return;
  // Two leaves use the same number for two functions. The function of this leaf gets another number
  // here.
  if (!registration_.alias.first(leaf, row.id, row.name)) return;
  const FunctionKey key{registration_.alias.integer(0)};
  registration_.alias.reset();
  const bool named = registration_.function_name.first(key);
  registration_.function_name.reset();
  if (!named) add_function(key, row);
}

// Summaries count the waiting only of functions whose class was known when they were made. So if a
// waiting function comes later, they are made again.
void SqliteIntake::add_function(FunctionKey key, const wire::FunctionRow& row) {
  const char* const kind = wire::function_class_name(row.function_class);
  registration_.function.run(key, row.name, kind);
  if (!is_waiting(row.name, kind) || !registration_.has_windows.first(key)) return;
  registration_.has_windows.reset();
  summaries_.forget();
}

void SqliteIntake::store_process(LeafId leaf, const wire::ProcessRow& row) {
  const ProcessKey process = process_of(leaf, row.lane);
  registration_.process.run(process, row.pid, row.program, row.mpi_library, row.clock,
                            row.unwatched, row.processors);
  definitions_.put_call_sites(row.definitions.call_sites);
  if (!row.initialised) return;
  const std::span<const std::byte> key = std::as_bytes(std::span(row.world_key));
  std::int64_t world = 0;
  if (registration_.world.first(key)) {
    world = registration_.world.integer(0);
    registration_.world.reset();
    // The first rank may have been unwatched. Then size and MPI library are not certain.
    registration_.grown_world.run(world, row.world_size, row.mpi_library);
  } else if (registration_.new_world.first(key, row.world_size, row.mpi_library, row.program)) {
    world = registration_.new_world.integer(0);
    registration_.new_world.reset();
  }
  registration_.initialised.run(process, world, row.rank,
                                wire::thread_level_name(row.thread_level));
  definitions_.put(process, WorldId{static_cast<std::uint32_t>(world)}, row.rank, row.definitions);
}

void SqliteIntake::store_window(std::uint64_t wave, const wire::ProfileWindow& window) {
  aliases_ = has_aliases();
  store_profile_rows(window);
  store_earlier_rows(window);
  for (const wire::UnderWayRow& row : window.under_way) {
    window_.under_way.run(process_of(row.leaf, row.lane), row.thread,
                          function_of(row.leaf, row.function), row.begin_ns, row.peer, row.comm,
                          window.end_ns, wave);
  }
  for (const wire::MatrixRow& row : window.matrix) {
    window_.matrix_sum.run(process_of(row.leaf, row.lane), row.destination, row.bytes,
                           row.messages);
  }
  for (const wire::WaitRow& row : window.waits) {
    window_.wait_sum.run(process_of(row.leaf, row.lane), row.peer, row.time_ns, row.calls);
  }
  for (const wire::AccountRow& row : window.accounts) store_account(wave, row);
}

void SqliteIntake::store_profile_rows(const wire::ProfileWindow& window) {
  ProcessKey process{};
  std::uint64_t calls = 0;
  bool has_rows = false;  // Rows without calls have time of calls that have not ended.
  const auto count_stored = [&] {
    if (has_rows) window_.stored.run(process, calls, window.begin_ns, window.end_ns);
    calls = 0;
    has_rows = false;
  };
  for (const wire::ProfileRow& row : window.rows) {
    const ProcessKey next = process_of(row.leaf, row.lane);
    if (next != process) count_stored();
    process = next;
    has_rows = true;
    calls += row.calls;
    const FunctionKey function = function_of(row.leaf, row.function);
    window_.row.run(process, function, window.begin_ns, window.end_ns, row.calls, row.time_ns,
                    row.min_ns, row.max_ns, row.bytes, row.estimated, row.histogram.to_bytes());
    alerts_.note_row(process, window.begin_ns, window.end_ns, row, function);
    window_.function_sum.run(process, function, row.calls, row.time_ns, row.min_ns, row.max_ns,
                             row.bytes, row.estimated);
  }
  count_stored();
  summaries_.note_rows(window.begin_ns, window.rows.size());
}

// Time that passed in windows that are stored already. It is a row of its own in its window.
void SqliteIntake::store_earlier_rows(const wire::ProfileWindow& window) {
  for (const wire::EarlierRow& row : window.earlier) {
    const ProcessKey process = process_of(row.leaf, row.lane);
    const FunctionKey function = function_of(row.leaf, row.function);
    window_.row.run(process, function, row.begin_ns, row.end_ns, 0, row.time_ns, 0, 0, 0,
                    row.estimated, wire::Bytes{});
    window_.function_sum.run(process, function, 0, row.time_ns, 0, 0, 0, row.estimated);
    window_.stored.run(process, 0, row.begin_ns, row.end_ns);
    wire::ProfileRow time;
    time.leaf = row.leaf;
    time.time_ns = row.time_ns;
    alerts_.note_row(process, row.begin_ns, row.end_ns, time, function);
    summaries_.note_rows(row.begin_ns, 1);
  }
}

void SqliteIntake::store_account(std::uint64_t wave, const wire::AccountRow& row) {
  const ProcessKey process = process_of(row.leaf, row.lane);
  const bool newest = window_.account.first(
      process, wave, row.captured, row.lost, row.windowed, row.events, row.event_calls, row.ended,
      row.lost_messages, row.lost_message_bytes, row.lost_receives, row.untracked_receives,
      row.since_ns, row.until_ns, row.threads, row.lost_parts);
  if (!newest) return;
  window_.account.reset();
  alerts_.note_account(process, row);
  for (const wire::LossRow& loss : row.loss_by_function) {
    window_.ring_loss.run(process, function_of(row.leaf, loss.function), loss.calls);
  }
}

void SqliteIntake::store_chunk(const wire::Packet& packet, const wire::ChunkSummary& summary) {
  const LeafId leaf{static_cast<std::uint32_t>(packet.id.sources.intervals().front().first)};
  const ProcessKey process = process_of(leaf, packet.id.lane);
  chunk_.chunk.run(process, packet.id.wave, packet.id.wave_end, summary.begin_ns, summary.end_ns,
                   summary.events, summary.calls, packet.payload);
  chunk_.stored.run(process, summary.events, summary.calls);
}

void SqliteIntake::store_loss(const wire::Packet& packet, std::optional<std::uint64_t> calls,
                              const std::string& reason) {
  const wire::PacketId& id = packet.id;
  const std::uint64_t first_source = id.sources.intervals().front().first;
  std::optional<LeafId> leaf;
  if (id.sources.count() == 1) leaf = LeafId{static_cast<std::uint32_t>(first_source)};

  // A chunk has one process. A window has many, see store_tombstone().
  std::optional<ProcessKey> process;
  if (leaf && id.lane != kLeafLane) process = process_of(*leaf, id.lane);
  loss_.given_up.run(id.stream, id.sources.to_string(), leaf, process, id.wave, id.wave_end, calls,
                     reason);
  if (id.stream == wire::kWindowStream) alerts_.note_given_up(leaf, calls, reason);
  if (leaf && calls && id.stream == wire::kChunkStream) {
    loss_.chunk_calls.run(*process, id.wave_end - id.wave, *calls);
    alerts_.note_events_given_up(*process, *calls, reason);
  }
}

// Calls that the tombstone does not attribute are their host's: see the view `account`. A process
// with lost calls may have returned in them from the call that it was in. If that call still lasts,
// the next window lists it again.
void SqliteIntake::store_tombstone(const wire::PacketId& id, const wire::Tombstone& tombstone) {
  std::uint64_t attributed = 0;
  for (const wire::LaneCalls& row : tombstone.lanes) {
    const ProcessKey process = process_of(row.leaf, row.lane);
    loss_.process_calls.run(process, row.calls);
    if (row.calls > 0) loss_.returned.run(process, id.wave_end);
    attributed += row.calls;
  }
  if (id.sources.count() == 1 && tombstone.calls > attributed) {
    loss_.host_calls.run(id.sources.intervals().front().first, tombstone.calls - attributed);
  }
  aliases_ = has_aliases();
  for (const wire::AccountRow& row : tombstone.accounts) store_account(id.wave, row);
}

ProcessKey SqliteIntake::process_of(LeafId leaf, Lane lane) {
  if (leaf == last_leaf_ && lane == last_lane_) return last_process_;
  ProcessKey process{};
  if (find_process_.first(leaf, lane)) {
    process = ProcessKey{find_process_.integer(0)};
    find_process_.reset();
  } else if (new_process_.first(leaf, lane)) {
    process = ProcessKey{new_process_.integer(0)};
    new_process_.reset();
  }
  last_leaf_ = leaf;
  last_lane_ = lane;
  last_process_ = process;
  return last_process_;
}

FunctionKey SqliteIntake::function_of(LeafId leaf, FunctionId function) {
  if (!aliases_ || !window_.alias.first(leaf, function)) return key_of(function);
  const FunctionKey key{window_.alias.integer(0)};
  window_.alias.reset();
  return key;
}

bool SqliteIntake::has_aliases() {
  const bool has = window_.any_alias.first() && window_.any_alias.integer(0) != 0;
  window_.any_alias.reset();
  return has;
}

IntervalSet SqliteIntake::known_sources(const wire::PacketId& id) {
  if (!known_sources_.first(id.stream, id.wave)) return {};
  Result<IntervalSet> known = parse_intervals(known_sources_.text(0));
  known_sources_.reset();
  if (known) return std::move(*known);
  connection_.fail(std::move(known.error()));
  return {};
}

void SqliteIntake::remember_sources(const wire::PacketId& id, IntervalSet known) {
  known.insert(id.sources);
  remember_sources_.run(id.stream, id.wave, known.to_string());
}

}  // namespace xylem::storage
