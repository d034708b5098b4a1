#!/usr/bin/env python3
"""Times of sampled functions are plausible estimates, and are marked as such."""

import json
import unittest

from harness import WholeSystemTest, mpirun


class Sampling(WholeSystemTest):
    def of_iprobe(self, store):
        rows = store.rows("SELECT * FROM function_total WHERE function = 'MPI_Iprobe'")
        self.assertTrue(rows)
        return rows

    def test_a_sampled_function_with_few_calls_has_a_time(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                store = self.run_job(mpirun(library, 1, "behave", "probe", 900), "--overwrite")
                (row,) = self.of_iprobe(store)
                self.assertEqual(row["calls"], 900)
                self.assertEqual(row["estimated"], 1)
                self.assertGreater(row["time_ns"], 0)
                self.assertGreaterEqual(row["time_ns"], 900 * row["min_ns"])
                self.assertLessEqual(row["time_ns"], 900 * row["max_ns"])

    def test_no_rank_of_a_crowd_that_polls_is_longer_in_mpi_than_it_lived(self):
        store = self.run_job(mpirun("mpich", 4, "behave", "poll", 4))
        self.assertTrue(all(row["estimated"] for row in self.of_iprobe(store)))
        (world,) = json.loads(self.xylem("report", store.path, "--json").stdout)["shares"]
        self.assertEqual(len(world["shown"]), 4)
        for rank in world["shown"]:
            self.assertTrue(rank["estimated"], rank)
            self.assertGreater(rank["share"], 0, rank)
            self.assertLessEqual(rank["share"], 1, rank)
        text = self.xylem("report", store.path).stdout
        self.assertRegex(text, r"least ~[0-9.]+ %")


if __name__ == "__main__":
    unittest.main(verbosity=2)
