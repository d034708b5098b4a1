"""How long leaves are without a way up when a communication process falls out, in a tree of three levels
over 16 emulated hosts. Needs root.

    XYLEM_BUILD=build/release healing_bench.py

    heal_reset    the process is killed: its neighbours get resets
    heal_silence  it is stopped: they hear nothing any more

An event is a leaf below that process, directly or by another one. Its time runs from the fault until all
that its ranks had called by then, and more, is stored, as another reader of the file sees it: so it
holds the window (250 ms), the wait for other leaves and the commit too. The floor is the same without a
fault. All
communication processes fall out, one after the other, in so many trees as it takes."""

import os
import pathlib
import random
import signal
import statistics
import sys
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("XYLEM_BUILD", str(SOURCE / "build/release"))
sys.path.insert(0, str(SOURCE / "tests/integration"))

from emulated_cluster import COMM_PROCESS, EmulatedClusterTest
from served_jobs import ServedJobs

EVENTS = 60  # Of each kind, at least.
PATIENCE = 30
BARS = {"heal_reset": 1.0, "heal_silence": 5.0}


class Healing(EmulatedClusterTest):
    HOSTS = 16
    NETWORK = "10.82"

    def stored_after(self, leaves):
        """Seconds from now until each of these leaves has stored all that its ranks have called by now,
        and more."""
        called = {pid: calls for job in self.jobs.surviving() for pid, calls, _ in job.counts()}
        began = time.monotonic()
        leaf_of = dict(self.jobs.live.rows("SELECT pid, leaf FROM rank"))
        behind = {pid for pid in called if leaf_of[pid] in leaves}
        took = {}
        while behind:
            stored = dict(self.jobs.live.rows("SELECT pid, stored_calls FROM process"))
            now = time.monotonic()
            for pid in [pid for pid in behind if stored[pid] > called[pid]]:
                behind.discard(pid)
                took[leaf_of[pid]] = now - began  # The last of the leaf's.
            self.assertLess(now - began, PATIENCE, f"ranks {behind} came back to nobody")
            time.sleep(0.005)  # The poll's pace.
        return list(took.values())

    def rest(self):
        """Commits and windows have beats of their own, which a fault shall not follow."""
        time.sleep(random.uniform(0, 0.5))

    def leaves_below(self, node):
        children = self.jobs.live.rows(f"SELECT id, leaf FROM node WHERE parent = {node} AND state = 'attached' "
                                       f"AND id <> {node}")
        found = []
        for child, leaf in children:
            found += self.leaves_below(child) if leaf is None else [leaf]
        return found

    def fall_out(self, how):
        """One after the other, those with leaves below; a stopped one is killed when it is replaced."""
        took = []
        pids = self.processes_of(COMM_PROCESS)
        random.shuffle(pids)
        for pid in pids:
            arguments = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            leaves = self.leaves_below(int(arguments[arguments.index("--node") + 1]))
            self.rest()
            if leaves:
                os.kill(pid, how)
                took += self.stored_after(leaves)
            if how != signal.SIGKILL or not leaves:
                os.kill(pid, signal.SIGKILL)
            self.stored_after([leaf for leaf, in self.jobs.live.rows("SELECT leaf FROM host")])
        return took

    def measure(self, name, how):
        took, floor = [], []
        while len(took) < EVENTS:
            self.jobs = ServedJobs(self, "--topology", "kary:3", name=f"{name}{len(took)}")
            self.jobs.start_everywhere()
            every = [leaf for leaf, in self.jobs.live.rows("SELECT leaf FROM host")]
            for _ in range(4):
                self.rest()
                floor += self.stored_after(every)
            took += self.fall_out(how)
            self.jobs.stop()
            self.assertEqual(self.jobs.judge()[1:], (0, 0), "messages lost, and stored twice")
        p50, p99 = statistics.median(took), statistics.quantiles(took, n=100)[98]
        base50, base99 = statistics.median(floor), statistics.quantiles(floor, n=100)[98]
        print(f"{name}: floor={base99:.2f}s figure={p99:.2f}s ratio={p99 / base99:.1f} bar={BARS[name]:.0f}s "
              f"{'PASS' if p99 <= BARS[name] else 'MISS'}\n"
              f"# p99 of {len(took)} events, median {p50:.2f} s, longest {max(took):.2f} s; floor's median {base50:.2f} s; "
              f"lost=0 twice=0; load average {os.getloadavg()[0]:.1f}", flush=True)

    def test_after_a_reset(self):
        self.measure("heal_reset", signal.SIGKILL)

    def test_after_silence(self):
        self.measure("heal_silence", signal.SIGSTOP)


if __name__ == "__main__":
    unittest.main()
