// Prepared SQL queries, which the user can change. docs/storage-schema.md has the tables.

const kShares = `SELECT r.world, r.rank, r.host, sum(f.time_ns) / 1e9 AS mpi_s,
       100.0 * sum(f.time_ns) / r.threads
         / (coalesce(r.until_ns, (SELECT max(last_ns) FROM rank)) - r.since_ns) AS percent
  FROM function_total f JOIN rank r USING (world, rank)
 GROUP BY r.world, r.rank ORDER BY percent DESC`;
/** For files before schema 17. They do not say when a rank was watched. */
const kSharesOfOlderFiles = `SELECT r.world, r.rank, r.host, sum(f.time_ns) / 1e9 AS mpi_s,
       100.0 * sum(f.time_ns) / (r.last_ns - r.first_ns) AS percent
  FROM function_total f JOIN rank r USING (world, rank)
 GROUP BY r.world, r.rank ORDER BY percent DESC`;

/** The text of the same question for files that lack a column. null: the query failed for another reason. */
export function olderOf(sql: string, message: string): string | null {
  return sql === kShares && message.includes("no such column") ? kSharesOfOlderFiles : null;
}

export const kQuestions: readonly (readonly [title: string, sql: string])[] = [
  ["Who waits for whom", `SELECT rank, peer AS waits_for, time_ns / 1e9 AS seconds, calls
  FROM wait_matrix ORDER BY time_ns DESC LIMIT 20`],
  ["Time in MPI of each rank", kShares],
  ["Functions", `SELECT function, class, sum(calls) AS calls, sum(time_ns) / 1e9 AS seconds,
       max(max_ns) / 1e3 AS longest_us, sum(bytes) AS bytes
  FROM function_total GROUP BY function, class ORDER BY seconds DESC`],
  ["The account", "SELECT * FROM account ORDER BY lost DESC, world, rank"],
  ["What is missing", "SELECT * FROM loss"],
  ["The longest calls", `-- Single calls are there with: xylem run --detail trace
SELECT rank, function, (end_ns - begin_ns) / 1e6 AS ms, begin_ns / 1e9 AS at_s, peer, bytes
  FROM event ORDER BY end_ns - begin_ns DESC LIMIT 20`],
  ["How many ranks take part in collectives", `-- Single calls are there with: xylem run --detail trace
SELECT function, ranks, count(*) AS communicators, sum(calls) AS calls
  FROM (SELECT e.function, comm, count(DISTINCT rank) AS ranks, count(*) AS calls
          FROM event e JOIN function f ON f.name = e.function AND f.class = 'collective'
         WHERE comm IS NOT NULL GROUP BY e.function, comm)
 GROUP BY function, ranks ORDER BY function, ranks`],
  ["Sizes of messages", `SELECT source, destination, messages, bytes, bytes / messages AS mean_bytes
  FROM comm_matrix WHERE messages > 0 ORDER BY bytes DESC LIMIT 100`],
  ["What services measure", `SELECT name, count(*) AS samples, min(value), avg(value), max(value)
  FROM host_metric GROUP BY name ORDER BY name`],
  ["Tables", `SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY type DESC, name`],
];
