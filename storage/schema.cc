// The current views, and how a file gets the current schema: migrations change its tables, then all
// views are replaced. So a changed view needs a new version, but no statement in a migration.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "storage/migrations_internal.h"
#include "storage/schema_internal.h"

namespace xylem::storage {
namespace {

// The current views. Scripts of users rely on their names and columns (docs/storage-schema.md). The
// tables below them may change.
struct View {
  const char* name;
  const char* select;
};
constexpr std::array kViews = {
    View{"rank", R"sql(
  SELECT p.world, p.rank, h.name AS host, p.pid, p.program, p.mpi_library, p.leaf, p.lane,
         p.first_ns, p.last_ns, p.ended, p.clock, p.since_ns, p.until_ns, p.threads,
         p.processors, p.thread_level
  FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL)sql"},

    View{"communicator", R"sql(
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
  ON n.world = c.world AND n.id = c.id)sql"},

    View{"communicator_member", R"sql(
  SELECT c.world, c.id, m.place, m.rank, m.is_second
  FROM comm c JOIN comm_member m ON m.world = c.world AND m.members = c.members
  WHERE c.id > 1 AND NOT c.is_ambiguous
  UNION ALL
  SELECT world, 0, rank, rank, 0 FROM process WHERE world IS NOT NULL
  UNION ALL
  SELECT world, 1, 0, rank, 0 FROM process WHERE world IS NOT NULL)sql"},

    View{"communicator_neighbor", R"sql(
  SELECT world, id, rank, CASE is_source WHEN 1 THEN 'source' ELSE 'destination' END AS direction,
         position, neighbor
  FROM comm_neighbor)sql"},

    View{"profile_window", R"sql(
  SELECT p.world, p.rank, w.begin_ns, w.end_ns,
         coalesce(f.name, 'function ' || w.function) AS function, w.calls, w.time_ns, w.min_ns,
         w.max_ns, w.bytes, w.estimated, w.histogram
  FROM profile_row w JOIN process p ON p.id = w.process LEFT JOIN function f ON f.id = w.function)sql"},

    // A call that has returned since is followed by rows of a later window. If a host is lost, it
    // is not known whether its calls have returned.
    View{"under_way", R"sql(
  SELECT p.world, p.rank, u.thread, coalesce(f.name, 'function ' || u.function) AS function,
         u.begin_ns, u.peer, u.comm, u.at_ns
  FROM call_under_way u JOIN process p ON p.id = u.process LEFT JOIN host h ON h.leaf = p.leaf
       LEFT JOIN function f ON f.id = u.function
  WHERE p.world IS NOT NULL AND NOT p.ended AND h.lost_reason IS NULL
    AND u.at_ns >= coalesce(p.last_ns, u.at_ns))sql"},

    View{"function_total", R"sql(
  SELECT p.world, p.rank, coalesce(f.name, 'function ' || s.function) AS function, s.calls,
         s.time_ns, s.bytes, s.min_ns, s.max_ns, s.estimated, f.class
  FROM function_sum s JOIN process p ON p.id = s.process LEFT JOIN function f ON f.id = s.function
  WHERE p.world IS NOT NULL)sql"},

    View{"thread", R"sql(
  SELECT p.world, p.rank, t.thread, t.os_thread, t.since_ns
  FROM process_thread t JOIN process p ON p.id = t.process WHERE p.world IS NOT NULL)sql"},

    View{"record_cost", R"sql(
  SELECT p.world, p.rank, c.shape, c.cost_ns
  FROM process_record_cost c JOIN process p ON p.id = c.process WHERE p.world IS NOT NULL)sql"},

    View{"region_total", R"sql(
  SELECT p.world, p.rank, coalesce(n.name, CASE s.region WHEN 0 THEN '(visits not counted)'
           WHEN 1 THEN '(lost events of regions)' ELSE 'region ' || s.region END) AS region, sum(s.visits) AS visits,
         sum(s.time_ns) AS time_ns, max(s.max_ns) AS max_ns, sum(s.mpi_ns) AS mpi_ns,
         max(s.estimated) AS estimated
  FROM process_region s JOIN process p ON p.id = s.process LEFT JOIN region_name n ON n.id = s.region
  WHERE p.world IS NOT NULL GROUP BY p.id, s.region)sql"},

    // If a function is sampled, most of its calls have no record.
    View{"capture_cost", R"sql(
  SELECT p.world, p.rank, coalesce(f.name, 'function ' || s.function) AS function, c.shape, s.calls,
         s.calls * c.cost_ns AS time_ns
  FROM function_sum s JOIN process p ON p.id = s.process LEFT JOIN function f ON f.id = s.function
  JOIN process_record_cost c ON c.process = s.process AND c.shape =
    CASE WHEN s.estimated THEN 'counted'
         WHEN f.class IN ('collective', 'completion') THEN f.class
         WHEN f.class = 'point_to_point' AND f.name GLOB 'MPI_I*' THEN 'start'
         WHEN f.class = 'point_to_point' THEN 'message' ELSE 'call' END
  WHERE p.world IS NOT NULL)sql"},

    // Calls of threads without a ring (lost, and of no function) may have been sends too.
    View{"comm_matrix", R"sql(
  SELECT p.world, p.rank AS source, m.destination, m.bytes, m.messages,
         p.ended AND h.lost_reason IS NULL AND p.stored_calls = p.windowed AND p.lost_messages = 0
           AND p.ring_lost = (SELECT total(r.calls) FROM ring_loss r WHERE r.process = p.id)
           AS complete
  FROM matrix_sum m JOIN process p ON p.id = m.process LEFT JOIN host h ON h.leaf = p.leaf
  WHERE p.world IS NOT NULL)sql"},

    View{"wait_matrix", R"sql(
  SELECT p.world, p.rank, w.peer, w.time_ns, w.calls
  FROM wait_sum w JOIN process p ON p.id = w.process WHERE p.world IS NOT NULL)sql"},

    // Tombstones of windows say to which ranks the calls belong (process.given_up_calls). Those of
    // older agents only say how many calls of all ranks of a host a window had
    // (host.given_up_calls). Such calls are attributed only when the gaps between the agent's
    // counters of windowed calls and the stored calls, rank by rank, add up to exactly what the
    // host's tombstones say. closed_calls is the rest of a host that was lost for good.
    View{"account", R"sql(
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
    FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL))sql"},

