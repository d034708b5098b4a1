#!/usr/bin/env python3
"""`xylem predict` on recorded runs of programs whose times and messages are known by construction."""

import json
import unittest

from harness import WholeSystemTest, mpirun

RANKS = 4
LIBRARIES = ("mpich", "openmpi")
# A network that takes next to no time: what is predicted is the computing.
FAST = """
[network]
latency_ns = 100
overhead_ns = 10
gap_ns = 10
gap_per_byte_ns = 0.01
overhead_per_byte_ns = 0
eager_bytes = 65536
"""
SLOW = FAST.replace("latency_ns = 100\n", "latency_ns = 10000000\n")


class PredictedRuns(WholeSystemTest):
    def predict(self, source, *options, target=FAST):
        path = self.folder / "target.toml"
        path.write_text(target)
        done = self.xylem("predict", source, "--target", path, "--json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def without_rate(found):
        return {key: value for key, value in found.items() if key != "events_per_s"}

    def test_ranks_that_compute_in_turn(self):
        """A token goes round; each computes for 60 ms of processor time. So the makespan is the sum, on any fast network."""
        rounds, ms = 6, 60
        for library in LIBRARIES:
            with self.subTest(library):
                store = self.run_job(mpirun(library, RANKS, "known_times", "burn", rounds, ms), "--detail", "trace",
                                     name=f"{library}.db")
                found = self.predict(store.path)
                truth = rounds * RANKS * ms * 1e6
                # On a busy machine, ranks wait for a processor while they compute. This is left out only if it is certain.
                recorded = store.value("SELECT max(begin_ns) FROM event WHERE function = 'MPI_Finalize'") - store.value(
                    "SELECT min(end_ns) FROM event WHERE function IN ('MPI_Init', 'MPI_Init_thread')")
                self.assertGreater(found["makespan_ns"], 0.9 * truth)
                self.assertLess(found["makespan_ns"], 1.01 * recorded)
                self.assertEqual(found["unreceived"], 0)
                files = self.folder / "turn.goal", self.folder / "turn.ti"
                self.predict(store.path, "--write-goal", files[0], "--write-ti", files[1])
                for file in files:
                    self.assertEqual(self.without_rate(self.predict(file)), self.without_rate(found))
                # The token's messages, and those of the barriers: at least two rounds of one message for each rank.
                sent = store.value("SELECT count(*) FROM message")
                self.assertEqual(sent, rounds * RANKS - 1)
                barriers = store.value("SELECT count(*) FROM collective")
                self.assertEqual(found["messages"], sent + barriers * RANKS * 2)
                # A network that is slower by about 10 ms delays each hop of the token, and each round of the barrier.
                slow = self.predict(store.path, target=SLOW)
                hops = sent + 2 * barriers
                self.assertAlmostEqual((slow["makespan_ns"] - found["makespan_ns"]) / 1e7, hops, delta=2 * barriers + 0.1)

    def test_random_messages(self):
        """Messages of all modes on several communicators: all are replayed, whatever the network."""
        for library in LIBRARIES:
            with self.subTest(library):
                store = self.run_job(mpirun(library, RANKS, "messages", 6, 20, 1, 0), "--detail", "trace",
                                     name=f"{library}.db")
                found = self.predict(store.path)
                self.assertEqual(found["unreceived"], 0)
                self.assertGreaterEqual(found["messages"], store.value("SELECT count(*) FROM message"))
                done = self.xylem("predict", store.path, "--write-goal", self.folder / "random.goal")
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "rank [0-3], operation [0-9]+: (synchronous|buffered) send: GOAL cannot express it")
                self.assertGreater(self.predict(store.path, target=SLOW)["makespan_ns"], found["makespan_ns"])

    def test_a_run_without_a_whole_trace_is_refused(self):
        (self.folder / "target.toml").write_text(FAST)
        job = mpirun("openmpi", 2, "known_times", "turn", 40, 1)
        for options, sentence in (
                ((), "the run has no trace; record it with: xylem run --detail trace"),
                (("--detail", "trace", "--sample", "MPI_Send=10"), "MPI_Send: the function was sampled; record the run again")):
            with self.subTest(options):
                store = self.run_job(job, "--overwrite", *options)
                done = self.xylem("predict", store.path, "--target", self.folder / "target.toml")
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn(sentence, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
