CREATE TABLE alert(
  id INTEGER PRIMARY KEY, at_ns INTEGER, until_ns INTEGER, kind TEXT, world INTEGER, rank INTEGER,
  text TEXT, value REAL, threshold REAL, subject TEXT, leaf INTEGER, at_least INTEGER NOT NULL DEFAULT 0);
CREATE TABLE call_under_way(
  process INTEGER NOT NULL, thread INTEGER NOT NULL, function INTEGER NOT NULL, begin_ns INTEGER,
  peer INTEGER, comm INTEGER, at_ns INTEGER NOT NULL, wave INTEGER NOT NULL,
  PRIMARY KEY(process, thread)) WITHOUT ROWID;
CREATE TABLE callsite(
  id INTEGER PRIMARY KEY, site INTEGER NOT NULL UNIQUE, object TEXT NOT NULL, build_id TEXT,
  offset INTEGER NOT NULL, function TEXT, file TEXT, line INTEGER);
CREATE TABLE chunk_seen(process INTEGER, first INTEGER, end INTEGER NOT NULL,
                        PRIMARY KEY(process, first)) WITHOUT ROWID;
CREATE TABLE clock(leaf INTEGER, at_ns INTEGER, offset_ns INTEGER, error_ns INTEGER);
CREATE TABLE comm(
  world INTEGER NOT NULL, id INTEGER NOT NULL, kind TEXT NOT NULL, parent INTEGER,
  members INTEGER NOT NULL, size INTEGER NOT NULL, second_size INTEGER NOT NULL,
  is_ambiguous INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(world, id)) WITHOUT ROWID;
CREATE TABLE comm_dimension(
  world INTEGER NOT NULL, id INTEGER NOT NULL, position INTEGER NOT NULL, size INTEGER NOT NULL,
  is_periodic INTEGER NOT NULL, PRIMARY KEY(world, id, position)) WITHOUT ROWID;
CREATE TABLE comm_member(
  world INTEGER NOT NULL, members INTEGER NOT NULL, is_second INTEGER NOT NULL,
  place INTEGER NOT NULL, rank INTEGER NOT NULL,
  PRIMARY KEY(world, members, is_second, place, rank)) WITHOUT ROWID;
CREATE TABLE comm_name(
  world INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL,
  PRIMARY KEY(world, id)) WITHOUT ROWID;
CREATE TABLE comm_neighbor(
  world INTEGER NOT NULL, id INTEGER NOT NULL, rank INTEGER NOT NULL, is_source INTEGER NOT NULL,
  position INTEGER NOT NULL, neighbor INTEGER,
  PRIMARY KEY(world, id, rank, is_source, position)) WITHOUT ROWID;
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
  wave INTEGER, wave_end INTEGER, calls INTEGER, reason TEXT, service INTEGER);
CREATE TABLE host(leaf INTEGER PRIMARY KEY, name TEXT, lost_reason TEXT,
                  given_up_calls INTEGER NOT NULL DEFAULT 0, processor TEXT, frequency_hz INTEGER);
CREATE TABLE "host_value"(leaf INTEGER, at_ns INTEGER, name TEXT, value REAL);
CREATE TABLE link(
  node INTEGER PRIMARY KEY, at_ns INTEGER, queue_bytes INTEGER, most_queue_bytes INTEGER,
  sent_bytes INTEGER, sent_packets INTEGER, round_trip_ns INTEGER, offset_ns INTEGER,
  error_ns INTEGER, refused INTEGER, transport TEXT);
CREATE TABLE link_sample(
  node INTEGER, at_ns INTEGER, queue_bytes INTEGER, sent_bytes INTEGER, sent_packets INTEGER,
  round_trip_ns INTEGER, PRIMARY KEY(node, at_ns)) WITHOUT ROWID;
CREATE TABLE matrix_sum(process INTEGER, destination INTEGER, bytes INTEGER, messages INTEGER,
                        PRIMARY KEY(process, destination)) WITHOUT ROWID;
CREATE TABLE node(
  id INTEGER PRIMARY KEY, role TEXT NOT NULL, host TEXT, parent INTEGER, level INTEGER,
  pid INTEGER, leaf INTEGER, state TEXT, host_key TEXT, reason TEXT);
CREATE TABLE node_address(
  node INTEGER, position INTEGER, host TEXT, port INTEGER, unix_path TEXT, host_key TEXT,
  PRIMARY KEY(node, position)) WITHOUT ROWID;
