#!/usr/bin/env python3
"""Faults at random moments, in a tree of three levels over 16 emulated hosts: all calls of every rank
are stored once; for a host that lost power, the account has the missing calls as lost. Needs root.

XYLEM_SEED repeats the random choices (but not the timing of processes), XYLEM_CHAOS_FAULTS is the
number of faults, XYLEM_CHAOS_A_RUN the number of faults before another run begins,
XYLEM_CHAOS_TELL=1 prints each fault."""

import heapq
import os
import random
import signal
import sys
import time
import unittest

from emulated_cluster import COMM_PROCESS, FRONT_END, WORKER, EmulatedClusterTest
from harness import DEADLINE, random_seed, wait_until
from served_jobs import ServedJobs

FAULTS = int(os.environ.get("XYLEM_CHAOS_FAULTS", 12))
# Then comes another run on the same hosts, with a tree that has all its communication processes again.
FAULTS_A_RUN = int(os.environ.get("XYLEM_CHAOS_A_RUN", 25))
TELLS = os.environ.get("XYLEM_CHAOS_TELL") == "1"
MEAN_PAUSE = 1.0
MAX_AWAY = 3  # Hosts without power at a time.
# Eight times a minute is the most that a front end is started anew; see launch/restarts.h.
FRONT_ENDS_A_MINUTE = 6


class Faults:
    """Inflicts them on a cluster, and mends what does not mend itself."""

    def __init__(self, test, jobs, chance):
        self.test, self.jobs, self.chance = test, jobs, chance
        self.began = time.monotonic()
        self.due = []  # (when, number, what mends it)
        self.counts = {}
        self.away, self.frozen, self.cut, self.lossy, self.slow = set(), set(), False, set(), set()
        self.front_ends_killed = []
        self.kinds = [(self.kill_comm_process, 4), (self.kill_worker, 4), (self.kill_front_end, 2),
                      (self.crash_host, 1), (self.freeze_host, 3), (self.cut_off, 3), (self.lose_packets, 2),
                      (self.delay_packets, 1)]

    def inflict(self, number):
        while sum(self.counts.values()) < number:
            pause = time.monotonic() + self.chance.expovariate(1 / MEAN_PAUSE)
            wait_until(lambda: self.mend_due() or time.monotonic() > pause, "the moment has come")
            kind, = self.chance.choices([k for k, _ in self.kinds], [w for _, w in self.kinds])
            said = kind()
            if said is None:  # Nobody whom it could hit.
                continue
            self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
            self.tell("FAULT", said)

    def kill_while_it_ends(self):
        """A few more, of those that mend themselves, while the last packets are on their way."""
        for kind in self.chance.sample([self.kill_comm_process, self.kill_worker, self.kill_front_end],
                                       self.chance.randint(0, 3)):
            pause = time.monotonic() + self.chance.uniform(0, 0.3)
            wait_until(lambda: time.monotonic() > pause, "the moment has come")
            said = kind()
            if said is not None:
                self.counts["at_the_end"] = self.counts.get("at_the_end", 0) + 1
                self.tell("FAULT at the end", said)

    def tell(self, *what):
        if TELLS:
            print(f"{time.monotonic() - self.began:9.3f}", *what, file=sys.stderr, flush=True)

    def mend_later(self, seconds, mend):
        heapq.heappush(self.due, (time.monotonic() + seconds, len(self.due) + self.chance.random(), mend))

    def mend_due(self):
        """Never true, so that it can be polled."""
        while self.due and self.due[0][0] <= time.monotonic():
            heapq.heappop(self.due)[2]()
        return False

    def mend_all(self, at_once):
        if not at_once:
            wait_until(lambda: self.mend_due() or not self.due, "everything mends")
        while self.due:
            heapq.heappop(self.due)[2]()

    def some_time(self):
        """Mostly less than silence is borne, sometimes longer than a host is waited for."""
        return self.chance.choice([self.chance.uniform(0.1, 2.5), self.chance.uniform(0.1, 2.5),
                                   self.chance.uniform(3, 6), self.chance.uniform(8, 13)])

    def up(self):
        return [host for host in self.test.hosts() if host not in self.away]

    def kill(self, name, host=None):
        pids = self.test.processes_of(name, host)
        if not pids:
            return None
        pid = self.chance.choice(pids)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return f"{name} {pid} killed"

    def kill_comm_process(self):
        return self.kill(COMM_PROCESS)

    def kill_worker(self):
        return self.kill(WORKER)

    def kill_front_end(self):
        now = time.monotonic()
        self.front_ends_killed = [at for at in self.front_ends_killed if at > now - 60]
        if len(self.front_ends_killed) >= FRONT_ENDS_A_MINUTE:
            return None
        said = self.kill(FRONT_END)
        if said:
            self.front_ends_killed.append(now)
        return said

    def crash_host(self):
        if len(self.away) >= MAX_AWAY:
            return None
        host = self.chance.choice(self.up())
        for job in self.jobs.all:
            job.crashed |= job.host == host
        self.away.add(host)
        self.test.cluster("crash", host)
        if host in self.frozen:  # It shall not be when it boots.
            self.frozen.discard(host)
            self.test.cluster("thaw", host)

        def boot():
            self.tell("boots", host)
            self.test.cluster("boot", host)
            self.away.discard(host)
            self.jobs.start(host)

        self.mend_later(self.chance.uniform(1, 8), boot)
        return f"{host} crashed"

    def freeze_host(self):
        host = self.chance.choice(self.up())
        if host in self.frozen:
            return None
        self.frozen.add(host)
        self.test.cluster("freeze", host)

        def thaw():
            if host not in self.frozen:  # It has crashed since.
                return
            self.tell("thaws", host)
            self.frozen.discard(host)
            self.test.cluster("thaw", host)

        seconds = self.some_time()
        self.mend_later(seconds, thaw)
        return f"{host} frozen for {seconds:.1f} s"

    def cut_off(self):
        if self.cut:
            return None
        everybody = ["head", *self.test.hosts()]
        apart = self.chance.sample(everybody, self.chance.randint(1, min(6, len(everybody) - 1)))
        self.cut = True
        self.test.cluster("partition", ",".join(apart))

        def heal():
            self.tell("heals")
            self.cut = False
            self.test.cluster("heal")

        seconds = self.some_time()
        self.mend_later(seconds, heal)
        return f"{','.join(apart)} cut off for {seconds:.1f} s"

    def lose_packets(self):
        host = self.chance.choice(["head", *self.up()])
        if host in self.lossy:
            return None
        percent = self.chance.randint(1, 30)
        self.lossy.add(host)
        self.test.cluster("loss", host, percent)

        def mend():
            self.lossy.discard(host)
            self.test.cluster("loss", host, 0)

        seconds = self.some_time()
        self.mend_later(seconds, mend)
        return f"{host} loses {percent} % of its packets for {seconds:.1f} s"

    def delay_packets(self):
        host = self.chance.choice(["head", *self.up()])
        if host in self.slow:
            return None
        milliseconds = self.chance.choice([1, 10, 100])
        self.slow.add(host)
        self.test.cluster("delay", host, milliseconds)

        def mend():
            self.slow.discard(host)
            self.test.cluster("delay", host, 0)

        seconds = self.some_time()
        self.mend_later(seconds, mend)
        return f"packets of {host} take {milliseconds} ms for {seconds:.1f} s"


