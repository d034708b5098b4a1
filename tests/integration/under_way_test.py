#!/usr/bin/env python3
"""What is shown of a job that hangs is true while it hangs: rank, function, peer and time, by the program's own clock."""

import json
import os
import re
import signal
import time
import unittest

from harness import DEADLINE, Store, WholeSystemTest, mpirun, wait_until
from view_test import Server

HANG_S = 20
RANKS = 4
SECOND = 10**9
# A window, the commit after it, and the second that a busy machine may take. Where it takes longer, the next look counts.
LATE_NS = SECOND // 4 + SECOND
LOOKS = 5
REST_S = 8


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


class Hang:
    """A job of which all ranks but 0 wait in MPI_Recv for HANG_S seconds or longer, until end(); after a rest."""

    def __init__(self, test, library, detail, rest=0):
        """Starts the job in a store of its own. `test` is a WholeSystemTest."""
        self.library, self.detail = library, detail
        self.store = Store(test.folder / f"{library}-{detail}.db")
        self.prefix = test.folder / f"{library}-{detail}"
        self.job = test.start("run", "--store", self.store.path, "--detail", detail, "--",
                              *mpirun(library, RANKS, "hang", HANG_S, self.prefix, rest))

    def wait(self):
        """Returns when all ranks but 0 wait. self.began then has each one's time, of the run."""
        times = wait_until(self.program_times, f"all ranks of {self.library} wait")
        self.epoch = self.store.value("SELECT epoch_ns FROM succession")
        self.began = {rank: lines[0] - self.epoch for rank, lines in times.items()}
        return self

    def end(self):
        """The ranks go on; returns what xylem said, at its end."""
        self.prefix.with_name(f"{self.prefix.name}.end").touch()
        return self.job.communicate(timeout=DEADLINE)

    def program_times(self):
        """Rank -> what the program wrote; None until each rank has begun to wait."""
        times = {}
        for rank in range(1, RANKS):
            try:
                lines = self.prefix.with_name(f"{self.prefix.name}.{rank}").read_text().split()
            except OSError:
                return None
            if not lines:
                return None
            times[rank] = [int(line) for line in lines]
        return times

    def run_now(self):
        return time.monotonic_ns() - self.epoch