    View{"account_event", R"sql(
  SELECT world, rank, events, stored_events, lost_events, calls, stored_calls, lost_calls,
         ended AND lost_reason IS NULL AND events = stored_events + lost_events
           AND calls = stored_calls + lost_calls AS complete
  FROM (
    SELECT p.world, p.rank, p.events, p.stored_events,
           p.given_up_events + p.closed_events AS lost_events, p.event_calls AS calls,
           p.stored_event_calls AS stored_calls,
           p.given_up_event_calls + p.closed_event_calls AS lost_calls, p.ended, h.lost_reason
    FROM process p LEFT JOIN host h ON h.leaf = p.leaf WHERE p.world IS NOT NULL))sql"},

    // Before the end of the run, a rank may still register. Only 65,536 ranks are checked, since a
    // world's size comes from its processes and may be wrong.
    View{"unwatched_rank", R"sql(
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
    AND NOT EXISTS (SELECT 1 FROM process p WHERE p.world = w.id AND p.rank = n.rank))sql"},

    // Does not look at each missing rank, as unwatched_rank does.
    View{"unwatched_total", R"sql(
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
  WHERE ranks > 0)sql"},

    View{"loss", R"sql(
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
  FROM unwatched_rank)sql"},

    // A link's counters start at 0 with each new parent. Then only the data sent since the new link
    // is known.
    View{"link_rate", R"sql(
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
      WHERE begin_ns IS NOT NULL)))sql"},

    // CROSS JOIN keeps SQLite from opening every sample once for each of its metrics.
    View{"series_value", R"sql(
  SELECT leaf, service, lane, at_ns, name,
         CASE WHEN per_second THEN number * scale * 1e9 / span_ns ELSE number * scale END AS value,
         slice * (SELECT window_ns FROM run) AS begin_ns
  FROM (
    SELECT v.leaf, v.name AS service, s.lane, s.at_ns, s.span_ns, s.slice, m.name, m.scale,
           m.per_second, json_extract(s.numbers, '$[' || m.position || ']') AS number
    FROM service v CROSS JOIN series_row s ON s.service = v.id
         CROSS JOIN series_metric m ON m.layout = s.layout))sql"},

    View{"host_metric", R"sql(
  SELECT leaf, at_ns, name, value FROM host_value
  UNION ALL
  SELECT leaf, at_ns, name, value FROM series_value
  WHERE lane = 0 AND value IS NOT NULL)sql"},

    View{"process_metric", R"sql(
  SELECT p.world, p.rank, s.leaf, p.pid, s.at_ns, s.name, s.value
  FROM series_value s JOIN process p ON p.leaf = s.leaf AND p.lane = s.lane
  WHERE s.lane <> 0 AND s.value IS NOT NULL)sql"},

    View{"metric", R"sql( SELECT DISTINCT name, unit, service FROM series_metric)sql"},

    View{"service_account", R"sql(
  SELECT leaf, host, service, captured, stored, lost,
         ended AND lost_reason IS NULL AND captured = stored + lost AS complete
  FROM (
    SELECT v.leaf, h.name AS host, coalesce(v.name, 'service ' || v.lane) AS service, v.captured,
           v.stored, v.lost + v.closed AS lost, v.ended, h.lost_reason
    FROM service v LEFT JOIN host h ON h.leaf = v.leaf))sql"},

    View{"stream_value", R"sql(
  SELECT coalesce(s.name, 'stream ' || p.stream) AS stream, p.wave, p.at_ns, p.sources, p.leaves,
         p.fields
  FROM stream_part p LEFT JOIN stream s ON s.id = p.stream)sql"},

    // If a lost program comes back, the reason of its latest loss shows again.
    View{"stream_account", R"sql(
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
                    FROM node WHERE leaf IS NOT NULL GROUP BY leaf) n ON n.leaf = c.leaf))sql"},
};

