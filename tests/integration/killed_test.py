#!/usr/bin/env python3
"""Processes of xylem that are killed or stopped while a job runs: the job does not notice, and missing
data is counted."""

import contextlib
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import time
import unittest

from harness import DEADLINE, XYLEM, Own, Store, WholeSystemTest, environment, mpirun, random_seed, wait_until, xylem_processes


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def sockets_of(pid):
    """The kernel's names of a process's sockets, listening ones and pipes to its parent among them."""
    names = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.add(os.readlink(entry))
        except OSError:  # Closed meanwhile.
            pass
    return {name for name in names if name.startswith("socket:")}


class KilledTest(WholeSystemTest):
    ATTACHED = ("SELECT count(*) FROM node b JOIN node p ON p.id = b.parent "
                "WHERE b.role = 'back_end' AND p.role = 'comm_process'")
    STORED = "SELECT coalesce(sum(stored), 0) FROM account"

    def start_job(self, seconds, *options, library="mpich", ranks=2, command=None):
        """A job that says "done" when it has ended well, with data stored already."""
        job = command or mpirun(library, ranks, "behave", "loop", seconds)
        self.process = self.start("run", "--store", "run.db", "--detail", "trace", *options, "--", "sh", "-c",
                                  '"$@" && echo done', "sh", *job)
        self.store = Store(self.folder / "run.db")
        self.unseen = ""
        try:
            wait_until(self.seen, "data of the job is stored")
        except AssertionError as why:
            self.process.kill()
            self.fail(f"{why}; {self.unseen}; {self.process.communicate()}")
        return self.process

    def seen(self):
        try:
            return self.store.value(self.STORED) > 0
        except AssertionError as why:  # No store yet, or no account in it.
            self.unseen = str(why)
            return False

    def processes(self, name):
        return [pid for pid in self.own_processes() if name_of(pid) == name]

    def kill(self, name, how=signal.SIGKILL, number=0):
        pids = sorted(self.processes(name))
        self.assertGreater(len(pids), number, xylem_processes())
        os.kill(pids[number], how)
        return pids[number]

    def finish(self, seconds=DEADLINE):
        """Waits for the job; it must have ended well. Returns what xylem said."""
        out, said = self.process.communicate(timeout=seconds)
        self.assertEqual((self.process.returncode, out), (0, "done\n"), said)
        self.assert_intact(self.store)
        return said

    def assert_all_stored(self):
        account, events = self.store.account(), self.store.rows("SELECT * FROM account_event")
        self.assertTrue(account)
        self.assertEqual(len(events), len(account))
        for line in account:
            self.assertEqual((line["captured"], line["lost"], line["complete"]), (line["stored"], 0, 1), line)
        for line in events:
            self.assertEqual((line["events"], line["lost_events"], line["complete"]),
                             (line["stored_events"], 0, 1), line)
            self.assertEqual(line["calls"], line["stored_calls"], line)


