#!/usr/bin/env python3
"""Too much data waits where it was made. If a store, a communication process or a front end stands still, no process
grows beyond its limit and no rank stops, and nothing is lost when it goes on."""

import os
import pathlib
import signal
import sqlite3
import threading
import time
import unittest

from harness import DEADLINE, Store, WholeSystemTest, mpirun, wait_until

# Memory that a process may take beyond what it had when it was first seen; from the bounds of docs/security.md.
BOUNDS = {"xylem-frontend": 160 << 20, "xylem-commproc": 80 << 20, "xylem-backend": 120 << 20}
SECONDS_HELD = 6  # Longer than a peer may be silent.


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


class Watch(threading.Thread):
    """Notes the most that each process ever takes."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.first, self.most, self.over = processes, {}, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.1):  # The pace of looking.
            for pid in self.processes():
                try:
                    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                except OSError:
                    continue
                pss = [int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")]
                if pss and pss[0]:
                    name = (pid, program_of(pid))
                    self.first.setdefault(name, pss[0])
                    self.most[name] = max(self.most.get(name, 0), pss[0])

    def grown(self):
        """Program -> bytes by which the worst of its processes has grown."""
        grown = {}
        for name, most in self.most.items():
            if name[1]:
                grown[name[1]] = max(grown.get(name[1], 0), most - self.first[name])
        return grown


class Flow(WholeSystemTest):
    """Four ranks on four pretended hosts that store every call."""

    def start_job(self, seconds, *options):
        script = self.folder / "job.sh"
        job = " ".join(mpirun("mpich", 4, "paced", "steady", seconds, 20_000, self.folder / "report"))
        script.write_text(f"#!/bin/sh\n{job} && touch job-is-over && echo done\n")
        script.chmod(0o755)
        self.process = self.start("run", "--store", "run.db", "--detail", "trace", "--sample", "none",
                                  "--test-size", "4", "--topology", "kary:2", *options, "--", str(script))
        self.store = Store(self.folder / "run.db")
        self.watch = Watch(lambda: [p for p in self.own_processes() if program_of(p) in BOUNDS])
        self.watch.start()
        self.addCleanup(self.watch.over.set)
        wait_until(self.flows, "windows are stored through the tree")

    def flows(self):
        return ((self.folder / "run.db").exists() and len(self.pids("xylem-commproc")) == 2 and
                self.store.value("SELECT count(*) FROM node WHERE role = 'back_end' AND parent > 0") == 4 and
                self.store.value("SELECT count(*) FROM profile_window") > 0)

    def pids(self, name):
        return sorted(p for p in self.own_processes() if program_of(p) == name)

    def stand_still(self, pid, until):
        """Stops a process for a while, and until a condition holds; then lets it go on."""
        os.kill(pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            wait_until(lambda: time.monotonic() - began > SECONDS_HELD and until(), "the job has gone on")
        finally:
            os.kill(pid, signal.SIGCONT)

    def job_is_over(self):
        return (self.folder / "job-is-over").exists()

    def finish(self):
        output, errors = self.process.communicate(timeout=DEADLINE)
        self.watch.over.set()
        self.watch.join()
        self.assertEqual((self.process.returncode, output), (0, "done\n"), errors)
        grown = self.watch.grown()
        print("; ".join(f"{name} +{grown[name] >> 10} KiB" for name in sorted(grown)), flush=True)
        for name, bound in BOUNDS.items():
            self.assertLess(grown[name], bound, name)
        account = self.store.account()
        self.assertEqual(len(account), 4)
        for line in account:
            self.assertEqual((line["stored"], line["lost"], line["complete"]), (line["captured"], 0, 1), (line, errors))
        for line in self.store.rows("SELECT * FROM account_event"):
            self.assertEqual((line["stored_events"], line["lost_events"]), (line["events"], 0), line)
        self.assert_nothing_left()

    def test_a_store_that_another_holds(self):
        self.start_job(8)
        with sqlite3.connect(self.folder / "run.db", timeout=30, isolation_level=None) as holder:
            holder.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            # The ranks end while nothing can be stored.
            wait_until(lambda: time.monotonic() - began > SECONDS_HELD and self.job_is_over(), "the job ends")
            holder.execute("ROLLBACK")
        holder.close()
        self.finish()

    def test_a_communication_process_that_stands_still(self):
        self.start_job(12)
        before = {}

        def all_have_gone_on():
            """Those below it too: their agents found another parent."""
            captured = {line["rank"]: line["captured"] for line in self.store.account()}
            before.update({rank: calls for rank, calls in captured.items() if rank not in before})
            return len(before) == 4 and all(captured[rank] > before[rank] + 1000 for rank in before)

        all_have_gone_on()
        self.stand_still(self.pids("xylem-commproc")[0], all_have_gone_on)
        self.finish()

    def test_a_front_end_that_stands_still(self):
        self.start_job(8)
        front_end, = self.pids("xylem-frontend")
        self.stand_still(front_end, self.job_is_over)
        self.finish()


if __name__ == "__main__":
    unittest.main()
