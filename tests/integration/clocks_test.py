#!/usr/bin/env python3
"""Hosts whose clocks differ by thousands of seconds: the store has the differences and their largest
error, and no message is received before it was sent. Needs root."""

import statistics
import unittest

from emulated_cluster import EmulatedClusterTest
from harness import PROGRAMS, XYLEM, Store

SKEW_NS = 1000 * 10**9  # Host number i is so much times i ahead of the head.
MESSAGES = 3000  # From each rank to the next, about one in a millisecond: the tree is made meanwhile.


class Clocks(EmulatedClusterTest):
    HOSTS = 4
    OPTIONS = ("--skew",)
    NETWORK = "10.88"

    def run_ring(self, *options):
        job = self.open_mpi({host: 1 for host in self.hosts()}, PROGRAMS / "numbered.openmpi", "ring", MESSAGES)
        done = self.on("head", XYLEM, "run", "--store", "run.db", "--detail", "trace", "--sample", "none", *options,
                       "--", *job)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return Store(self.folder / "run.db")

    def assert_offsets_are_true(self, store):
        """Of every host, each time it was told: the clocks differ by what they were set apart by."""
        told = store.rows("SELECT h.name, c.offset_ns, c.error_ns FROM clock c JOIN host h USING(leaf)")
        self.assertEqual({row["name"] for row in told}, set(self.hosts()))
        for row in told:
            ahead = SKEW_NS * (1 + self.hosts().index(row["name"]))
            self.assertGreater(row["error_ns"], 0, row)
            self.assertLessEqual(abs(row["offset_ns"] + ahead), row["error_ns"], row)
        bounds = [row["error_ns"] for row in told]
        print(f"bound of a host's clock: median {statistics.median(bounds) / 1000:.0f} us, "
              f"largest {max(bounds) / 1000:.0f} us, of {len(bounds)}")

    def assert_order(self, store):
        """A receive never ends before its send began, by more than both bounds."""
        bound = {row["rank"]: row["error"] for row in store.rows(
            "SELECT r.rank, max(c.error_ns) AS error FROM rank r JOIN clock c USING(leaf) GROUP BY r.rank")}
        ends = {}
        for function, time in (("MPI_Isend", "begin_ns"), ("MPI_Recv", "end_ns")):
            for row in store.rows(f"SELECT rank, tag, peer, {time} AS at FROM event WHERE function = '{function}'"):
                sender = row["rank"] if function == "MPI_Isend" else row["peer"]
                ends.setdefault((sender, row["tag"]), {})[function] = row
        self.assertEqual(len(ends), self.HOSTS * MESSAGES)
        took = []
        for (sender, tag), both in ends.items():
            receiver = both["MPI_Recv"]["rank"]
            self.assertEqual(receiver, (sender + 1) % self.HOSTS)
            took.append(both["MPI_Recv"]["at"] - both["MPI_Isend"]["at"])
            self.assertGreaterEqual(took[-1], -bound[sender] - bound[receiver], (sender, tag))
        print(f"from the begin of a send to the end of its receive: shortest {min(took) / 1000:.0f} us, "
              f"median {statistics.median(took) / 1000:.0f} us, of {len(took)}")

    def test_a_receive_is_never_stored_before_its_send_by_more_than_the_bound(self):
        store = self.run_ring("--topology", "flat")
        self.assert_offsets_are_true(store)
        self.assert_order(store)
        self.assert_nothing_on_any_host()

    def test_offsets_add_up_along_the_tree(self):
        store = self.run_ring("--topology", "kary:2")
        self.assertGreater(store.value("SELECT count(*) FROM node WHERE role = 'comm_process'"), 0)
        self.assert_offsets_are_true(store)
        self.assert_order(store)
        self.assert_nothing_on_any_host()


if __name__ == "__main__":
    unittest.main(verbosity=2)
