#!/usr/bin/env python3
"""Findings of programs whose efficiencies are known, compared with sums over single events."""

import json
import unittest

from harness import Store, WholeSystemTest, mpirun
from view_test import Server

START = ("MPI_Init", "MPI_Init_thread")


class FindingsTest(WholeSystemTest):
    def findings_of(self, store):
        done = self.xylem("report", store.path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(len(report["efficiencies"]), 1)
        return report["efficiencies"][0], report["findings"]

    def from_events(self, store):
        """The same by another way: the useful time of a rank is the sum of the gaps between its calls."""
        begins, ends, useful = [], [], {}
        ranks = [row["rank"] for row in store.rows("SELECT DISTINCT rank FROM rank")]
        for rank in ranks:
            calls = store.rows(f"SELECT function, begin_ns, end_ns FROM event WHERE rank = {rank} ORDER BY begin_ns")
            names = [call["function"] for call in calls]
            first = max(at for at, name in enumerate(names) if name in START)
            last = names.index("MPI_Finalize")
            useful[rank] = sum(after["begin_ns"] - before["end_ns"]
                               for before, after in zip(calls[first:last], calls[first + 1:last + 1]))
            begins.append(calls[first]["end_ns"])
            ends.append(calls[last]["begin_ns"])
        runtime = max(ends) - min(begins)
        mean, most = sum(useful.values()) / len(useful), max(useful.values())
        return {"load_balance": mean / most, "communication_efficiency": most / runtime, "parallel_efficiency": mean / runtime,
                "runtime": runtime, "slowest": max(useful, key=useful.get)}

    def compare(self, store):
        told, findings = self.findings_of(store)
        wanted = self.from_events(store)
        for name in ("load_balance", "communication_efficiency", "parallel_efficiency"):
            self.assertAlmostEqual(told[name], wanted[name], delta=0.02, msg=(name, told, wanted))
        self.assertAlmostEqual(told["runtime_ns"] / wanted["runtime"], 1, delta=0.02, msg=(told, wanted))
        self.assertAlmostEqual(told["load_balance"] * told["communication_efficiency"], told["parallel_efficiency"], places=6)
        return told, findings, wanted

    def test_an_uneven_job_names_its_slowest_rank_and_its_efficiency(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                store = self.run_job(mpirun(library, 4, "known_times", "uneven", 15, 200, 100), "--detail", "trace",
                                     "--overwrite")
                told, findings, wanted = self.compare(store)
                # Rank 0 computes 3 s, the others 1.5 s each: the mean is 1.875 s.
                self.assertAlmostEqual(told["load_balance"], 0.625, delta=0.05)
                self.assertGreater(told["communication_efficiency"], 0.85)
                self.assertEqual((told["slowest_rank"], wanted["slowest"]), (0, 0))
                slow, = (finding for finding in findings if finding["kind"] == "imbalance")
                self.assertEqual((slow["rank"], slow["severity"]), (0, "warning"))
                self.assertIn("rank 0 computes longest: 3.", slow["text"])
                self.assertAlmostEqual(slow["value"], (told["max_useful_ns"] - told["mean_useful_ns"]) / told["runtime_ns"],
                                       places=6)
                report = self.xylem("report", store.path).stdout
                self.assertRegex(report, r"(?s)record .*?\n\nFindings\n  parallel efficiency .*\n\nAccount\n")

    def test_ranks_that_compute_in_turn_are_told_with_who_waits_for_whom(self):
        store = self.run_job(mpirun("mpich", 4, "known_times", "turn", 10, 60), "--detail", "trace")
        told, findings, _ = self.compare(store)
        # One of four computes at a time. On a busy machine the next one begins late.
        self.assertLess(told["parallel_efficiency"], 0.27)
        self.assertGreater(told["parallel_efficiency"], 0.1)
        serial, = (finding for finding in findings if finding["kind"] == "serialised")
        self.assertAlmostEqual(serial["value"], 4 * told["parallel_efficiency"], places=5)
        wait, = (finding for finding in findings if finding["kind"] == "wait")
        self.assertEqual(wait["peer"], (wait["rank"] - 1) % 4, "each waits for the rank before")
        self.assertFalse(wait["estimated"])
        self.assertEqual((wait["wait_kind"], wait["function"]), ("late_sender", "MPI_Recv"))
        waited = store.value(f"SELECT sum(time_ns) FROM wait_state WHERE rank = {wait['rank']} AND root_rank = {wait['root_rank']}")
        self.assertAlmostEqual(wait["value"], waited / told["runtime_ns"], delta=0.02)

    def test_the_server_and_the_end_of_the_run_name_the_same_waits_as_the_report(self):
        path = self.folder / "turn.db"
        done = self.xylem("run", "--detail", "trace", "--store", path, "--", *mpirun("mpich", 4, "known_times", "turn", 10, 60))
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(self.xylem("report", path, "--json").stdout)
        texts = [finding["text"] for finding in report["findings"]]
        self.assertRegex(" ".join(texts), r"rank \d waits .*for rank \d.* of MPI_Recv \(late sender\)")
        for text in texts[:3]:
            self.assertIn(f"xylem: {text}\n", done.stderr)
        top = json.loads(self.xylem("top", path, "--json").stdout)
        self.assertEqual(top["overview"]["findings"], report["findings"])
        server = Server(self, path)
        for view in ("findings", "overview"):
            self.assertEqual(server.get(view)["findings"], report["findings"])
        self.assertEqual(server.get("overview")["wait_states"], report["wait_states"])

    def test_without_a_trace_waits_are_an_estimate_with_its_share(self):
        store = self.run_job(mpirun("mpich", 4, "known_times", "turn", 10, 60), "--detail", "profile")
        _, findings = self.findings_of(store)
        wait, = (finding for finding in findings if finding["kind"] == "wait")
        self.assertTrue(wait["estimated"])
        self.assertIsNone(wait["wait_kind"])
        in_mpi = store.value("SELECT sum(time_ns) FROM function_total WHERE function NOT IN ('MPI_Init', 'MPI_Finalize')")
        self.assertAlmostEqual(wait["covered"], store.value("SELECT sum(time_ns) FROM wait_matrix") / in_mpi, places=3)
        self.assertIn(f"(estimated from receives, {100 * wait['covered']:.0f} % of the time in MPI)", wait["text"])

    def test_what_a_process_does_after_finalize_is_not_part_of_it(self):
        store = self.run_job(mpirun("mpich", 2, "known_times", "after", 20, 100, 2000), "--detail", "trace")
        told, _, _ = self.compare(store)
        self.assertLess(told["runtime_ns"], 3e9)

    def test_an_even_job_is_one_sentence_at_the_end_of_the_run_too(self):
        for _ in range(20):
            done = self.xylem("run", "--overwrite", "--store", self.folder / "even.db", "--detail", "profile", "--",
                              *mpirun("mpich", 2, "known_times", "uneven", 20, 100, 100))
            self.assertEqual(done.returncode, 0, done.stderr)
            # A job is even only where both ranks get a processor all the time.
            if self.findings_of(Store(self.folder / "even.db"))[0]["parallel_efficiency"] > 0.93:
                break
        ours = [line for line in done.stderr.splitlines() if line.startswith("xylem: ")]
        account = next(at for at, line in enumerate(ours) if "calls captured" in line)
        self.assertEqual(len(ours), account + 2, ours)
        self.assertRegex(ours[-1], r"^xylem: nothing stands out: parallel efficiency \d+ % = load balance \d+ % x "
                                   r"communication efficiency \d+ % \(2 ranks, [\d.]+ s\)$")
        quiet = self.xylem("run", "--quiet", "--overwrite", "--store", self.folder / "even.db", "--",
                           *mpirun("mpich", 4, "known_times", "uneven", 18, 200, 20))
        self.assertNotIn("xylem:", quiet.stderr)

    def test_an_imbalance_in_a_run_of_four_seconds_is_printed_while_the_job_runs(self):
        done = self.xylem("run", "--store", self.folder / "four.db", "--",
                          *mpirun("mpich", 4, "known_times", "uneven", 20, 200, 20))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        alert = next(at for at, line in enumerate(lines) if line.startswith("xylem: alert: rank 0 is in MPI "))
        account = next(at for at, line in enumerate(lines) if "calls captured" in line)
        self.assertLess(alert, account, lines)
        self.assertIn("the others wait for it", lines[alert])


if __name__ == "__main__":
    unittest.main(verbosity=2)
