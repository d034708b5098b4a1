#!/usr/bin/env python3
"""Programs with one fault each: the findings name the fault, with the numbers that the events give."""

import json
import os
import unittest

from emulated_cluster import EmulatedClusterTest
from harness import PROGRAMS, XYLEM, Store, WholeSystemTest, mpirun

SLICE_NS = 250_000_000


class BrokenPrograms(WholeSystemTest):
    def findings(self, *job):
        store = self.run_job(mpirun("mpich", *job), "--detail", "trace", "--overwrite")
        found = json.loads(self.xylem("report", store.path, "--json").stdout)
        return store, {finding["kind"]: finding for finding in found["findings"]}, found["efficiencies"][0]

    def useful(self, store, rank, begin, end):
        """Time of a rank outside of its calls."""
        calls = store.rows(f"SELECT begin_ns, end_ns FROM event WHERE rank = {rank} AND end_ns > {begin} AND begin_ns < {end}")
        return end - begin - sum(min(call["end_ns"], end) - max(call["begin_ns"], begin) for call in calls)

    def test_a_moving_imbalance_is_that_of_the_slices(self):
        store, found, world = self.findings(4, "moving_imbalance")
        begin = max(row["b"] for row in store.rows("SELECT min(end_ns) b FROM event WHERE function = 'MPI_Init' GROUP BY rank"))
        end = min(row["e"] for row in store.rows("SELECT begin_ns e FROM event WHERE function = 'MPI_Finalize'"))
        above, at = 0, -(-begin // SLICE_NS) * SLICE_NS
        while at + SLICE_NS <= end:
            useful = [self.useful(store, rank, at, at + SLICE_NS) for rank in range(4)]
            above += max(useful) - sum(useful) / 4
            at += SLICE_NS
        whole = (world["max_useful_ns"] - world["mean_useful_ns"]) / world["runtime_ns"]
        moving = found["moving_imbalance"]
        # The slices at both ends are left out here.
        self.assertAlmostEqual(moving["value"], above / world["runtime_ns"] - whole, delta=0.03)
        self.assertRegex(moving["text"], r"^the slowest rank changes \(0, 1, 2, 3, \.\.\.\): in slices of 250 ms ")
        self.assertNotIn("serialised", found)
        self.assertLess(whole, 0.05)

    def test_a_late_rank_is_named_with_the_time_that_the_others_wait_for_it(self):
        store, found, world = self.findings(4, "late_rank")
        self.assertEqual((found["imbalance"]["rank"], world["slowest_rank"]), (3, 3))
        self.assertRegex(found["imbalance"]["text"], r"^rank 3 computes longest: ")
        wait = found["wait"]
        self.assertEqual((wait["peer"], wait["wait_kind"], wait["function"]), (3, "wait_at_collective", "MPI_Barrier"))
        waited = store.value(f"SELECT sum(time_ns) FROM wait_state WHERE rank = {wait['rank']} AND cause_rank = 3")
        self.assertGreater(waited, 3.9e9)  # By the program 50 times 80 ms.
        self.assertAlmostEqual(wait["value"], waited / world["runtime_ns"], delta=0.01)

    def test_many_small_messages_are_counted_with_their_mean_size(self):
        store, found, _ = self.findings(4, "small_messages")
        messages, payload = store.value("SELECT sum(messages) FROM comm_matrix"), store.value("SELECT sum(bytes) FROM comm_matrix")
        self.assertTrue(found["small_messages"]["text"].startswith(f"{messages:,} messages of {round(payload / messages)} B on average; "),
                        found["small_messages"])

    def test_a_host_with_fewer_cores_than_ranks_is_named(self):
        ranks = len(os.sched_getaffinity(0)) + 4
        store, found, _ = self.findings(ranks, "oversubscribed")
        cores = store.value("SELECT max(value) FROM host_metric WHERE name = 'cores'")
        self.assertEqual(found["oversubscribed"]["value"], ranks / cores)
        self.assertIn(f" has {ranks} ranks on {cores:g} core", found["oversubscribed"]["text"])

    def test_communicators_that_are_not_freed_are_counted(self):
        store, found, _ = self.findings(4, "misused_communicators")
        made = store.value("SELECT count(*) FROM event WHERE function IN ('MPI_Comm_dup', 'MPI_Comm_split')")
        self.assertEqual(found["communicators"]["value"], made / 4)
        self.assertEqual(made / 4, 110)
        self.assertNotIn("serialised", found)

    def test_ranks_that_are_served_one_after_the_other_compute_in_turn(self):
        _, found, _ = self.findings(4, "serialised_sends")
        self.assertRegex(found["serialised"]["text"], r"^ranks compute in turn: .* and for (9\d|100) % of the computing time only one$")
        self.assertNotIn("moving_imbalance", found)


class BadMapping(EmulatedClusterTest):
    HOSTS = 2
    NETWORK = "10.97"

    def test_a_mapping_that_is_worse_than_chance_names_ranks_that_belong_together(self):
        for host in self.hosts():
            self.cluster("rate", host, "1gbit")
        done = self.on("head", XYLEM, "run", "--store", "map.db", "--", *self.open_mpi({host: 2 for host in self.hosts()}),
                       PROGRAMS / "bad_mapping.openmpi")
        self.assertEqual(done.returncode, 0, done.stderr)
        store = self.folder / "map.db"
        found = {finding["kind"]: finding for finding in json.loads(self.xylem("report", store, "--json").stdout)["findings"]}
        mapping = found["mapping"]
        between, whole = Store(store).rows(
            "SELECT sum(bytes) FILTER (WHERE a.leaf <> b.leaf) AS x, sum(bytes) AS y FROM comm_matrix m"
            " JOIN rank a ON a.rank = m.source JOIN rank b ON b.rank = m.destination")[0].values()
        self.assertAlmostEqual(mapping["value"], between / whole, places=6)
        self.assertEqual(abs(mapping["rank"] - mapping["peer"]), 2, "these exchange a MiB in each step")
        self.assertIn("at random it would be 67 %", mapping["text"])
        self.assertNotIn("serialised", found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
