#!/usr/bin/env python3
"""A long run at full rate with a fault each second: no process of xylem grows, and the account is exact.
Needs root.

XYLEM_SOAK_SECONDS says how long, XYLEM_SEED repeats a run's draws, XYLEM_CHAOS_TELL=1 prints each fault.

A process has not grown if the median of the last quarter is at most the median of the second plus a twentieth and 2 MiB.
In the first quarter heaps, page caches and rings grow to their size. Front ends and communication processes are killed
only in that quarter, so that the later ones live long enough to show leaks; one host's worker is never killed, for the
same reason. Young workers are small, so for workers that follow one another the largest of each quarter counts."""

import os
import pathlib
import random
import statistics
import threading
import time
import unittest

from chaos_cluster_test import Faults
from emulated_cluster import COMM_PROCESS, FRONT_END, GUARD, WORKER, EmulatedClusterTest
from harness import random_seed, wait_until
from served_jobs import RANKS, ServedJobs

SECONDS = float(os.environ.get("XYLEM_SOAK_SECONDS", 1200))
LOOKS_A_SECOND = 1
ROOM, SHARE = 2 << 20, 1.05
WORKERS_A_MINUTE = 8  # Of a host; ten times is the most that a worker is started anew, see backend/agent/guard.h.


def resident(pid):
    """Bytes, shared memory included; None when it has ended."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return None


class Memory(threading.Thread):
    """What the processes of each place (a program on a host) have, look by look; a successor goes on where its
    predecessor was."""

    def __init__(self, look):
        super().__init__(daemon=True)
        self.look, self.over = look, threading.Event()
        self.began, self.length = time.monotonic(), None
        self.seen = {}  # Place -> [(when, process id, bytes)].

    def run(self):
        while not self.over.wait(1 / LOOKS_A_SECOND):
            now = time.monotonic() - self.began
            for place, pid in self.look():
                if (size := resident(pid)) is not None:
                    self.seen.setdefault(place, []).append((now, pid, size))

    def quarter(self, place, number):
        begin, end = number * self.length / 4, (number + 1) * self.length / 4
        return [size for when, _, size in self.seen[place] if begin <= when < end]

    def stop(self):
        self.length = time.monotonic() - self.began
        self.over.set()
        self.join()

    def verdict(self):
        """(place, processes since the second quarter, its size in that quarter and in the last, the most) of each."""
        lines = []
        for place, looks in sorted(self.seen.items()):
            second, last = self.quarter(place, 1), self.quarter(place, 3)
            if not second or not last:  # A communication process that was killed.
                continue
            processes = len({pid for when, pid, _ in looks if when >= self.length / 4})
            size_of = statistics.median if processes == 1 else max
            lines.append((place, processes, size_of(second), size_of(last), max(size for *_, size in looks)))
        return lines


class ShortFaults(Faults):
    """One each second, most of them over within the next."""

    def __init__(self, test, jobs, chance):
        super().__init__(test, jobs, chance)
        self.spared, self.workers_killed = test.hosts()[-1], {}
        self.at_first = [(self.kill_comm_process, 0.05), (self.kill_front_end, 0.3)]
        self.kinds = [(self.kill_worker, 3), (self.freeze_host, 3), (self.cut_off, 2), (self.lose_packets, 2),
                      (self.delay_packets, 1)]

    def some_time(self):
        return self.chance.uniform(3, 6) if self.chance.random() < 0.05 else self.chance.uniform(0.1, 1.5)

    def kill_worker(self):
        host = self.chance.choice([host for host in self.up() if host != self.spared])
        now = time.monotonic()
        killed = self.workers_killed[host] = [at for at in self.workers_killed.get(host, []) if at > now - 60]
        if len(killed) >= WORKERS_A_MINUTE:
            return None
        said = self.kill(WORKER, host)
        if said:
            killed.append(now)
        return said and f"{said} on {host}"

    def kill_comm_process(self):
        # Nobody starts another one: the tree must stay one.
        return self.kill(COMM_PROCESS) if len(self.test.processes_of(COMM_PROCESS)) > 1 else None

    def inflict_for(self, seconds):
        began, second = time.monotonic(), 0
        while (spent := time.monotonic() - began) < seconds:
            second = max(second + 1, int(spent))
            wait_until(lambda: self.mend_due() or time.monotonic() >= began + second, "a second has passed", 60)
            kinds = self.kinds + (self.at_first if spent < seconds / 4 else [])
            said = None
            while said is None:
                kind, = self.chance.choices([k for k, _ in kinds], [w for _, w in kinds])
                said = kind()
            self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
            self.tell("FAULT", said)


class Soak(EmulatedClusterTest):
    HOSTS = 4
    NETWORK = "10.89"

    def test_no_process_grows_and_the_account_is_exact(self):
        seed = random_seed()
        print(f"soak: seed={seed} for {SECONDS:.0f} s", flush=True)
        jobs = ServedJobs(self, "--topology", "kary:2", mean_ms=0)
        jobs.start_everywhere()
        memory = Memory(lambda: self.places(jobs))
        memory.start()
        self.addCleanup(memory.over.set)
        before = sum(calls for job in jobs.all for _, calls, _ in job.counts())
        faults = ShortFaults(self, jobs, random.Random(seed))
        faults.inflict_for(SECONDS)
        took = time.monotonic() - memory.began
        memory.stop()
        called = sum(calls for job in jobs.all for _, calls, _ in job.counts()) - before
        faults.mend_all(at_once=True)
        jobs.wait_until_heard(300)
        jobs.stop(600)
        kinds = " ".join(f"{kind}={count}" for kind, count in sorted(faults.counts.items()))
        print(f"  {sum(faults.counts.values())} faults: {kinds}; {called / took:.0f} calls/s", flush=True)
        self.judge_account(jobs)
        self.judge_memory(memory)
        self.assert_nothing_on_any_host()

    def places(self, jobs):
        found = [(("xylem serve", "head"), jobs.server)]
        for host in ["head", *self.hosts()]:
            for program in (FRONT_END, COMM_PROCESS, GUARD, WORKER):
                found += [((program, host), pid) for pid in self.processes_of(program, host)]
        return found

    def judge_memory(self, memory):
        grown = []
        verdict = memory.verdict()
        for place, processes, second, last, most in verdict:
            line = (f"{' on '.join(place)}: {processes} processes, {second / 1024:.0f} KiB, in the last quarter "
                    f"{last / 1024:.0f}, at most {most / 1024:.0f}")
            print(f"  {line}", flush=True)
            if last > SHARE * second + ROOM:
                grown.append(line)
        self.assertEqual(grown, [])
        self.assertEqual({place[0] for place, *_ in verdict}, {"xylem serve", FRONT_END, COMM_PROCESS, GUARD, WORKER})

    def judge_account(self, jobs):
        """captured = stored + lost = what the ranks themselves have counted; each record in one chunk."""
        self.assert_intact(jobs.store)
        account = {row["pid"]: row for row in jobs.store.rows(
            "SELECT r.pid, a.*, e.events, e.stored_events, e.lost_events, e.complete AS all_events FROM rank r "
            "JOIN account a USING(world, rank) JOIN account_event e USING(world, rank)")}
        counted = [counts for job in jobs.all for counts in job.counts()]
        self.assertEqual(len(counted), RANKS * self.HOSTS)
        for pid, calls, _ in counted:
            line = account[pid]
            self.assertEqual((line["captured"], line["stored"] + line["lost"], line["complete"]), (calls, calls, 1),
                             line)
            self.assertEqual((line["stored_events"] + line["lost_events"], line["all_events"]), (line["events"], 1),
                             line)
        overlapping = jobs.store.rows(
            "SELECT * FROM (SELECT process, first, lag(end) OVER (PARTITION BY process ORDER BY first) AS before "
            "FROM event_chunk) WHERE first < before")
        self.assertEqual(overlapping, [])
        stored = jobs.store.value("SELECT sum(end - first) FROM event_chunk")
        self.assertEqual(stored, sum(line["stored_events"] for line in account.values()))
        captured, lost, lost_events = (sum(line[what] for line in account.values())
                                       for what in ("captured", "lost", "lost_events"))
        print(f"  {captured} calls captured, {lost} of them lost; {stored} events stored, {lost_events} lost; "
              f"{len(counted)} ranks complete", flush=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
