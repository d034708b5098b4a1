#!/usr/bin/env python3
"""`xylem tree` shows the state of the overlay, live and afterwards: hosts of an emulated cluster are delayed and cut
off, a communication process is killed. Needs root."""

import json
import os
import re
import signal
import subprocess
import unittest

from emulated_cluster import COMM_PROCESS, EmulatedClusterTest
from harness import DEADLINE, XYLEM, environment, wait_until
from served_jobs import ServedJobs

TOPOLOGY = "head:0 => node01:0 node02:0 ;\n"
DELAY_MS = 20


class OverlayWatchesItself(EmulatedClusterTest):
    HOSTS = 5
    NETWORK = "10.81"

    def setUp(self):
        super().setUp()
        (self.folder / "two.topo").write_text(TOPOLOGY)
        self.jobs = ServedJobs(self, "--topology", self.folder / "two.topo")
        self.jobs.start_everywhere()

    def tree(self, *options):
        done = subprocess.run([XYLEM, "tree", self.jobs.store.path, *options], env=environment(), text=True,
                              capture_output=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def nodes(self, *options):
        return json.loads(self.tree("--json", *options))["processes"]

    def line(self, word, *options):
        """What stands behind `word:` on a line of its own."""
        found = re.search(f"^{word}: (.*)$", self.tree(*options), re.MULTILINE)
        return found[1] if found else ""

    def wait_for_line(self, word, pattern, seconds=DEADLINE):
        try:
            wait_until(lambda: re.fullmatch(pattern, self.line(word)), f"{word}: {pattern}", seconds)
        except AssertionError as why:
            self.fail(f"{why}\n{self.tree()}")

    def test_shows_the_delayed_and_the_cut_off_host_and_no_other(self):
        wait_until(lambda: all(n["packets_per_s"] and n["bytes_per_s"] for n in self.nodes()), "rates everywhere")
        for node in self.nodes():
            self.assertEqual(node["state"], "attached", node)
            self.assertIsNotNone(node["queue_bytes"], node)
            self.assertGreater(node["round_trip_ns"], 0, node)
        self.assertEqual((self.line("silent"), self.line("lost")), ("", ""))

        self.cluster("delay", "node03", DELAY_MS)
        # A busy machine may have made it slow before the delay did.
        wait_until(lambda: all(n["round_trip_ns"] >= DELAY_MS * 1_000_000
                               for n in self.nodes() if n["host"] == "node03"), "node03's round trip")
        self.wait_for_line("slow", "back_end on node03; .*")

        self.cluster("partition", "node04")
        self.wait_for_line("silent", "back_end on node04")
        self.wait_for_line("lost", "back_end on node04")
        self.assertEqual(self.line("silent"), "")
        self.assertIn("error: back_end on node04: is silent\n", self.tree())
        lost_at_ns = self.jobs.live.value("SELECT max(at_ns) FROM node_change WHERE state = 'lost'")
        self.cluster("heal")
        self.cluster("delay", "node03", 0)
        wait_until(lambda: self.line("lost") == "" and self.line("slow") == "", "all is well again")

        # Each time it was shown stays in the file.
        self.jobs.stop()
        self.assertRegex(self.tree(), "^.*: ended after ")
        self.assertEqual({n["state"] for n in self.nodes()}, {"left"})
        then = f"{(lost_at_ns + 999_999) // 1_000_000}ms"
        self.assertEqual({n["host"] for n in self.nodes("--at", then) if n["state"] == "lost"}, {"node04"})
        self.assertRegex(self.line("slow", "--at", then), "^back_end on node03;")
        self.jobs.judge()
        self.assert_nothing_on_any_host()

    def test_shows_a_killed_communication_process_and_who_found_another_parent(self):
        self.assertEqual(self.tree("--topology"), TOPOLOGY)
        parents = {n["host"]: n["parent"] for n in self.nodes() if n["role"] == "back_end"}
        killed = next(n["id"] for n in self.nodes() if n["role"] == "comm_process" and n["host"] == "node02")
        orphans = sorted(host for host, parent in parents.items() if parent == killed)
        self.assertGreater(len(orphans), 1, parents)
        pid, = self.processes_of(COMM_PROCESS, "node02")
        os.kill(pid, signal.SIGKILL)
        self.wait_for_line("lost", "comm_process on node02")
        wait_until(lambda: all(n["parent"] != killed for n in self.nodes()), "all have another parent")
        found = re.search(r"^warning: back_end on (\S+): found another parent", self.tree(), re.MULTILINE)
        told = re.search(r"^error: comm_process on node02: lost: .*$", self.tree(), re.MULTILINE)
        self.assertIsNotNone(told, self.tree())
        self.assertIsNotNone(found, self.tree())

        # What is printed now is a topology again, of the tree as it has healed, and makes the same one.
        printed = self.tree("--topology")
        self.assertEqual(printed, "head:0 => node01:0 ;\n")
        self.jobs.stop()
        self.assertEqual(self.tree("--topology"), printed)
        (self.folder / "printed.topo").write_text(printed)
        self.jobs = ServedJobs(self, "--topology", self.folder / "printed.topo", name="again")
        self.jobs.start_everywhere()
        self.assertEqual(self.tree("--topology"), printed)
        self.jobs.stop()
        self.assert_nothing_on_any_host()

    def test_watch_prints_again_until_the_run_ends(self):
        printed = self.folder / "watch.csv"
        with printed.open("w") as out:
            watch = subprocess.Popen([XYLEM, "tree", self.jobs.store.path, "--watch", "200ms", "--csv"],
                                     env=environment(), stdout=out)
        self.addCleanup(watch.wait)
        self.addCleanup(watch.kill)
        wait_until(lambda: printed.read_text().count("id,role,host") > 1, "two trees are printed while the run is in progress")
        self.jobs.stop()
        self.assertEqual(watch.wait(timeout=DEADLINE), 0)
        out = printed.read_text()
        self.assertNotIn(",attached,", out[out.rindex("id,role,host"):])


if __name__ == "__main__":
    unittest.main(verbosity=2)
