#!/usr/bin/env python3
"""The threads of each rank, the level of threads that MPI has granted, and what capture has added to the calls."""

import unittest

from harness import WholeSystemTest, mpirun

LEVELS = ("single", "funneled", "serialized", "multiple")
RANKS = 2
SHAPES = {"counted", "call", "message", "start", "completion", "collective", "part"}
# A thread uses its index until the next one takes it.
CALLS = """SELECT t.os_thread, count(*) AS calls FROM
             (SELECT *, lead(since_ns) OVER (PARTITION BY rank, thread ORDER BY since_ns) AS until_ns FROM thread) t
           JOIN event e ON e.rank = t.rank AND e.thread = t.thread AND e.begin_ns >= t.since_ns
             AND (t.until_ns IS NULL OR e.begin_ns < t.until_ns)
           WHERE t.rank = {} AND e.function = 'MPI_Comm_size' GROUP BY t.os_thread"""


class ThreadsTest(WholeSystemTest):
    def run_threads(self, library, wanted):
        prefix = self.folder / "said"
        store = self.run_job(mpirun(library, RANKS, "threads", prefix, wanted), "--overwrite", "--detail", "trace", "--sample", "none")
        self.assert_adds_up(store)
        self.assertEqual([dict(row) for row in store.rows("SELECT * FROM unmatched")], [])
        return store, [(self.folder / f"said.{rank}").read_text().splitlines() for rank in range(RANKS)]

    def check_costs(self, store):
        """The cost of each shape is plausible, and capture_cost is made of it and of the calls."""
        for rank in range(RANKS):
            costs = {row["shape"]: row["cost_ns"] for row in store.rows(f"SELECT shape, cost_ns FROM record_cost WHERE rank = {rank}")}
            self.assertEqual(set(costs), SHAPES)
            self.assertTrue(all(0 <= cost < 100_000 for cost in costs.values()), costs)
            self.assertGreater(costs["call"], costs["counted"])
            self.assertGreater(costs["message"], costs["call"])
            for row in store.rows(f"SELECT function, shape, calls, time_ns FROM capture_cost WHERE rank = {rank}"):
                self.assertAlmostEqual(row["time_ns"], row["calls"] * costs[row["shape"]], places=3)
        self.assertEqual(store.value("SELECT count(*) FROM capture_cost"), store.value("SELECT count(*) FROM function_total"))
        # What is measured leaves no trace in the numbers of messages and collectives, and no calls.
        self.assertEqual(store.value("SELECT count(*) FROM message"), 0)

    def test_each_thread_is_known_by_its_id(self):
        for library, wanted in (("mpich", 0), ("mpich", 3), ("openmpi", 2), ("openmpi", 3)):
            with self.subTest(library, wanted=LEVELS[wanted]):
                store, said = self.run_threads(library, wanted)
                for rank, lines in enumerate(said):
                    level = int(lines[0].removeprefix("level "))
                    self.assertEqual(store.value(f"SELECT thread_level FROM rank WHERE rank = {rank}"), LEVELS[level])
                    truth = {int(tid): int(calls) for _, tid, calls in (line.split() for line in lines[1:])}
                    found = {row["os_thread"]: row["calls"] for row in store.rows(CALLS.format(rank))}
                    self.assertEqual(found, truth)
                    self.assertEqual(store.value(f"SELECT count(*) FROM thread WHERE rank = {rank}"), len(truth))
                self.check_costs(store)


if __name__ == "__main__":
    unittest.main()
