// SQL of the migrations. It never changes once it is released: a file of version n has had the
// first n migrations.

#include <array>

#include "storage/migrations_internal.h"

namespace xylem::storage {
namespace {

void make_tables_of_processes(Connection& file) {
  file.execute(R"sql(
CREATE TABLE run(
  run_id TEXT NOT NULL, command TEXT, directory TEXT, user TEXT, host TEXT, version TEXT,
  options TEXT, detail TEXT, window_ns INTEGER, started_ns INTEGER, ended_ns INTEGER,
  exit_code INTEGER);
CREATE TABLE host(leaf INTEGER PRIMARY KEY, name TEXT, lost_reason TEXT,
                  given_up_calls INTEGER NOT NULL DEFAULT 0);
CREATE TABLE world(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER,
                   mpi_library TEXT, program TEXT);
CREATE TABLE process(
  id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, lane INTEGER NOT NULL,
  world INTEGER, rank INTEGER, pid INTEGER, program TEXT, mpi_library TEXT,
  first_ns INTEGER, last_ns INTEGER,
  account_wave INTEGER NOT NULL DEFAULT -1,
  captured INTEGER NOT NULL DEFAULT 0, ring_lost INTEGER NOT NULL DEFAULT 0,
  windowed INTEGER NOT NULL DEFAULT 0, events INTEGER NOT NULL DEFAULT 0,
  event_calls INTEGER NOT NULL DEFAULT 0, ended INTEGER NOT NULL DEFAULT 0,
  stored_calls INTEGER NOT NULL DEFAULT 0,
  stored_events INTEGER NOT NULL DEFAULT 0, stored_event_calls INTEGER NOT NULL DEFAULT 0,
  given_up_events INTEGER NOT NULL DEFAULT 0, given_up_event_calls INTEGER NOT NULL DEFAULT 0,
  UNIQUE(leaf, lane));
CREATE INDEX process_by_rank ON process(world, rank);
CREATE TABLE function(id INTEGER PRIMARY KEY, name TEXT, class TEXT);
CREATE TABLE function_alias(leaf INTEGER, id INTEGER, function INTEGER NOT NULL,
                            PRIMARY KEY(leaf, id)) WITHOUT ROWID;
)sql");
}

void make_tables_of_calls(Connection& file) {
  file.execute(R"sql(
CREATE TABLE wave_seen(stream INTEGER, wave INTEGER, sources TEXT NOT NULL,
                       PRIMARY KEY(stream, wave)) WITHOUT ROWID;
CREATE TABLE chunk_seen(process INTEGER, first INTEGER, end INTEGER NOT NULL,
                        PRIMARY KEY(process, first)) WITHOUT ROWID;

CREATE TABLE profile_row(
  process INTEGER NOT NULL, function INTEGER NOT NULL, begin_ns INTEGER, end_ns INTEGER,
  calls INTEGER NOT NULL, time_ns INTEGER, min_ns INTEGER, max_ns INTEGER, bytes INTEGER,
  estimated INTEGER, histogram BLOB);
CREATE TABLE function_sum(
  process INTEGER, function INTEGER, calls INTEGER NOT NULL, time_ns INTEGER, min_ns INTEGER,
  max_ns INTEGER, bytes INTEGER, estimated INTEGER,
  PRIMARY KEY(process, function)) WITHOUT ROWID;
CREATE TABLE matrix_sum(process INTEGER, destination INTEGER, bytes INTEGER, messages INTEGER,
                        PRIMARY KEY(process, destination)) WITHOUT ROWID;
CREATE TABLE wait_sum(process INTEGER, peer INTEGER, time_ns INTEGER, calls INTEGER,
                      PRIMARY KEY(process, peer)) WITHOUT ROWID;
CREATE TABLE ring_loss(process INTEGER, function INTEGER, calls INTEGER,
                       PRIMARY KEY(process, function)) WITHOUT ROWID;
CREATE TABLE given_up(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, sources TEXT, leaf INTEGER, process INTEGER,
  wave INTEGER, wave_end INTEGER, calls INTEGER, reason TEXT);

CREATE TABLE event_chunk(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL,
  begin_ns INTEGER, end_ns INTEGER, events INTEGER, calls INTEGER, chunk BLOB NOT NULL);
CREATE INDEX event_chunk_by_time ON event_chunk(process, begin_ns, end_ns);
)sql");
}

void make_tables_of_tree(Connection& file) {
  file.execute(R"sql(
CREATE TABLE node(
  id INTEGER PRIMARY KEY, role TEXT NOT NULL, host TEXT, parent INTEGER, level INTEGER,
  pid INTEGER, leaf INTEGER, state TEXT);
CREATE TABLE clock(leaf INTEGER, at_ns INTEGER, offset_ns INTEGER, error_ns INTEGER);
CREATE TABLE link(
  node INTEGER PRIMARY KEY, at_ns INTEGER, queue_bytes INTEGER, most_queue_bytes INTEGER,
  sent_bytes INTEGER, sent_packets INTEGER, round_trip_ns INTEGER, offset_ns INTEGER,
  error_ns INTEGER, refused INTEGER);
CREATE TABLE host_metric(leaf INTEGER, at_ns INTEGER, name TEXT, value REAL);
)sql");
}

/// Version 1.
void make_first_tables(Connection& file) {
  make_tables_of_processes(file);
  make_tables_of_calls(file);
  make_tables_of_tree(file);
}

/// Version 2. Warnings and errors of processes; the transport of a link.
void add_notices(Connection& file) {
  file.execute(R"sql(
CREATE TABLE notice(
  at_ns INTEGER, host TEXT, role TEXT, pid INTEGER, level TEXT, text TEXT, dropped INTEGER);
ALTER TABLE link ADD COLUMN transport TEXT;
)sql");
}

/// Version 3. What a full ring loses besides calls.
void add_lost_messages(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN lost_messages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN lost_message_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN lost_receives INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN untracked_receives INTEGER NOT NULL DEFAULT 0;
)sql");
}

/// Version 4. For a successor of the front end. `succession` has one row.
void add_succession(Connection& file) {
  file.execute(R"sql(
ALTER TABLE run ADD COLUMN front_ends INTEGER NOT NULL DEFAULT 1;
ALTER TABLE node ADD COLUMN host_key TEXT;
CREATE TABLE node_address(
  node INTEGER, position INTEGER, host TEXT, port INTEGER, unix_path TEXT, host_key TEXT,
  PRIMARY KEY(node, position)) WITHOUT ROWID;
CREATE TABLE succession(epoch_ns INTEGER NOT NULL, ended TEXT NOT NULL);
)sql");
}

/// Version 5. Data that a host lost for good had reported, and that never arrived. Written at the
/// end.
void add_closed_counts(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN closed_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN closed_events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE process ADD COLUMN closed_event_calls INTEGER NOT NULL DEFAULT 0;
)sql");
}