class UnderWayTest(WholeSystemTest):
    def assert_shown_now(self, hang, server):
        """At this moment, the report, top, the HTTP API and /metrics say it too."""
        def assert_calls_are_true(calls, asked):
            calls = {call["rank"]: call for call in calls}
            self.assertEqual(set(calls), set(range(1, RANKS)))
            for call in calls.values():
                self.assertEqual((call["function"], call["peer"], call["has_ended"]), ("MPI_Recv", 0, False), call)
                self.assertEqual(call["duration_ns"], call["at_ns"] - call["begin_ns"], call)
                self.assertGreater(call["at_ns"], asked - LATE_NS, call)
                self.assertLessEqual(call["at_ns"], hang.run_now(), call)

        asked = hang.run_now()
        report = json.loads(self.xylem("report", hang.store.path, "--json").stdout)
        assert_calls_are_true(report["under_way"], asked)
        shares = {rank["rank"]: rank["share"] for rank in report["shares"][0]["shown"]}
        since = {row["rank"]: row["since_ns"] for row in hang.store.rows("SELECT rank, since_ns FROM rank")}
        at_least = {rank: (asked - LATE_NS - hang.began[rank] - SECOND) / (hang.run_now() - since[rank])
                    for rank in range(1, RANKS)}
        self.assertLess(shares[0], 0.5, "rank 0 is not in MPI")
        for rank, share in at_least.items():
            self.assertTrue(share < shares[rank] <= 1, (rank, share, shares))
        text = self.xylem("report", hang.store.path).stdout
        self.assertIn(f"\nUnder way: {RANKS - 1} calls have not returned\n", text)
        self.assertRegex(text, r"(?m)^ +1  MPI_Recv +[\d.]+ s ")

        text = self.xylem("top", hang.store.path, "--once", "--pane", "ranks", env={"COLUMNS": "160"}).stdout
        for rank, share in at_least.items():
            shown = re.search(rf"(?m)^ +{rank} .*? ([\d.]+) % .* ([\d.]+) s MPI_Recv 0 ", text)
            self.assertTrue(shown, text)
            self.assertGreater(float(shown.group(1)), 100 * share - 0.1, text)
            self.assertGreater(float(shown.group(2)) * SECOND, asked - LATE_NS - hang.began[rank] - SECOND, text)

        asked = hang.run_now()
        assert_calls_are_true(server.get("under_way")["calls"], asked)
        grid = server.get("ranks", columns=2000)
        self.assertEqual(grid["slot_ns"], SECOND // 4)
        full = range((max(hang.began.values()) + SECOND) // grid["slot_ns"] + 1, (asked - LATE_NS) // grid["slot_ns"])
        for row in grid["rows"]:
            watched = [ns for n, ns in row["watched"] for _ in range(n)]
            for slot in full:
                self.assertEqual(watched[slot], grid["slot_ns"], row)
                self.assertEqual(row["cells"][slot], grid["slot_ns"] if row["first_rank"] != 0 else 0, row)
        if hang.detail == "trace":
            timeline = server.get("timeline", begin_ns=asked - 3 * SECOND, end_ns=asked)
            self.assertEqual(timeline["detail"], "calls")
            self.assertEqual({call["rank"] for call in timeline["calls"] if call.get("is_open")}, set(range(1, RANKS)))

        metrics = server.ask("/metrics", Accept="text/plain")[2].decode()
        values = dict(re.findall(r"(?m)^(xylem_(?:ranks_in_call|longest_call_under_way_seconds)\{.*\}) (\S+)$", metrics))
        for limit in (1, 10, 60, 600):
            fewest = sum(asked - LATE_NS - began > (limit + 1) * SECOND for began in hang.began.values())
            most = sum(hang.run_now() - began > limit * SECOND for began in hang.began.values())
            told = int(values[f'xylem_ranks_in_call{{world="0",longer_than_seconds="{limit}"}}'])
            self.assertTrue(fewest <= told <= most, (limit, fewest, told, most))
        longest = float(values['xylem_longest_call_under_way_seconds{world="0"}']) * SECOND
        self.assertTrue(asked - LATE_NS - SECOND < longest + min(hang.began.values()) <= hang.run_now(), metrics)

    def assert_true_now(self, hang):
        """At this moment: who waits since when for whom, and the time in MPI up to now."""
        asked = hang.run_now()
        rows = {row["rank"]: row for row in hang.store.rows("SELECT * FROM under_way WHERE function = 'MPI_Recv'")}
        self.assertEqual(set(rows), set(range(1, RANKS)))
        for rank, row in rows.items():
            self.assertEqual((row["function"], row["peer"], row["comm"], row["thread"]), ("MPI_Recv", 0, 0, 0), row)
            # Between the program's reading and the call there is nothing but a line to a file.
            self.assertGreaterEqual(row["begin_ns"], hang.began[rank] - 1000, row)
            self.assertLess(row["begin_ns"] - hang.began[rank], SECOND, row)
            self.assertLessEqual(row["at_ns"], hang.run_now(), row)
            self.assertGreater(row["at_ns"], asked - LATE_NS, row)
            told = hang.store.value(f"SELECT time_ns FROM function_total WHERE rank = {rank} AND function = 'MPI_Recv'")
            self.assertGreater(told, asked - LATE_NS - row["begin_ns"], row)
            self.assertLessEqual(told, hang.run_now() - row["begin_ns"], row)
            self.assertEqual(hang.store.value("SELECT calls FROM function_total"
                                              f" WHERE rank = {rank} AND function = 'MPI_Recv'"), 0)
        full = hang.store.rows(
            "SELECT rank, begin_ns, sum(time_ns) AS time FROM profile_window WHERE function = 'MPI_Recv'"
            f" AND begin_ns >= {max(hang.began.values()) + SECOND // 2} GROUP BY rank, begin_ns")
        self.assertTrue(full)
        for row in full:
            self.assertEqual(row["time"], SECOND // 4, row)

    def assert_true_afterwards(self, hang):
        self.assertEqual(hang.store.rows("SELECT * FROM under_way"), [])
        times = hang.program_times()
        for rank, (began, ended) in times.items():
            row, = hang.store.rows(f"SELECT * FROM function_total WHERE rank = {rank} AND function = 'MPI_Recv'")
            self.assertEqual(row["calls"], 1)
            self.assertEqual(row["time_ns"], row["max_ns"])
            self.assertLessEqual(row["time_ns"], ended - began)
            self.assertGreater(row["time_ns"], ended - began - SECOND)
        sums = hang.store.rows(
            "SELECT t.rank, t.function, t.time_ns, w.time FROM function_total t JOIN (SELECT rank, function,"
            " sum(time_ns) AS time FROM profile_window GROUP BY 1, 2) w ON w.rank = t.rank AND w.function = t.function")
        self.assertTrue(sums)
        for row in sums:
            self.assertEqual(row["time"], row["time_ns"], row)
        longest = hang.store.rows("SELECT rank, begin_ns, sum(time_ns) AS time, max(end_ns) - begin_ns AS length"
                                  " FROM profile_window GROUP BY 1, 2 HAVING time > length")
        self.assertEqual(longest, [], "a window has more time than it is long")
        for row in hang.store.rows("SELECT * FROM rank"):
            self.assertEqual(row["threads"], 1, row)
            self.assertLess(row["since_ns"], min(hang.began.values()), row)
            self.assertGreater(row["until_ns"], row["since_ns"] + HANG_S * SECOND, row)
        if hang.detail == "trace":
            self.assertEqual(hang.store.rows(
                "SELECT * FROM (SELECT rank, begin_ns, lag(end_ns) OVER (PARTITION BY rank, thread ORDER BY end_ns,"
                " begin_ns) AS before FROM event) WHERE begin_ns < before"), [], "calls of one thread overlap")
            self.assertEqual(hang.store.rows(
                "SELECT e.rank, e.function, e.time, t.time_ns FROM (SELECT rank, function, sum(end_ns - begin_ns) AS time"
                " FROM event WHERE calls = 1 GROUP BY 1, 2) e JOIN function_total t ON t.rank = e.rank"
                " AND t.function = e.function WHERE NOT t.estimated AND e.time <> t.time_ns"), [])
        self.assertEqual(hang.store.rows("SELECT DISTINCT offset_ns, error_ns FROM clock"),
                         [{"offset_ns": 0, "error_ns": 0}])

    def look(self, hang, server):
        for looks_left in reversed(range(LOOKS)):
            try:
                self.assert_true_now(hang)
                self.assert_shown_now(hang, server)
                return
            except AssertionError:
                if looks_left == 0:
                    raise

    def assert_hangs_are_true(self, detail):
        """One job of each MPI, at the same time."""
        hangs = [Hang(self, library, detail) for library in ("mpich", "openmpi")]
        servers = {hang: Server(self, hang.wait().store.path) for hang in hangs}
        for seconds in (4, 9, 14):
            for hang, server in servers.items():
                with self.subTest(library=hang.library, seconds=seconds):
                    wait_until(lambda: hang.run_now() >= max(hang.began.values()) + seconds * SECOND,
                               f"{seconds} s have passed")
                    self.look(hang, server)
        for hang, server in servers.items():
            with self.subTest(library=hang.library, seconds="afterwards"):
                out, errors = hang.end()
                self.assertEqual(hang.job.returncode, 0, errors + out)
                self.assert_true_afterwards(hang)
                self.assertEqual(server.get("under_way")["calls"], [])
                self.assertNotIn("Under way", self.xylem("report", hang.store.path).stdout)
                server.stop(self)
                self.assert_adds_up(hang.store)
        self.assert_nothing_left()

    def test_the_report_says_in_which_call_a_rank_was_killed(self):
        hang = Hang(self, "openmpi", "profile").wait()
        wait_until(lambda: hang.run_now() >= hang.began[2] + 2 * SECOND, "2 s have passed")
        os.kill(hang.store.value("SELECT pid FROM rank WHERE rank = 2"), signal.SIGKILL)
        killed = hang.run_now()
        hang.job.communicate(timeout=DEADLINE)
        self.assertNotEqual(hang.job.returncode, 0)
        report = json.loads(self.xylem("report", hang.store.path, "--json").stdout)
        call, = [call for call in report["under_way"] if call["rank"] == 2]
        self.assertEqual((call["function"], call["peer"], call["has_ended"]), ("MPI_Recv", 0, True))
        self.assertLess(abs(call["at_ns"] - killed), LATE_NS)
        self.assertRegex(self.xylem("report", hang.store.path).stdout, r"(?m)^ +2  MPI_Recv .* the rank ended in it$")
        self.assertEqual(hang.store.rows("SELECT * FROM under_way WHERE rank = 2"), [])
        self.assert_nothing_left()

    def test_calls_after_a_rest_are_shown_as_soon_as_others(self):
        """The agent sleeps after 2 s without calls."""
        hang = Hang(self, "openmpi", "profile", rest=REST_S)
        agent = wait_until(self.agent_that_sleeps, "the agent sleeps")
        hang.wait()
        wait_until(lambda: hang.run_now() > max(hang.began.values()) + LATE_NS + SECOND, "a window of the calls is stored")
        for looks_left in reversed(range(LOOKS)):
            wait_until(lambda: hang.store.rows("SELECT * FROM under_way"), "a call is shown")
            try:
                self.assert_true_now(hang)
                break
            except AssertionError:
                if looks_left == 0:
                    raise
        self.assertEqual(threads_of(agent), 1, "the agent still sleeps")
        out, errors = hang.end()
        self.assertEqual(hang.job.returncode, 0, errors + out)
        self.assert_true_afterwards(hang)
        self.assert_adds_up(hang.store)
        self.assert_nothing_left()

    def agent_that_sleeps(self):
        """The worker of an agent, which has a second thread while it sleeps."""
        return next((pid for pid, command in self.own_processes().items()
                     if "xylem-backend" in command and threads_of(pid) == 2), None)

    def test_windows(self):
        self.assert_hangs_are_true("profile")

    def test_events(self):
        self.assert_hangs_are_true("trace")


if __name__ == "__main__":
    unittest.main(verbosity=2)
