CREATE TABLE chunk_seen(process INTEGER, first INTEGER, end INTEGER NOT NULL,
                        PRIMARY KEY(process, first)) WITHOUT ROWID;
CREATE TABLE clock(leaf INTEGER, at_ns INTEGER, offset_ns INTEGER, error_ns INTEGER);
CREATE TABLE event_chunk(
  id INTEGER PRIMARY KEY, process INTEGER NOT NULL, first INTEGER NOT NULL, end INTEGER NOT NULL,
  begin_ns INTEGER, end_ns INTEGER, events INTEGER, calls INTEGER, chunk BLOB NOT NULL);
CREATE TABLE function(id INTEGER PRIMARY KEY, name TEXT, class TEXT);
CREATE TABLE function_alias(leaf INTEGER, id INTEGER, function INTEGER NOT NULL,
                            PRIMARY KEY(leaf, id)) WITHOUT ROWID;
CREATE TABLE function_sum(
  process INTEGER, function INTEGER, calls INTEGER NOT NULL, time_ns INTEGER, min_ns INTEGER,
  max_ns INTEGER, bytes INTEGER, estimated INTEGER,
  PRIMARY KEY(process, function)) WITHOUT ROWID;
CREATE TABLE given_up(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, sources TEXT, leaf INTEGER, process INTEGER,
  wave INTEGER, wave_end INTEGER, calls INTEGER, reason TEXT);
CREATE TABLE host(leaf INTEGER PRIMARY KEY, name TEXT, lost_reason TEXT,
                  given_up_calls INTEGER NOT NULL DEFAULT 0);
CREATE TABLE host_metric(leaf INTEGER, at_ns INTEGER, name TEXT, value REAL);
CREATE TABLE link(
  node INTEGER PRIMARY KEY, at_ns INTEGER, queue_bytes INTEGER, most_queue_bytes INTEGER,
  sent_bytes INTEGER, sent_packets INTEGER, round_trip_ns INTEGER, offset_ns INTEGER,
  error_ns INTEGER, refused INTEGER, transport TEXT);
CREATE TABLE matrix_sum(process INTEGER, destination INTEGER, bytes INTEGER, messages INTEGER,
                        PRIMARY KEY(process, destination)) WITHOUT ROWID;
CREATE TABLE node(
  id INTEGER PRIMARY KEY, role TEXT NOT NULL, host TEXT, parent INTEGER, level INTEGER,
  pid INTEGER, leaf INTEGER, state TEXT, host_key TEXT);
CREATE TABLE node_address(
  node INTEGER, position INTEGER, host TEXT, port INTEGER, unix_path TEXT, host_key TEXT,
  PRIMARY KEY(node, position)) WITHOUT ROWID;
CREATE TABLE notice(
  at_ns INTEGER, host TEXT, role TEXT, pid INTEGER, level TEXT, text TEXT, dropped INTEGER);
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
  given_up_events INTEGER NOT NULL DEFAULT 0, given_up_event_calls INTEGER NOT NULL DEFAULT 0, lost_messages INTEGER NOT NULL DEFAULT 0, lost_message_bytes INTEGER NOT NULL DEFAULT 0, lost_receives INTEGER NOT NULL DEFAULT 0, untracked_receives INTEGER NOT NULL DEFAULT 0, closed_calls INTEGER NOT NULL DEFAULT 0, closed_events INTEGER NOT NULL DEFAULT 0, closed_event_calls INTEGER NOT NULL DEFAULT 0,
  UNIQUE(leaf, lane));
CREATE TABLE profile_row(
  process INTEGER NOT NULL, function INTEGER NOT NULL, begin_ns INTEGER, end_ns INTEGER,
  calls INTEGER NOT NULL, time_ns INTEGER, min_ns INTEGER, max_ns INTEGER, bytes INTEGER,
  estimated INTEGER, histogram BLOB);
CREATE TABLE ring_loss(process INTEGER, function INTEGER, calls INTEGER,
                       PRIMARY KEY(process, function)) WITHOUT ROWID;
CREATE TABLE run(
  run_id TEXT NOT NULL, command TEXT, directory TEXT, user TEXT, host TEXT, version TEXT,
  options TEXT, detail TEXT, window_ns INTEGER, started_ns INTEGER, ended_ns INTEGER,
  exit_code INTEGER, front_ends INTEGER NOT NULL DEFAULT 1);
CREATE TABLE succession(epoch_ns INTEGER NOT NULL, ended TEXT NOT NULL);
CREATE TABLE wait_sum(process INTEGER, peer INTEGER, time_ns INTEGER, calls INTEGER,
                      PRIMARY KEY(process, peer)) WITHOUT ROWID;
CREATE TABLE wave_seen(stream INTEGER, wave INTEGER, sources TEXT NOT NULL,
                       PRIMARY KEY(stream, wave)) WITHOUT ROWID;
CREATE TABLE world(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER,
                   mpi_library TEXT, program TEXT);