CREATE TABLE node_change(
  at_ns INTEGER, node INTEGER NOT NULL, state TEXT, parent INTEGER, level INTEGER);
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
  given_up_events INTEGER NOT NULL DEFAULT 0, given_up_event_calls INTEGER NOT NULL DEFAULT 0, lost_messages INTEGER NOT NULL DEFAULT 0, lost_message_bytes INTEGER NOT NULL DEFAULT 0, lost_receives INTEGER NOT NULL DEFAULT 0, untracked_receives INTEGER NOT NULL DEFAULT 0, closed_calls INTEGER NOT NULL DEFAULT 0, closed_events INTEGER NOT NULL DEFAULT 0, closed_event_calls INTEGER NOT NULL DEFAULT 0, clock TEXT, given_up_calls INTEGER NOT NULL DEFAULT 0, unwatched TEXT, since_ns INTEGER, until_ns INTEGER, threads INTEGER, called_ns INTEGER, lost_definitions INTEGER NOT NULL DEFAULT 0, processors TEXT, lost_parts INTEGER NOT NULL DEFAULT 0, thread_level TEXT,
  UNIQUE(leaf, lane));
CREATE TABLE process_record_cost(
  process INTEGER NOT NULL, shape TEXT NOT NULL, cost_ns REAL NOT NULL,
  PRIMARY KEY(process, shape)) WITHOUT ROWID;
CREATE TABLE process_region(
  process INTEGER NOT NULL, region INTEGER NOT NULL, thread INTEGER NOT NULL,
  visits INTEGER NOT NULL, time_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL,
  mpi_ns INTEGER NOT NULL, estimated INTEGER NOT NULL,
  PRIMARY KEY(process, region, thread)) WITHOUT ROWID;
CREATE TABLE process_thread(
  process INTEGER NOT NULL, thread INTEGER NOT NULL, os_thread INTEGER NOT NULL, since_ns INTEGER,
  UNIQUE(process, thread, os_thread, since_ns));
CREATE TABLE profile_row(
  process INTEGER NOT NULL, function INTEGER NOT NULL, begin_ns INTEGER, end_ns INTEGER,
  calls INTEGER NOT NULL, time_ns INTEGER, min_ns INTEGER, max_ns INTEGER, bytes INTEGER,
  estimated INTEGER, histogram BLOB);
CREATE TABLE region_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ring_loss(process INTEGER, function INTEGER, calls INTEGER,
                       PRIMARY KEY(process, function)) WITHOUT ROWID;
CREATE TABLE run(
  run_id TEXT NOT NULL, command TEXT, directory TEXT, user TEXT, host TEXT, version TEXT,
  options TEXT, detail TEXT, window_ns INTEGER, started_ns INTEGER, ended_ns INTEGER,
  exit_code INTEGER, front_ends INTEGER NOT NULL DEFAULT 1);
CREATE TABLE series_metric(
  layout INTEGER, name TEXT, position INTEGER, unit TEXT, scale REAL, per_second INTEGER,
  service TEXT, PRIMARY KEY(layout, name)) WITHOUT ROWID;
CREATE TABLE series_row(
  id INTEGER PRIMARY KEY, service INTEGER NOT NULL, lane INTEGER NOT NULL, at_ns INTEGER,
  span_ns INTEGER, slice INTEGER, layout INTEGER, numbers TEXT NOT NULL);
CREATE TABLE series_seen(service INTEGER, first INTEGER, end INTEGER NOT NULL,
                         PRIMARY KEY(service, first)) WITHOUT ROWID;
CREATE TABLE service(
  id INTEGER PRIMARY KEY, leaf INTEGER NOT NULL, lane INTEGER NOT NULL, name TEXT,
  captured INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0, UNIQUE(leaf, lane));
CREATE TABLE stream(id INTEGER PRIMARY KEY, name TEXT NOT NULL, aggregation TEXT,
                    synchronisation TEXT);
CREATE TABLE stream_leaf(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, leaf INTEGER NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0, stored INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  ended INTEGER NOT NULL DEFAULT 0, reason TEXT, UNIQUE(stream, leaf));
CREATE TABLE stream_part(
  id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, wave INTEGER NOT NULL, at_ns INTEGER,
  sources TEXT NOT NULL, leaves INTEGER NOT NULL, state BLOB NOT NULL, fields TEXT);
CREATE TABLE stream_seen(contributor INTEGER, first INTEGER, end INTEGER NOT NULL,
                         PRIMARY KEY(contributor, first)) WITHOUT ROWID;