/// Version 6. Changes of nodes, and samples of links.
void add_history_of_tree(Connection& file) {
  file.execute(R"sql(
CREATE TABLE node_change(
  at_ns INTEGER, node INTEGER NOT NULL, state TEXT, parent INTEGER, level INTEGER);
CREATE TABLE link_sample(
  node INTEGER, at_ns INTEGER, queue_bytes INTEGER, sent_bytes INTEGER, sent_packets INTEGER,
  round_trip_ns INTEGER, PRIMARY KEY(node, at_ns)) WITHOUT ROWID;
)sql");
}

/// Version 7. A simulator's ranks have times of another clock.
void add_clock_of_process(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN clock TEXT;
)sql");
}

/// Version 8. Series of auxiliary services. A row has all numbers of a subject at a time, as JSON.
/// Their meaning is in series_metric, one row each, for all hosts with the same layout.
/// `host_value` has single numbers of a host from other sources.
void add_services(Connection& file) {
  file.execute(R"sql(
ALTER TABLE host_metric RENAME TO host_value;
CREATE TABLE service(
  id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, lane INTEGER NOT NULL, name TEXT,
  captured INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0, UNIQUE(leaf, lane));
CREATE TABLE series_seen(service INTEGER, first INTEGER, end INTEGER NOT NULL,
                         PRIMARY KEY(service, first)) WITHOUT ROWID;
CREATE TABLE series_metric(
  layout INTEGER, name TEXT, position INTEGER, unit TEXT, scale REAL, per_second INTEGER,
  service TEXT, PRIMARY KEY(layout, name)) WITHOUT ROWID;
CREATE TABLE series_row(
  id INTEGER PRIMARY KEY, service INTEGER NOT NULL, lane INTEGER NOT NULL, at_ns INTEGER,
  span_ns INTEGER, slice INTEGER, layout INTEGER, numbers TEXT NOT NULL);
CREATE INDEX series_row_by_time ON series_row(service, lane, at_ns);
ALTER TABLE given_up ADD COLUMN service INTEGER;
)sql");
}

/// Version 9. Why the placement chose a node's host.
void add_reason_of_node(Connection& file) {
  file.execute(R"sql(
ALTER TABLE node ADD COLUMN reason TEXT;
)sql");
}