CREATE INDEX event_chunk_by_time ON event_chunk(process, begin_ns, end_ns);
CREATE INDEX process_by_rank ON process(world, rank);
CREATE VIEW account AS
  SELECT world, rank, captured, stored, lost,
         ended AND lost_reason IS NULL AND stored + lost = windowed + ring_lost
           AND captured = stored + lost AS complete
  FROM (
    SELECT p.world, p.rank, p.captured, p.stored_calls AS stored,
           p.ring_lost +
             CASE WHEN p.closed_calls > 0 THEN p.closed_calls
                  WHEN h.given_up_calls > 0 AND h.given_up_calls =
                    (SELECT total(max(0, q.windowed - q.stored_calls))
                     FROM process q WHERE q.leaf = p.leaf)
                  THEN max(0, p.windowed - p.stored_calls) ELSE 0 END AS lost,
           p.ended, p.windowed, p.ring_lost, h.lost_reason
    FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL);
CREATE VIEW account_event AS
  SELECT world, rank, events, stored_events, lost_events, calls, stored_calls, lost_calls,
         ended AND lost_reason IS NULL AND events = stored_events + lost_events
           AND calls = stored_calls + lost_calls AS complete
  FROM (
    SELECT p.world, p.rank, p.events, p.stored_events,
           p.given_up_events + p.closed_events AS lost_events, p.event_calls AS calls,
           p.stored_event_calls AS stored_calls,
           p.given_up_event_calls + p.closed_event_calls AS lost_calls, p.ended, h.lost_reason
    FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL);
CREATE VIEW comm_matrix AS
  SELECT p.world, p.rank AS source, m.destination, m.bytes, m.messages,
         p.ended AND h.lost_reason IS NULL AND p.stored_calls = p.windowed AND p.lost_messages = 0
           AND p.ring_lost = (SELECT total(r.calls) FROM ring_loss r WHERE r.process = p.id)
           AS complete
  FROM matrix_sum m JOIN process p ON p.id = m.process LEFT JOIN host h ON h.leaf = p.leaf
  WHERE p.world IS NOT NULL;
CREATE VIEW function_total AS
  SELECT p.world, p.rank, coalesce(f.name, 'function ' || s.function) AS function, s.calls,
         s.time_ns, s.bytes, s.min_ns, s.max_ns, s.estimated, f.class
  FROM function_sum s JOIN process p ON p.id = s.process LEFT JOIN function f ON f.id = s.function
  WHERE p.world IS NOT NULL;
CREATE VIEW loss AS
  SELECT 'ring' AS part, p.world, p.rank, h.name AS host,
         coalesce(f.name, 'function ' || r.function) AS function, r.calls,
         'the ring was full: the agent could not keep up' AS reason, NULL AS wave, NULL AS wave_end,
         NULL AS messages, NULL AS bytes
  FROM ring_loss r JOIN process p ON p.id = r.process LEFT JOIN host h ON h.leaf = p.leaf
       LEFT JOIN function f ON f.id = r.function
  WHERE r.calls > 0
  UNION ALL
  SELECT 'message', p.world, p.rank, h.name, NULL, NULL,
         'sent while the ring was full: comm_matrix is short of them', NULL, NULL,
         p.lost_messages, p.lost_message_bytes
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_messages > 0
  UNION ALL
  SELECT 'receive', p.world, p.rank, h.name, NULL, NULL,
         'received while the ring was full: wait_matrix is short of them', NULL, NULL,
         p.lost_receives, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_receives > 0
  UNION ALL
  SELECT 'receive', p.world, p.rank, h.name, NULL, NULL,
         'their completion could not be followed: wait_matrix is short of them', NULL, NULL,
         p.untracked_receives, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.untracked_receives > 0
  UNION ALL
  SELECT CASE g.stream WHEN 1 THEN 'registration' WHEN 2 THEN 'window' ELSE 'chunk' END,
         p.world, p.rank, coalesce(h.name, 'leaves ' || g.sources), NULL, g.calls, g.reason,
         g.wave, g.wave_end, NULL, NULL
  FROM given_up g LEFT JOIN process p ON p.id = g.process LEFT JOIN host h ON h.leaf = g.leaf
  UNION ALL
  SELECT 'host', NULL, NULL, name, NULL, NULL, lost_reason, NULL, NULL, NULL, NULL
  FROM host WHERE lost_reason IS NOT NULL;
CREATE VIEW profile_window AS
  SELECT p.world, p.rank, w.begin_ns, w.end_ns,
         coalesce(f.name, 'function ' || w.function) AS function, w.calls, w.time_ns, w.min_ns,
         w.max_ns, w.bytes, w.estimated, w.histogram
  FROM profile_row w JOIN process p ON p.id = w.process LEFT JOIN function f ON f.id = w.function;
CREATE VIEW rank AS
  SELECT p.world, p.rank, h.name AS host, p.pid, p.program, p.mpi_library, p.leaf, p.lane,
         p.first_ns, p.last_ns, p.ended
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL;
CREATE VIEW wait_matrix AS
  SELECT p.world, p.rank, w.peer, w.time_ns, w.calls
  FROM wait_sum w JOIN process p ON p.id = w.process WHERE p.world IS NOT NULL;