class ChaosCluster(EmulatedClusterTest):
    HOSTS = 16
    NETWORK = "10.80"

    def test_what_every_rank_has_done_is_stored_once(self):
        seed = random_seed()
        print(f"chaos: from seed={seed}", flush=True)
        chance = random.Random(seed)
        inflicted = sent = 0
        for number in range(-(-FAULTS // FAULTS_A_RUN)):
            faults, messages = self.run_one(f"run{number}", chance, min(FAULTS_A_RUN, FAULTS - inflicted))
            inflicted += sum(faults.values())
            sent += messages
        print(f"chaos: seed={seed} faults={inflicted} hosts={self.HOSTS} messages={sent} lost=0 twice=0", flush=True)

    def run_one(self, name, chance, number):
        """A run with so many faults. Returns how many of each kind, and messages sent."""
        jobs = ServedJobs(self, "--topology", "kary:3", name=name)
        jobs.start_everywhere()
        self.assertEqual(jobs.live.rows("SELECT level, count(*) FROM node GROUP BY level"),
                         [(0, 1), (1, 2), (2, 6), (3, 16)])
        faults = Faults(self, jobs, chance)
        faults.inflict(number)
        faults.mend_all(at_once=chance.random() < 0.5)
        faults.tell("all is mended")
        jobs.wait_until_heard(DEADLINE)
        faults.tell("everybody was heard of again, the jobs end")
        jobs.stop(meanwhile=faults.kill_while_it_ends)
        sent, lost, twice = jobs.judge()
        kinds = " ".join(f"{kind}={count}" for kind, count in sorted(faults.counts.items()))
        print(f"  {name}: {kinds}; jobs={len(jobs.all)} crashed={sum(job.crashed for job in jobs.all)} "
              f"messages={sent} lost={lost} twice={twice}", flush=True)
        self.assertEqual((lost, twice), (0, 0))
        self.assert_nothing_on_any_host()
        return faults.counts, sent


if __name__ == "__main__":
    unittest.main(verbosity=2)