/// Version 10. Sums of windows in time, see summary_internal.h. A span says when the windows in
/// some rows of profile_row begin. A file of an older version has no sums: they are made after new
/// windows, and until then views read rows.
void add_summaries(Connection& file) {
  file.execute(R"sql(
CREATE TABLE window_summary(
  id INTEGER PRIMARY KEY, level INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  block INTEGER NOT NULL, cells BLOB NOT NULL, functions BLOB NOT NULL, by_process BLOB NOT NULL);
CREATE INDEX window_summary_by_time ON window_summary(level, begin_ns, block);
CREATE INDEX window_summary_by_level ON window_summary(level);
CREATE TABLE window_span(
  after_row INTEGER NOT NULL, upto_row INTEGER NOT NULL, first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL);
CREATE INDEX window_span_by_time ON window_span(first_ns, last_ns, after_row, upto_row);
CREATE TABLE summary_state(level INTEGER PRIMARY KEY, done INTEGER NOT NULL);
)sql");
}

/// Version 11. Alerts; `until_ns` is NULL while an alert is open.
void add_alerts(Connection& file) {
  file.execute(R"sql(
CREATE TABLE alert(
  id INTEGER PRIMARY KEY, at_ns INTEGER, until_ns INTEGER, kind TEXT, world INTEGER, rank INTEGER,
  text TEXT, value REAL, threshold REAL);
)sql");
}

/// Version 12. Streams that the run's configuration names. The waves of a leaf that are stored or
/// lost are ranges of `stream_seen`.
void add_streams(Connection& file) {
  file.execute(R"sql(
CREATE TABLE stream(id INTEGER PRIMARY KEY, name TEXT NOT NULL, aggregation TEXT,
                    synchronisation TEXT);
CREATE TABLE stream_leaf(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, leaf INTEGER NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0, reason TEXT, UNIQUE(stream, leaf));
CREATE TABLE stream_seen(contributor INTEGER, first INTEGER, end INTEGER NOT NULL,
                         PRIMARY KEY(contributor, first)) WITHOUT ROWID;
CREATE TABLE stream_part(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, wave INTEGER NOT NULL, at_ns INTEGER,
  sources TEXT NOT NULL, leaves INTEGER NOT NULL, state BLOB NOT NULL, fields TEXT);
CREATE INDEX stream_part_by_wave ON stream_part(stream, wave);
)sql");
}

/// Version 13. Without it, the newest facts of a host, and one series of many, were found by
/// reading all.
void add_index_of_host_values(Connection& file) {
  file.execute(R"sql(
CREATE INDEX host_value_by_time ON host_value(leaf, name, at_ns);
)sql");
}

/// Version 14. Tombstones of windows say to which ranks the calls belong.
void add_given_up_calls(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN given_up_calls INTEGER NOT NULL DEFAULT 0;
)sql");
}

/// Version 15. Ranks that registered but cannot be watched, with the reason.
void add_unwatched_ranks(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN unwatched TEXT;
)sql");
}

/// Version 16. Before this version only the sentence said what an alert is about. A run that
/// continues in an older file continues its alerts, so the new columns are read from the sentences.
/// The leaf stays unknown if two hosts have the name.
void add_subject_of_alert(Connection& file) {
  file.execute(R"sql(
ALTER TABLE alert ADD COLUMN subject TEXT;
ALTER TABLE alert ADD COLUMN leaf INTEGER;
ALTER TABLE alert ADD COLUMN at_least INTEGER NOT NULL DEFAULT 0;
UPDATE alert SET
  subject = CASE WHEN kind <> 'loss' THEN CASE WHEN instr(text, ' was in one ') THEN 'rank'
                                               ELSE 'world' END
                 WHEN text LIKE 'host %' THEN 'lost_host'
                 WHEN rank IS NULL THEN 'host'
                 WHEN text LIKE 'events of %' THEN 'events'
                 ELSE 'rank' END,
  at_least = coalesce(kind = 'loss' AND text LIKE 'calls, not known how many, %', 0);
UPDATE alert SET leaf = (
  SELECT CASE count(*) WHEN 1 THEN min(leaf) END FROM (
    SELECT leaf, 'host ' || coalesce(nullif(name, ''), 'of leaf ' || leaf) AS named FROM host)
  WHERE CASE alert.subject WHEN 'host' THEN instr(alert.text, ' of ' || named || ' w')
             ELSE instr(alert.text, named || ' is lost') = 1 END)
WHERE subject IN ('host', 'lost_host');
)sql");
}

/// Version 17. Calls that had not returned at the end of a window, and the time in which a process
/// was watched.
void add_calls_under_way(Connection& file) {
  file.execute(R"sql(
CREATE TABLE call_under_way(
  process INTEGER NOT NULL, thread INTEGER NOT NULL, function INTEGER NOT NULL, begin_ns INTEGER,
  peer INTEGER, comm INTEGER, at_ns INTEGER NOT NULL, wave INTEGER NOT NULL,
  PRIMARY KEY(process, thread)) WITHOUT ROWID;
ALTER TABLE process ADD COLUMN since_ns INTEGER;
ALTER TABLE process ADD COLUMN until_ns INTEGER;
ALTER TABLE process ADD COLUMN threads INTEGER;
ALTER TABLE process ADD COLUMN called_ns INTEGER;
)sql");
}