CREATE TABLE succession(epoch_ns INTEGER NOT NULL, ended TEXT NOT NULL);
CREATE TABLE summary_state(level INTEGER PRIMARY KEY, done INTEGER NOT NULL);
CREATE TABLE wait_sum(process INTEGER, peer INTEGER, time_ns INTEGER, calls INTEGER,
                      PRIMARY KEY(process, peer)) WITHOUT ROWID;
CREATE TABLE wave_seen(stream INTEGER, wave INTEGER, sources TEXT NOT NULL,
                       PRIMARY KEY(stream, wave)) WITHOUT ROWID;
CREATE TABLE window_span(
  after_row INTEGER NOT NULL, upto_row INTEGER NOT NULL, first_ns INTEGER NOT NULL,
  last_ns INTEGER NOT NULL);
CREATE TABLE window_summary(
  id INTEGER PRIMARY KEY, level INTEGER NOT NULL, begin_ns INTEGER NOT NULL,
  block INTEGER NOT NULL, cells BLOB NOT NULL, functions BLOB NOT NULL, by_process BLOB NOT NULL);
CREATE TABLE world(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, size INTEGER,
                   mpi_library TEXT, program TEXT);
CREATE INDEX event_chunk_by_time ON event_chunk(process, begin_ns, end_ns);
CREATE INDEX host_value_by_time ON host_value(leaf, name, at_ns);
CREATE INDEX process_by_rank ON process(world, rank);
CREATE INDEX series_row_by_time ON series_row(service, lane, at_ns);
CREATE INDEX stream_part_by_wave ON stream_part(stream, wave);
CREATE INDEX window_span_by_time ON window_span(first_ns, last_ns, after_row, upto_row);
CREATE INDEX window_summary_by_level ON window_summary(level);
CREATE INDEX window_summary_by_time ON window_summary(level, begin_ns, block);
CREATE VIEW account AS
  SELECT world, rank, captured, stored, lost,
         ended AND lost_reason IS NULL AND stored + lost = windowed + ring_lost
           AND captured = stored + lost AS complete
  FROM (
    SELECT p.world, p.rank, p.captured, p.stored_calls AS stored,
           p.ring_lost + p.given_up_calls +
             CASE WHEN p.closed_calls > 0 THEN p.closed_calls
                  WHEN h.given_up_calls > 0 AND h.given_up_calls =
                    (SELECT total(max(0, q.windowed - q.stored_calls - q.given_up_calls))
                     FROM process q WHERE q.leaf = p.leaf)
                  THEN max(0, p.windowed - p.stored_calls - p.given_up_calls) ELSE 0 END AS lost,
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
CREATE VIEW capture_cost AS
  SELECT p.world, p.rank, coalesce(f.name, 'function ' || s.function) AS function, c.shape, s.calls,
         s.calls * c.cost_ns AS time_ns
  FROM function_sum s JOIN process p ON p.id = s.process LEFT JOIN function f ON f.id = s.function
  JOIN process_record_cost c ON c.process = s.process AND c.shape =
    CASE WHEN s.estimated THEN 'counted'
         WHEN f.class IN ('collective', 'completion') THEN f.class
         WHEN f.class = 'point_to_point' AND f.name GLOB 'MPI_I*' THEN 'start'
         WHEN f.class = 'point_to_point' THEN 'message' ELSE 'call' END
  WHERE p.world IS NOT NULL;
CREATE VIEW comm_matrix AS
  SELECT p.world, p.rank AS source, m.destination, m.bytes, m.messages,
         p.ended AND h.lost_reason IS NULL AND p.stored_calls = p.windowed AND p.lost_messages = 0
           AND p.ring_lost = (SELECT total(r.calls) FROM ring_loss r WHERE r.process = p.id)
           AS complete
  FROM matrix_sum m JOIN process p ON p.id = m.process LEFT JOIN host h ON h.leaf = p.leaf
  WHERE p.world IS NOT NULL;
CREATE VIEW communicator AS
  SELECT c.world, c.id, c.kind, c.parent, c.size, n.name, c.second_size,
         (SELECT nullif(json_group_array(d.size), '[]') FROM comm_dimension d
          WHERE d.world = c.world AND d.id = c.id) AS dimensions,
         (SELECT nullif(json_group_array(d.is_periodic), '[]') FROM comm_dimension d
          WHERE d.world = c.world AND d.id = c.id) AS periodic,
         c.is_ambiguous
  FROM (
    SELECT world, id, kind, parent, size, second_size, is_ambiguous FROM comm WHERE id > 1
    UNION ALL
    SELECT id, 0, 'world', NULL, size, 0, 0 FROM world
    UNION ALL
    SELECT id, 1, 'self', NULL, 1, 0, 0 FROM world) c
  LEFT JOIN (
    SELECT world, id, name FROM comm_name
    UNION ALL
    SELECT w.id, b.id, b.name
    FROM world w, (SELECT 0 AS id, 'MPI_COMM_WORLD' AS name
                   UNION ALL SELECT 1, 'MPI_COMM_SELF') b
    WHERE NOT EXISTS (SELECT 1 FROM comm_name n WHERE n.world = w.id AND n.id = b.id)) n
  ON n.world = c.world AND n.id = c.id;
CREATE VIEW communicator_member AS
  SELECT c.world, c.id, m.place, m.rank, m.is_second
  FROM comm c JOIN comm_member m ON m.world = c.world AND m.members = c.members
  WHERE c.id > 1 AND NOT c.is_ambiguous
  UNION ALL
  SELECT world, 0, rank, rank, 0 FROM process WHERE world IS NOT NULL
  UNION ALL
  SELECT world, 1, 0, rank, 0 FROM process WHERE world IS NOT NULL;
CREATE VIEW communicator_neighbor AS
  SELECT world, id, rank, CASE is_source WHEN 1 THEN 'source' ELSE 'destination' END AS direction,
         position, neighbor
  FROM comm_neighbor;
CREATE VIEW function_total AS
  SELECT p.world, p.rank, coalesce(f.name, 'function ' || s.function) AS function, s.calls,
         s.time_ns, s.bytes, s.min_ns, s.max_ns, s.estimated, f.class
  FROM function_sum s JOIN process p ON p.id = s.process LEFT JOIN function f ON f.id = s.function
  WHERE p.world IS NOT NULL;
CREATE VIEW host_metric AS
  SELECT leaf, at_ns, name, value FROM host_value
  UNION ALL
  SELECT leaf, at_ns, name, value FROM series_value
  WHERE lane = 0 AND value IS NOT NULL;
CREATE VIEW link_rate AS
  SELECT node, begin_ns, end_ns, packets, bytes,
         packets * 1e9 / (end_ns - begin_ns) AS packets_per_s,
         bytes * 1e9 / (end_ns - begin_ns) AS bytes_per_s, queue_bytes, round_trip_ns
  FROM (
    SELECT node, begin_ns, end_ns, queue_bytes, round_trip_ns,
           sent_packets - CASE WHEN is_new THEN 0 ELSE last_packets END AS packets,
           sent_bytes - CASE WHEN is_new THEN 0 ELSE last_bytes END AS bytes
    FROM (
      SELECT *, last_packets > sent_packets OR last_bytes > sent_bytes AS is_new
      FROM (
        SELECT node, lag(at_ns) OVER samples AS begin_ns, at_ns AS end_ns, sent_packets, sent_bytes,
               lag(sent_packets) OVER samples AS last_packets,
               lag(sent_bytes) OVER samples AS last_bytes, queue_bytes, round_trip_ns
        FROM link_sample WINDOW samples AS (PARTITION BY node ORDER BY at_ns))
      WHERE begin_ns IS NOT NULL));
CREATE VIEW loss AS
  SELECT 'ring' AS part, p.world, p.rank, h.name AS host,
         coalesce(f.name, 'function ' || r.function) AS function, r.calls,
         'the ring was full: the agent could not keep up' AS reason, NULL AS wave, NULL AS wave_end,
         NULL AS messages, NULL AS bytes, NULL AS service, NULL AS samples
  FROM ring_loss r JOIN process p ON p.id = r.process LEFT JOIN host h ON h.leaf = p.leaf
       LEFT JOIN function f ON f.id = r.function
  WHERE r.calls > 0
  UNION ALL
  SELECT 'message', p.world, p.rank, h.name, NULL, NULL,
         'sent while the ring was full: comm_matrix is short of them', NULL, NULL,
         p.lost_messages, p.lost_message_bytes, NULL, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_messages > 0
  UNION ALL
  SELECT 'receive', p.world, p.rank, h.name, NULL, NULL,
         'received while the ring was full: wait_matrix is short of them', NULL, NULL,
         p.lost_receives, NULL, NULL, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_receives > 0
  UNION ALL
  SELECT 'part', p.world, p.rank, h.name, NULL, NULL,
         'not recorded, because the ring was full: completion is short of them', NULL, NULL,
         p.lost_parts, NULL, NULL, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_parts > 0
  UNION ALL
  SELECT 'receive', p.world, p.rank, h.name, NULL, NULL,
         'their completion could not be followed: wait_matrix is short of them', NULL, NULL,
         p.untracked_receives, NULL, NULL, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.untracked_receives > 0
  UNION ALL
  SELECT 'definition', p.world, p.rank, h.name, NULL, NULL,
         p.lost_definitions || ' definitions (communicators, call sites) are lost: the agent could'
           || ' not keep up, or their log was damaged', NULL, NULL, NULL, NULL, NULL, NULL
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.lost_definitions > 0
  UNION ALL
  SELECT CASE g.stream WHEN 1 THEN 'registration' WHEN 2 THEN 'window' WHEN 3 THEN 'chunk'
              ELSE 'series' END,
         p.world, p.rank, coalesce(h.name, 'leaves ' || g.sources), NULL,
         CASE WHEN g.stream <> 4 THEN g.calls END, g.reason, g.wave, g.wave_end, NULL, NULL,
         v.name, CASE WHEN g.stream = 4 THEN g.calls END
  FROM given_up g LEFT JOIN process p ON p.id = g.process LEFT JOIN host h ON h.leaf = g.leaf
       LEFT JOIN service v ON v.id = g.service
  UNION ALL
  SELECT 'host', NULL, NULL, name, NULL, NULL, lost_reason, NULL, NULL, NULL, NULL, NULL, NULL
  FROM host WHERE lost_reason IS NOT NULL
  UNION ALL
  SELECT 'rank', world, rank, host, NULL, NULL, reason, NULL, NULL, NULL, NULL, NULL, NULL
  FROM unwatched_rank;
CREATE VIEW metric AS SELECT DISTINCT name, unit, service FROM series_metric;
CREATE VIEW process_metric AS
  SELECT p.world, p.rank, s.leaf, p.pid, s.at_ns, s.name, s.value
  FROM series_value s JOIN process p ON p.leaf = s.leaf AND p.lane = s.lane
  WHERE s.lane <> 0 AND s.value IS NOT NULL;
CREATE VIEW profile_window AS
  SELECT p.world, p.rank, w.begin_ns, w.end_ns,
         coalesce(f.name, 'function ' || w.function) AS function, w.calls, w.time_ns, w.min_ns,
         w.max_ns, w.bytes, w.estimated, w.histogram
  FROM profile_row w JOIN process p ON p.id = w.process LEFT JOIN function f ON f.id = w.function;
CREATE VIEW rank AS
  SELECT p.world, p.rank, h.name AS host, p.pid, p.program, p.mpi_library, p.leaf, p.lane,
         p.first_ns, p.last_ns, p.ended, p.clock, p.since_ns, p.until_ns, p.threads,
         p.processors, p.thread_level
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL;
CREATE VIEW record_cost AS
  SELECT p.world, p.rank, c.shape, c.cost_ns
  FROM process_record_cost c JOIN process p ON p.id = c.process WHERE p.world IS NOT NULL;
CREATE VIEW region_total AS
  SELECT p.world, p.rank, coalesce(n.name, CASE s.region WHEN 0 THEN '(visits not counted)'
           WHEN 1 THEN '(lost events of regions)' ELSE 'region ' || s.region END) AS region, sum(s.visits) AS visits,
         sum(s.time_ns) AS time_ns, max(s.max_ns) AS max_ns, sum(s.mpi_ns) AS mpi_ns,
         max(s.estimated) AS estimated
  FROM process_region s JOIN process p ON p.id = s.process LEFT JOIN region_name n ON n.id = s.region
  WHERE p.world IS NOT NULL GROUP BY p.id, s.region;
CREATE VIEW series_value AS
  SELECT leaf, service, lane, at_ns, name,
         CASE WHEN per_second THEN number * scale * 1e9 / span_ns ELSE number * scale END AS value,
         slice * (SELECT window_ns FROM run) AS begin_ns
  FROM (
    SELECT v.leaf, v.name AS service, s.lane, s.at_ns, s.span_ns, s.slice, m.name, m.scale,
           m.per_second, json_extract(s.numbers, '$[' || m.position || ']') AS number
    FROM service v CROSS JOIN series_row s ON s.service = v.id
         CROSS JOIN series_metric m ON m.layout = s.layout);
CREATE VIEW service_account AS
  SELECT leaf, host, service, captured, stored, lost,
         ended AND lost_reason IS NULL AND captured = stored + lost AS complete
  FROM (
    SELECT v.leaf, h.name AS host, coalesce(v.name, 'service ' || v.lane) AS service, v.captured,
           v.stored, v.lost + v.closed AS lost, v.ended, h.lost_reason
    FROM service v LEFT JOIN host h ON h.leaf = v.leaf);
CREATE VIEW stream_account AS
  SELECT stream, leaf, host, sent, stored, lost, reason,
         ended AND lost_reason IS NULL AND sent = stored + lost AS complete
  FROM (
    SELECT coalesce(s.name, 'stream ' || c.stream) AS stream, c.leaf,
           n.host, max(c.sent, c.stored + c.lost + c.closed) AS sent, c.stored,
           c.lost + c.closed AS lost, c.ended,
           coalesce(h.lost_reason,
                    CASE WHEN n.is_lost_program AND NOT c.ended
                         THEN 'the program on ' || n.host || ' was not heard of any more' END,
                    c.reason) AS reason,
           h.lost_reason
    FROM stream_leaf c LEFT JOIN stream s ON s.id = c.stream LEFT JOIN host h ON h.leaf = c.leaf
         LEFT JOIN (SELECT leaf, max(host) AS host,
                           max(role = 'program' AND state = 'lost') AS is_lost_program
                    FROM node WHERE leaf IS NOT NULL GROUP BY leaf) n ON n.leaf = c.leaf);
CREATE VIEW stream_value AS
  SELECT coalesce(s.name, 'stream ' || p.stream) AS stream, p.wave, p.at_ns, p.sources, p.leaves,
         p.fields
  FROM stream_part p LEFT JOIN stream s ON s.id = p.stream;
CREATE VIEW thread AS
  SELECT p.world, p.rank, t.thread, t.os_thread, t.since_ns
  FROM process_thread t JOIN process p ON p.id = t.process WHERE p.world IS NOT NULL;
CREATE VIEW under_way AS
  SELECT p.world, p.rank, u.thread, coalesce(f.name, 'function ' || u.function) AS function,
         u.begin_ns, u.peer, u.comm, u.at_ns
  FROM call_under_way u JOIN process p ON p.id = u.process LEFT JOIN host h ON h.leaf = p.leaf
       LEFT JOIN function f ON f.id = u.function
  WHERE p.world IS NOT NULL AND NOT p.ended AND h.lost_reason IS NULL
    AND u.at_ns >= coalesce(p.last_ns, u.at_ns);
CREATE VIEW unwatched_rank AS
  SELECT p.world, p.rank, h.name AS host, p.unwatched AS reason
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.unwatched IS NOT NULL
  UNION ALL
  SELECT w.id, n.rank, NULL,
         'no process of this rank has registered: it was not preloaded, it could not reach an agent,'
           || ' or its host does not reach the front end'
  FROM world w JOIN (
         WITH RECURSIVE number(rank) AS (
           SELECT 0 UNION ALL
           SELECT rank + 1 FROM number
           WHERE rank + 1 < (SELECT min(max(size), 65536) FROM world))
         SELECT rank FROM number) n ON n.rank < w.size
  WHERE (SELECT max(ended_ns) FROM run) IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM process p WHERE p.world = w.id AND p.rank = n.rank);
CREATE VIEW unwatched_total AS
  SELECT h.name AS host, p.unwatched AS reason, count(*) AS ranks
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.unwatched IS NOT NULL
  GROUP BY h.name, p.unwatched
  UNION ALL
  SELECT * FROM (
    SELECT NULL,
           'no process of this rank has registered: it was not preloaded, it could not reach an'
             || ' agent, or its host does not reach the front end',
           CAST(total(max(0, min(w.size, 65536) - coalesce(p.ranks, 0))) AS INTEGER) AS ranks
    FROM world w LEFT JOIN (SELECT world, count(DISTINCT rank) AS ranks FROM process
                            WHERE rank < 65536 GROUP BY world) p ON p.world = w.id
    WHERE (SELECT max(ended_ns) FROM run) IS NOT NULL)
  WHERE ranks > 0;
CREATE VIEW wait_matrix AS
  SELECT p.world, p.rank, w.peer, w.time_ns, w.calls
  FROM wait_sum w JOIN process p ON p.id = w.process WHERE p.world IS NOT NULL;
CREATE TRIGGER host_metric_insert INSTEAD OF INSERT ON host_metric BEGIN
  INSERT INTO host_value VALUES(NEW.leaf, NEW.at_ns, NEW.name, NEW.value);
END;
