#!/usr/bin/env python3
"""Packets that are given up: every call of every rank is still stored or counted as lost."""

import os
import pathlib
import sqlite3
import unittest

from harness import DEADLINE, Own, Store, WholeSystemTest, mpirun, wait_until

JOURNAL_BYTES = 64 << 20
LONG_RANKS, SHORT_RANKS = 2, 2


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def journal_bytes(pid):
    """How much memory the journal of an agent's process takes."""
    for fd in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        try:
            if "xylem-journal" in os.readlink(fd):
                return os.stat(fd).st_blocks * 512
        except OSError:  # Closed meanwhile.
            continue
    return 0


def processor_ticks(pid):
    """Time that a process has used, in ticks of the kernel's clock."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


class GivenUp(WholeSystemTest):
    """A store that is locked while the agent's journal fills up."""

    def start_job(self):
        long_job = " ".join(mpirun("mpich", LONG_RANKS, "count_calls", 10**11, 1, 5, self.folder / "long"))
        short_job = " ".join(mpirun("mpich", SHORT_RANKS, "count_calls", 20_000, 1, 7, self.folder / "short"))
        script = self.folder / "job.sh"
        script.write_text(f"touch job-has-begun\n{long_job} &\n"
                          "until [ -e go ]; do sleep 0.05; done  # The pace of looking.\n"
                          f"{short_job} && touch short-is-over\nwait\ntouch job-is-over\n")
        script.chmod(0o755)
        self.process = self.start("run", "--store", "run.db", "--detail", "trace", "--", "bash", str(script))
        self.store = Store(self.folder / "run.db")
        wait_until(self.flows, "windows are stored")

    def flows(self):
        return (self.folder / "job-has-begun").exists() and self.store.value("SELECT count(*) FROM profile_window") > 0

    def pids(self, name):
        return sorted(p for p in self.own_processes() if program_of(p) == name)

    def work_of_agent(self):
        """Ticks of the processor that its processes have used."""
        return sum(processor_ticks(pid) for pid in self.pids("xylem-backend"))

    def test_ranks_whose_last_windows_were_given_up_have_a_whole_account(self):
        self.start_job()
        # The front end stores nothing, but answers: without an answer for a minute, the agent would give up.
        lock = sqlite3.connect(self.folder / "run.db", timeout=30, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        try:
            begun = self.work_of_agent()
            (self.folder / "go").touch()
            wait_until((self.folder / "short-is-over").exists, "the short ranks have ended")
            wait_until(lambda: any(journal_bytes(p) > 0.9 * JOURNAL_BYTES for p in self.pids("xylem-backend")),
                       "the journal is almost full")
            # As much work again makes the agent drop what is oldest.
            full = self.work_of_agent()
            wait_until(lambda: self.work_of_agent() > full + (full - begun),
                       "the agent has written more than the journal holds")
            (self.folder / "long.enough").touch()
            wait_until((self.folder / "job-is-over").exists, "the job has ended")
        finally:
            lock.execute("ROLLBACK")
            lock.close()
        _, errors = self.process.communicate(timeout=DEADLINE)
        self.assertEqual(self.process.returncode, 0, errors)
        given_up = self.store.rows("SELECT part, count(*) AS n, sum(calls) AS calls FROM loss"
                                   " WHERE part IN ('window', 'chunk') GROUP BY part")
        account, = (line for line in errors.splitlines() if " calls captured = " in line)
        print(given_up, account, sep="\n", flush=True)
        self.assertIn("window", [row["part"] for row in given_up], "no window was given up: nothing is shown")
        self.assert_whole("long", LONG_RANKS)
        self.assert_whole("short", SHORT_RANKS)
        self.assertRegex(account, r" lost, complete; ")
        self.assert_nothing_left()

    def assert_whole(self, name, ranks):
        """Captured is what the ranks have counted themselves, and none of it is missing from the account."""
        own = Own(self.folder / name, ranks)
        calls = [sum(n for (rank, _), n in own.calls.items() if rank == r) for r in range(ranks)]
        worlds = {row["world"] for row in self.store.rows("SELECT DISTINCT world FROM account")}
        found = [[line for line in self.store.account() if line["world"] == world] for world in sorted(worlds)]
        lines = [of_world for of_world in found if [line["captured"] for line in of_world] == calls]
        self.assertEqual(len(lines), 1, (calls, found))
        for line in lines[0]:
            self.assertEqual(line["stored"] + line["lost"], line["captured"], line)
            self.assertTrue(line["complete"], line)
        for line in self.store.rows(f"SELECT * FROM account_event WHERE world = {lines[0][0]['world']}"):
            self.assertEqual(line["stored_events"] + line["lost_events"], line["events"], line)
            self.assertTrue(line["complete"], line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