class Agents(KilledTest):
    def kill_one(self, name, library="mpich"):
        self.start_job(4, library=library)
        self.kill(name)
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()

    def test_a_killed_worker_loses_nothing(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                self.kill_one("xylem-backend", library)
                os.unlink(self.folder / "run.db")

    def test_a_killed_guard_loses_nothing(self):
        self.kill_one("xylem-guard")

    def test_a_stopped_guard_keeps_nobody(self):
        self.start_job(3)
        stopped = self.kill("xylem-guard", signal.SIGSTOP)
        self.finish()
        self.assertNotIn(stopped, xylem_processes())
        self.assert_all_stored()
        self.assert_nothing_left()

    def test_a_stopped_worker_is_waited_for_in_vain_and_leaves_nothing_when_it_goes_on(self):
        self.start_job(3)
        worker = self.kill("xylem-backend", signal.SIGSTOP)
        said = self.finish()
        self.assertRegex(said, "not everything|missing|incomplete|lost", "what is missing is said")
        for line in self.store.account():
            self.assertLessEqual(line["stored"] + line["lost"], line["captured"], line)
            self.assertFalse(line["complete"], line)
        os.kill(worker, signal.SIGCONT)
        self.assert_nothing_left(seconds=90)

    def test_guard_and_worker_killed_together_leave_no_folder(self):
        self.start_job(3)
        for name in ("xylem-guard", "xylem-backend"):
            self.kill(name)
        self.finish()
        for line in self.store.account():
            self.assertLessEqual(line["stored"] + line["lost"], line["captured"], line)
            self.assertFalse(line["complete"], line)
        self.assert_nothing_left()

    def test_with_a_wrong_key_the_agent_says_so_and_ends_while_the_job_runs(self):
        log = self.folder / "agent.log"
        job = mpirun("mpich", 2, "behave", "loop", 6)
        process = self.start("run", "--store", "run.db", "--", "env", f"XYLEM_KEY={'0' * 64}",
                             f"XYLEM_LOG_FILE={log}", *job)
        wait_until(lambda: log.exists() and "refuses this agent" in log.read_text(), "the agent says so")
        wait_until(lambda: not self.processes("xylem-guard"), "the agent has ended")
        self.assertIsNone(process.poll(), "long before the job")
        _, said = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, 0, said)
        self.assertRegex(said, "connection refused.*key")
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left()


class CommProcesses(KilledTest):
    def test_a_killed_one_loses_nothing(self):
        self.start_job(15, "--test-size", "4", "--topology", "kary:2", library="openmpi", ranks=4)
        wait_until(lambda: len(self.processes("xylem-commproc")) >= 2, "communication processes run")
        wait_until(lambda: self.store.value(self.ATTACHED) == 4, "all agents are below them")
        killed = xylem_processes()[sorted(self.processes("xylem-commproc"))[0]].split()
        node = int(killed[killed.index("--node") + 1])
        self.assertGreater(self.store.value(f"SELECT count(*) FROM node WHERE parent = {node}"), 0)
        self.kill("xylem-commproc")
        wait_until(lambda: self.store.value(f"SELECT count(*) FROM node WHERE parent = {node}") == 0,
                   "who was below it is below another node")
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()