/// Since this version, blocking sends and receives count as waiting (storage/summary_internal.h).
/// The store makes the summaries again.
void drop_summaries(Connection& file) {
  file.execute("DELETE FROM window_summary; DELETE FROM window_span; DELETE FROM summary_state");
}

/// Version 19. Communicators, their members, names, grids and neighbours. `members` identifies a
/// set of members; it is a hash. `is_ambiguous` is 1 if two communicators have the same id.
void add_communicators(Connection& file) {
  file.execute(R"sql(
CREATE TABLE comm(
  world INTEGER NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL, parent INTEGER,
  members INTEGER NOT NULL, size INTEGER NOT NULL, second_size INTEGER NOT NULL,
  is_ambiguous INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(world, id)) WITHOUT ROWID;
CREATE TABLE comm_member(
  world INTEGER NOT NULL, members INTEGER NOT NULL, is_second INTEGER NOT NULL,
  place INTEGER NOT NULL, rank INTEGER NOT NULL,
  PRIMARY KEY(world, members, is_second, place, rank)) WITHOUT ROWID;
CREATE TABLE comm_name(
  world INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(world, id)) WITHOUT ROWID;
CREATE TABLE comm_dimension(
  world INTEGER NOT NULL, id INTEGER NOT NULL, position INTEGER NOT NULL, size INTEGER NOT NULL,
  is_periodic INTEGER NOT NULL, PRIMARY KEY(world, id, position)) WITHOUT ROWID;
CREATE TABLE comm_neighbor(
  world INTEGER NOT NULL, id INTEGER NOT NULL, rank INTEGER NOT NULL, is_source INTEGER NOT NULL,
  position INTEGER NOT NULL, neighbor INTEGER,
  PRIMARY KEY(world, id, rank, is_source, position)) WITHOUT ROWID;
ALTER TABLE process ADD COLUMN lost_definitions INTEGER NOT NULL DEFAULT 0;
)sql");
}

/// Version 20. The processor of a host, and the processors that a process may use.
void add_processors(Connection& file) {
  file.execute(R"sql(
ALTER TABLE host ADD COLUMN processor TEXT;
ALTER TABLE host ADD COLUMN frequency_hz INTEGER;
ALTER TABLE process ADD COLUMN processors TEXT;
)sql");
}

/// Version 21. Starts and completions of requests that a full ring has dropped.
void add_lost_requests(Connection& file) {
  file.execute("ALTER TABLE process ADD COLUMN lost_requests INTEGER NOT NULL DEFAULT 0");
}

/// Version 22. Blocks of collectives are counted too.
void rename_lost_parts(Connection& file) {
  file.execute("ALTER TABLE process RENAME COLUMN lost_requests TO lost_parts");
}

/// Version 23. The places that call MPI. `site` is the id of the place in chunks.
void add_call_sites(Connection& file) {
  file.execute(R"sql(
CREATE TABLE callsite(
  id INTEGER PRIMARY KEY, site INTEGER NOT NULL UNIQUE, object TEXT NOT NULL, build_id TEXT,
  offset INTEGER NOT NULL, function TEXT, file TEXT, line INTEGER);
)sql");
}

/// Version 24. The threads of a process, its regions, and what capture adds to its calls.
void add_threads(Connection& file) {
  file.execute(R"sql(
ALTER TABLE process ADD COLUMN thread_level TEXT;
CREATE TABLE process_thread(
  process INTEGER NOT NULL, thread INTEGER NOT NULL, os_thread INTEGER NOT NULL, since_ns INTEGER,
  UNIQUE(process, thread, os_thread, since_ns));
CREATE TABLE process_record_cost(
  process INTEGER NOT NULL, shape TEXT NOT NULL, cost_ns REAL NOT NULL,
  PRIMARY KEY(process, shape)) WITHOUT ROWID;
CREATE TABLE region_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE process_region(
  process INTEGER NOT NULL, region INTEGER NOT NULL, thread INTEGER NOT NULL,
  visits INTEGER NOT NULL, time_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,
  mpi_ns INTEGER NOT NULL, estimated INTEGER NOT NULL,
  PRIMARY KEY(process, region, thread)) WITHOUT ROWID;
)sql");
}

constexpr std::array<Migration, 24> kMigrations = {
    make_first_tables,        add_notices,         add_lost_messages,    add_succession,
    add_closed_counts,        add_history_of_tree, add_clock_of_process, add_services,
    add_reason_of_node,       add_summaries,       add_alerts,           add_streams,
    add_index_of_host_values, add_given_up_calls,  add_unwatched_ranks,  add_subject_of_alert,
    add_calls_under_way,      drop_summaries,      add_communicators,    add_processors,
    add_lost_requests,        rename_lost_parts,   add_call_sites,       add_threads};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

}  // namespace xylem::storage
