#!/usr/bin/env python3
"""Counts are exact: the stored counts equal those that the programs made of their own calls."""

import json
import unittest

from harness import DEADLINE, Own, WholeSystemTest, mpirun


class Counts(WholeSystemTest):
    def count(self, library, ranks, calls, threads, *options):
        prefix = self.folder / "own"
        store = self.run_job(mpirun(library, ranks, "count_calls", calls, threads, 7, prefix), *options,
                             timeout=DEADLINE)
        own = Own(prefix, ranks)
        self.assert_exact(store, own)
        self.assert_intact(store)
        self.assert_nothing_left()
        return store, own

    def assert_events_equal_calls(self, store, own, count):
        events = {(r["rank"], r["function"]): r["n"] for r in store.rows(
            f"SELECT rank, function, {count} AS n FROM event WHERE kind = 'mpi' GROUP BY rank, function")}
        self.assertEqual(events, own.calls)

    def test_a_million_calls_on_four_ranks_of_open_mpi_with_every_record(self):
        store, own = self.count("openmpi", 4, 1_000_000, 1, "--detail", "trace", "--sample", "none")
        self.assertGreaterEqual(own.total(), 1_000_000)
        self.assert_events_equal_calls(store, own, "count(*)")

    def test_a_million_calls_on_four_ranks_of_mpich_with_every_record(self):
        store, own = self.count("mpich", 4, 1_000_000, 1, "--detail", "trace", "--sample", "none",
                                "--ring", 1 << 20)  # Ranks that never yield, more of them than cores.
        self.assertGreaterEqual(own.total(), 1_000_000)
        self.assert_events_equal_calls(store, own, "count(*)")

    def test_sampled_records_stand_for_all_calls(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                store, own = self.count(library, 4, 100_000, 1, "--detail", "trace", "--overwrite",
                                        "--sample", "MPI_Iprobe=100,MPI_Test=10,MPI_Get_count=50")
                stored = store.value("SELECT sum(calls) FROM function_total")
                self.assertEqual(stored, own.total())
                self.assertLess(store.value("SELECT count(*) FROM event"), own.total())

    def test_four_threads_of_each_rank(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                store, own = self.count(library, 2, 100_000, 4, "--detail", "trace", "--sample", "none",
                                        "--overwrite")
                self.assert_events_equal_calls(store, own, "count(*)")
                self.assertGreaterEqual(store.value("SELECT count(DISTINCT thread) FROM event"), 4)

    def test_shares_of_ranks_with_two_threads_are_of_twice_their_time(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                store, _ = self.count(library, 2, 100_000, 2, "--sample", "none", "--overwrite")
                report = json.loads(self.xylem("report", store.path, "--json").stdout)
                shares = {rank["rank"]: rank for rank in report["shares"][0]["shown"]}
                for rank in store.rows("SELECT rank, threads, until_ns - since_ns AS length FROM rank"):
                    self.assertEqual(rank["threads"], 2, rank)
                    time_ns = store.value(f"SELECT sum(time_ns) FROM function_total WHERE rank = {rank['rank']}")
                    self.assertTrue(0 < time_ns <= 2 * rank["length"], (time_ns, rank))
                    share = shares[rank["rank"]]
                    self.assertEqual((share["mpi_ns"], share["span_ns"]), (time_ns, 2 * rank["length"]))
                    self.assertAlmostEqual(share["share"], time_ns / (2 * rank["length"]))
                self.assertEqual(store.rows(
                    "SELECT rank, begin_ns, sum(time_ns) AS time, max(end_ns) - begin_ns AS length FROM profile_window"
                    " GROUP BY 1, 2 HAVING time > 2 * length"), [], "a window has more time than its two threads have")

    def test_profile_detail_stores_the_same_counts_without_events(self):
        store, _ = self.count("mpich", 4, 100_000, 1)
        self.assertEqual(store.value("SELECT count(*) FROM event"), 0)

    def test_what_a_ring_too_small_loses_is_missing_and_said(self):
        prefix = self.folder / "own"
        store = self.run_job(mpirun("mpich", 4, "count_calls", 200_000, 1, 7, prefix),
                             "--sample", "none", timeout=DEADLINE, env={"XYLEM_RING": "64"})
        own = Own(prefix, 4)
        self.assertEqual(store.value("SELECT sum(captured) FROM account"), own.total())
        self.assertEqual(store.value("SELECT sum(captured - stored - lost) FROM account"), 0)
        sent = [sum(sums) for sums in zip(*own.sends.values())]
        found = store.rows("SELECT sum(messages) AS messages, sum(bytes) AS bytes FROM comm_matrix")[0]
        lost = store.rows("SELECT sum(messages) AS messages, sum(bytes) AS bytes FROM loss "
                          "WHERE part = 'message'")[0]
        self.assertGreater(lost["messages"], 0)
        self.assertEqual([found["messages"] + lost["messages"], found["bytes"] + lost["bytes"]], sent)
        short = "rank IN (SELECT rank FROM loss WHERE part = 'message')"
        self.assertEqual(store.value(f"SELECT count(*) FROM comm_matrix JOIN account "
                                     f"ON rank = source WHERE comm_matrix.complete = ({short})"), 0)
        self.assertRegex(self.xylem("report", store.path).stdout,
                         "messages with .* sent while the ring was full: comm_matrix is short")
        self.assert_nothing_left()

    def test_through_a_tree_on_pretended_hosts(self):
        store, _ = self.count("mpich", 8, 600_000, 1, "--detail", "trace", "--test-size", "8",
                              "--topology", "kary:2")
        nodes = store.rows("SELECT role, count(*) AS n FROM node GROUP BY role ORDER BY role")
        self.assertEqual({r["role"]: r["n"] for r in nodes},
                         {"front_end": 1, "comm_process": 6, "back_end": 8})
        self.assertEqual(store.value("SELECT max(level) FROM node WHERE role = 'comm_process'"), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