class FrontEnd(KilledTest):
    def front_end(self):
        """The one that runs now; waited for where a dead one has no successor yet."""
        return wait_until(lambda: self.processes("xylem-frontend"), "a front end runs")[0]

    def wait_for_stored(self, more_than):
        """More of the job is stored than that; returns how much."""
        wait_until(lambda: self.store.value(self.STORED) > more_than, "more is stored")
        return self.store.value(self.STORED)

    def wait_for_successor(self, number):
        wait_until(lambda: self.front_ends() == number, f"front end {number} has taken over")

    def kill_as_soon_as_it_took_over(self, number):
        """Asks the file itself all the time: the end takes less than `xylem query` does. It may be done all the same."""
        deadline = time.monotonic() + 60
        with contextlib.closing(sqlite3.connect(f"file:{self.store.path}?mode=ro", uri=True)) as file:
            while self.process.poll() is None:
                self.assertLess(time.monotonic(), deadline, f"front end {number} has not taken over")
                with contextlib.suppress(sqlite3.OperationalError):
                    if file.execute("SELECT front_ends FROM run").fetchone()[0] >= number:
                        break
        with contextlib.suppress(OSError):
            for pid in [child for child in self.children() if name_of(child) == "xylem-frontend"]:
                os.kill(pid, signal.SIGKILL)

    def front_ends(self):
        return self.store.value("SELECT front_ends FROM run")

    def assert_tree(self, back_ends, comm_processes=0):
        """The front end of the table is the last one, and everybody has left."""
        nodes = self.store.rows("SELECT * FROM node ORDER BY id")
        self.assertEqual(nodes[0]["role"], "front_end")
        self.assertEqual([n["role"] for n in nodes].count("back_end"), back_ends, nodes)
        self.assertEqual([n["role"] for n in nodes].count("comm_process"), comm_processes, nodes)
        self.assertEqual({n["state"] for n in nodes[1:]}, {"left"}, nodes)

    def test_killed_it_has_a_successor_that_loses_nothing(self):
        for library in ("mpich", "openmpi"):
            with self.subTest(library):
                self.start_job(4, library=library)
                first = self.kill("xylem-frontend")
                self.wait_for_successor(2)
                self.wait_for_stored(self.store.value(self.STORED))
                second = self.front_end()
                said = self.finish()
                self.assertEqual(said.count("front end died (signal 9)"), 1, said)
                self.assertRegex(said, "complete; run.db")
                self.assert_all_stored()
                self.assert_tree(back_ends=1)
                self.assertEqual(self.store.value("SELECT pid FROM node WHERE role = 'front_end'"), second)
                self.assertNotEqual(first, second)
                self.assert_nothing_left()
                os.unlink(self.folder / "run.db")

    def test_killed_three_times_at_random_moments_it_loses_nothing(self):
        seed = random_seed()
        print(f"seed {seed}")
        chance = random.Random(seed)
        self.start_job(10, "--test-size", "2", library="openmpi", ranks=4)
        for number in (2, 3, 4):
            # Commits come every 200 ms and more often: within two of them it is in one sooner or later.
            moment = time.monotonic() + chance.uniform(0, 0.4)
            wait_until(lambda: time.monotonic() > moment, "the moment has come")
            os.kill(self.front_end(), signal.SIGKILL)
            self.wait_for_successor(number)
        self.finish()
        self.assert_all_stored()
        self.assert_tree(back_ends=2)
        self.assertEqual(self.front_ends(), 4)
        self.assert_nothing_left()

    def test_killed_within_a_commit_it_loses_nothing(self):
        self.start_job(6)
        for number in (2, 3):
            # Its commits wait for this lock, so that it dies in one.
            lock = sqlite3.connect(self.folder / "run.db", timeout=30, isolation_level=None)
            lock.execute("BEGIN IMMEDIATE")
            front_end = self.front_end()
            wait_until(lambda: self.waits_for_the_store(front_end), "it is in a commit")
            os.kill(front_end, signal.SIGKILL)
            lock.execute("ROLLBACK")
            lock.close()
            self.wait_for_successor(number)
            self.wait_for_stored(self.store.value(self.STORED))
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()

    @staticmethod
    def waits_for_the_store(pid):
        """SQLite sleeps between its attempts to get the lock; nothing else in a front end does."""
        threads = pathlib.Path(f"/proc/{pid}/task").iterdir()
        return any("nanosleep" in (thread / "wchan").read_text() for thread in threads)

    def test_killed_again_and_again_while_the_end_is_stored_it_loses_nothing(self):
        self.start_job(3)
        stopped = self.front_end()
        os.kill(stopped, signal.SIGSTOP)  # So that all that is left to store is stored by successors.
        job = [pid for pid in self.children() if name_of(pid) == "sh"]
        wait_until(lambda: not job or not pathlib.Path(f"/proc/{job[0]}").exists(), "the job has ended")
        os.kill(stopped, signal.SIGKILL)
        for number in (2, 3):
            self.kill_as_soon_as_it_took_over(number)
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()

    def children(self):
        listed = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in listed.read_text().split()]

    def test_killed_above_communication_processes_it_loses_nothing(self):
        self.start_job(14, "--test-size", "4", "--topology", "kary:2", library="openmpi", ranks=4)
        wait_until(lambda: self.store.value(self.ATTACHED) == 4, "all agents are below communication processes")
        comm_processes = len(self.processes("xylem-commproc"))
        for number in (2, 3):
            self.kill("xylem-frontend")
            self.wait_for_successor(number)
            self.wait_for_stored(self.store.value(self.STORED))
        self.finish()
        self.assert_all_stored()
        self.assert_tree(back_ends=4, comm_processes=comm_processes)
        self.assert_nothing_left()

    def test_killed_in_a_job_of_two_million_calls_it_loses_nothing(self):
        prefix = self.folder / "own"
        self.start_job(0, "--sample", "none", "--ring", 1 << 20, command=mpirun("mpich", 4, "count_calls", 2_000_000, 1, 7, prefix))
        for number in (2, 3, 4):
            self.kill("xylem-frontend")
            self.wait_for_successor(number)
        self.finish(300)
        self.assert_exact(self.store, Own(prefix, 4))
        self.assert_all_stored()
        self.assert_nothing_left()

    def test_whose_successor_cannot_open_the_store_does_not_harm_the_job(self):
        self.start_job(5)
        stored = [line["stored"] for line in self.store.account()]
        away = self.folder / "away"
        away.mkdir()
        for file in self.folder.glob("run.db*"):
            file.rename(away / file.name)
        self.kill("xylem-frontend")
        said = self.finish_without_a_store()
        self.assertRegex(said, "no front end can take over for now: .*run.db: the store cannot be opened again: "
                               "No such file or directory; the job goes on")
        self.assertEqual(said.count("for now"), 1, said)
        self.assertRegex(said, "front end died before everything was stored")
        self.store = Store(away / "run.db")
        self.assert_intact(self.store)
        self.assertLessEqual(stored, [line["stored"] for line in self.store.account()])
        # Agents look for another front end for a minute, then count what they hold as lost.
        self.assert_nothing_left(seconds=90)

    def finish_without_a_store(self):
        out, said = self.process.communicate(timeout=DEADLINE)
        self.assertEqual((self.process.returncode, out), (0, "done\n"), said)
        return said

    def test_serving_it_has_a_successor_too(self):
        served = self.xylem("serve", "--store", "run.db", "--until-pid", os.getpid())
        self.assertEqual(served.returncode, 0, served.stderr)
        variables = dict(line.removeprefix("export ").split("=", 1) for line in served.stdout.splitlines())
        env = environment(**{name: value.strip("'") for name, value in variables.items()})
        self.store = Store(self.folder / "run.db")
        job = subprocess.Popen(mpirun("mpich", 2, "behave", "loop", 4), env=env, cwd=self.folder)
        self.addCleanup(job.wait)
        wait_until(self.seen, "data of the job is stored")
        self.kill("xylem-frontend")
        self.wait_for_successor(2)
        self.assertEqual(job.wait(timeout=DEADLINE), 0)
        stopped = subprocess.run([XYLEM, "serve", "--stop"], env=env, capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assert_all_stored()
        self.assert_nothing_left()

    def test_stopped_for_longer_than_a_heartbeat_it_loses_nothing(self):
        self.start_job(8)
        front_end = self.kill("xylem-frontend", signal.SIGSTOP)
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + 4, "longer than silence is borne")
        os.kill(front_end, signal.SIGCONT)
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()

    def test_a_commit_that_stalls_breaks_no_link(self):
        self.start_job(14, "--test-size", "4", "--topology", "kary:2", library="openmpi", ranks=4)
        wait_until(lambda: self.store.value(self.ATTACHED) == 4, "all agents are below communication processes")
        front_end, = self.processes("xylem-frontend")
        links, stored = sockets_of(front_end), self.store.value(self.STORED)
        lock = sqlite3.connect(self.folder / "run.db", timeout=30, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() > began + 5, "the store is locked for longer than silence is borne")
        lock.execute("ROLLBACK")
        lock.close()
        wait_until(lambda: self.store.value(self.STORED) > stored, "data is stored again")
        self.assertLessEqual(links, sockets_of(front_end), "a link was broken")
        self.finish()
        self.assert_all_stored()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main(verbosity=2)