// Lets scripts insert into host_metric, which was a table before version 8.
constexpr const char* kHostMetricInsert = R"sql(
CREATE TRIGGER host_metric_insert INSTEAD OF INSERT ON host_metric BEGIN
  INSERT INTO host_value VALUES(NEW.leaf, NEW.at_ns, NEW.name, NEW.value);
END;
)sql";

// Early versions have tables with the names of views. Migrations replace them.
void drop_views(Connection& connection) {
  std::vector<std::string> found;
  Statement views(connection, "SELECT name FROM sqlite_schema WHERE type = 'view'");
  for (bool more = views.first(); more; more = views.next()) found.push_back(views.text(0));
  views.reset();
  for (const View& view : kViews) {
    if (std::ranges::find(found, view.name) != found.end())
      connection.execute((std::string("DROP VIEW ") + view.name).c_str());
  }
}

void make_views(Connection& connection) {
  for (const View& view : kViews) {
    connection.execute((std::string("CREATE VIEW ") + view.name + " AS" + view.select).c_str());
  }
  connection.execute(kHostMetricInsert);  // Dropped together with its view.
}

struct FileVersion {
  std::int64_t application = 0;
  std::int64_t version = 0;
  bool empty = true;
};

/// The file is a store, but migrate() has not ended. This takes milliseconds, if the process that
/// makes the file lives.
constexpr Nanos kMakingPatience = 1 * kSecond;
bool is_being_made(const FileVersion& found) {
  return found.application == kApplicationId && found.version == 0;
}

FileVersion read_version(Connection& connection) {
  FileVersion found;
  Statement application(connection, "PRAGMA application_id");
  if (application.first()) found.application = application.integer(0);
  application.reset();
  Statement version(connection, "PRAGMA user_version");
  if (version.first()) found.version = version.integer(0);
  version.reset();
  Statement any(connection, "SELECT 1 FROM sqlite_schema LIMIT 1");
  found.empty = !any.first();
  any.reset();
  return found;
}

Result<void> judge(const Connection& connection, const FileVersion& found) {
  if (found.application != kApplicationId) {
    return unexpected(Code::kInvalidArgument,
                      connection.name() + ": it is a SQLite database, but not a run of xylem");
  }
  if (found.version < 0) {
    return unexpected(Code::kCorrupt, connection.name() + ": its schema cannot have version " +
                                          std::to_string(found.version));
  }
  if (found.version > schema_version()) {
    return unexpected(Code::kInvalidArgument,
                      connection.name() + ": written by a newer xylem (schema " +
                          std::to_string(found.version) + ", this one knows up to " +
                          std::to_string(schema_version()) + "); use that one");
  }
  return {};
}

}  // namespace

bool is_run_file(int fd) {
  // https://www.sqlite.org/fileformat2.html, section 1.3. The magic text ends with a zero byte.
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kApplicationIdAt = 68;
  constexpr std::string_view kApplication = "xylm";
  std::array<char, kApplicationIdAt + kApplication.size()> head{};
  if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) return false;
  const std::string_view text(head.data(), head.size());
  return text.starts_with(kMagic) && text.ends_with(kApplication);
}

std::int64_t schema_version() { return static_cast<std::int64_t>(migrations().size()); }

Result<void> migrate(Connection& connection) {
  FileVersion found = read_version(connection);
  if (auto read = connection.take(); !read) return read;
  const bool fresh = found.empty && found.version == 0;
  if (!fresh) {
    if (auto fits = judge(connection, found); !fits) return fits;
  }
  if (found.version == schema_version()) return {};
  connection.execute("BEGIN IMMEDIATE");
  const auto missing = migrations().subspan(static_cast<std::size_t>(found.version));
  drop_views(connection);  // SQLite does not rename a column while a view cannot be verified.
  for (const Migration migration : missing) migration(connection);
  make_views(connection);
  connection.execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  connection.execute(("PRAGMA user_version = " + std::to_string(schema_version())).c_str());
  connection.execute("COMMIT");
  auto done = connection.take();
  if (!done) {
    connection.execute("ROLLBACK");
    static_cast<void>(connection.take());  // Often there is nothing left to roll back.
  }
  return done;
}

Result<void> check_readable(Connection& connection) {
  FileVersion found = read_version(connection);
  const Nanos deadline = deadline_in(kMakingPatience);
  while (is_being_made(found) && monotonic_now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = read_version(connection);
  }
  if (auto read = connection.take(); !read) return read;
  if (auto fits = judge(connection, found); !fits) return fits;
  if (is_being_made(found)) {
    return unexpected(Code::kUnavailable, connection.name() + ": it is being created; try again");
  }
  return {};
}

}  // namespace xylem::storage
