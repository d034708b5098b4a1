#!/usr/bin/env python3
"""Measurements of hosts by their agents, and the tree that is placed by them, on an emulated cluster: three normal
hosts, two with little CPU time and a busy loop, one behind a slow link. Needs root."""

import json
import pathlib
import re
import unittest

from emulated_cluster import RSH, EmulatedClusterTest, LiveStore, control_group
from harness import DEADLINE, PROGRAMS, XYLEM, Own, Store, wait_until

SOUND, BUSY, FAR = ["node01", "node02", "node03"], ["node04", "node05"], "node06"
CORES = {"node01": 2, "node02": 2, "node03": 2, "node04": 0.3, "node05": 0.4}  # Granted, by quota.
RATE_GBIT, DELAY_MS = 0.1, 5
SECONDS = 1e9


class HostFacts(EmulatedClusterTest):
    HOSTS = 6
    NETWORK = "10.94"

    def setUp(self):
        super().setUp()
        self.loops = []
        for host, cores in CORES.items():
            self.cluster("quota", host, cores)
        for host in BUSY:
            self.loops.append(self.start_on(host, "nice", "-n", "19", "sh", "-c", "while :; do :; done"))
        self.cluster("rate", FAR, "100mbit")
        self.cluster("delay", FAR, DELAY_MS)

    def tearDown(self):
        for host in BUSY:
            self.cluster("kill", host)
        for loop in self.loops:
            loop.wait(timeout=30)
        super().tearDown()

    def used_seconds(self, host):
        """CPU time of a host with a quota, as its control group counts it."""
        group = control_group(self.name) / host
        older = pathlib.Path("/sys/fs/cgroup/cpuacct") / group.parent.name / host / "cpuacct.usage"
        if older.exists():
            return int(older.read_text()) / SECONDS
        return int(re.search(r"usage_usec (\d+)", (group / "cpu.stat").read_text())[1]) / 1e6

    def job(self, *program):
        return self.open_mpi({host: 1 for host in self.hosts()}, *program)

    def comm_hosts(self, store):
        return sorted(row["host"] for row in store.rows("SELECT host FROM node WHERE role = 'comm_process'"))

    def test_fuzzy_placement_keeps_off_slow_hosts_and_can_be_repeated(self):
        prefix = self.folder / "own"
        job = self.job(PROGRAMS / "count_calls.openmpi", 30_000, 1, 9, prefix)
        done = self.on("head", XYLEM, "run", "--store", "run.db", "--detail", "trace", "--sample", "none",
                       "--placement", "fuzzy", "--topology", "kary:4", "--", *job, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        store = Store(self.folder / "run.db")
        self.assert_exact(store, Own(prefix, self.HOSTS))
        placed = self.comm_hosts(store)
        self.assertEqual(len(placed), 2, "6 back ends, 4 below each")
        self.assertLessEqual(set(placed), set(SOUND), store.rows("SELECT * FROM host_metric"))
        # All that is to be repeated stands in the file.
        planned = json.loads(self.on("head", XYLEM, "place", "--recorded", "run.db", "--json").stdout)
        self.assertEqual(planned["placement"], "fuzzy")
        self.assertEqual(sorted(h for h, n in planned["comm_processes"].items() for _ in range(n)), placed)
        explained = self.on("head", XYLEM, "place", "--recorded", "run.db", "--explain").stdout
        self.assertIn("fuzzy placement of 2 communication processes on 6 hosts", explained)
        self.assert_nothing_on_any_host()

    def test_communication_processes_on_named_extra_hosts_only(self):
        prefix = self.folder / "own"
        ranks = {host: 1 for host in SOUND}
        job = self.open_mpi(ranks, PROGRAMS / "count_calls.openmpi", 60_000, 1, 9, prefix)
        done = self.on("head", XYLEM, "run", "--store", "run.db", "--detail", "trace", "--sample", "none",
                       "--launcher", RSH, "--extra-hosts", "node06,head", "--comm-on", "extra", "--exclude", "head,login",
                       "--topology", "balanced:1x2", "--", *job, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        store = Store(self.folder / "run.db")
        self.assert_exact(store, Own(prefix, len(SOUND)))
        self.assertEqual(self.comm_hosts(store), [FAR, FAR])
        self.assertEqual(store.value("SELECT count(*) FROM node b JOIN node c ON c.id = b.parent"
                                     " WHERE b.role = 'back_end' AND c.role = 'comm_process'"), len(SOUND))
        self.assert_nothing_on_any_host()

    def test_what_is_measured_is_what_the_host_is_given(self):
        run = self.start_on("head", XYLEM, "run", "--store", "run.db", "--topology", "flat", "--facts-every", "2s", "--",
                            *self.job(PROGRAMS / "paced.openmpi", "idle", 20))
        live = LiveStore(self.folder / "run.db")
        wait_until(lambda: len(live.rows("SELECT DISTINCT leaf FROM host_metric")) == self.HOSTS,
                   "facts of all hosts")
        # By this test's own clock, over a time that holds several intervals of the agents.
        before = {host: self.used_seconds(host) for host in CORES}
        first = live.value("SELECT max(at_ns) FROM host_metric")
        wait_until(lambda: live.value("SELECT min(last) FROM (SELECT max(at_ns) AS last FROM host_metric"
                                      " GROUP BY leaf)") >= first + 10 * SECONDS, "five more intervals")
        last = live.value("SELECT max(at_ns) FROM host_metric")
        after = {host: self.used_seconds(host) for host in CORES}
        self.assertEqual(run.wait(timeout=DEADLINE), 0)

        facts = {}
        for host, name, value in live.rows(
                f"SELECT h.name, m.name, avg(m.value) FROM host_metric m JOIN host h USING (leaf)"
                f" WHERE m.at_ns > {first} AND m.at_ns <= {last} GROUP BY 1, 2"):
            facts.setdefault(host, {})[name] = value
        print({host: {name: round(value, 3) for name, value in known.items()} for host, known in facts.items()})
        for host, cores in CORES.items():
            known = facts[host]
            self.assertAlmostEqual(known["cores"], cores, delta=0.001)
            used = (after[host] - before[host]) / ((last - first) / SECONDS) / cores
            self.assertAlmostEqual(known["idle"], max(0, 1 - used), delta=0.15, msg=host)
        for host in BUSY:  # One loop that always wants to run, on a part of a core; a rank that sleeps.
            self.assertLess(facts[host]["idle"], min(facts[sound]["idle"] for sound in SOUND))
            self.assertAlmostEqual(facts[host]["run_queue"] * CORES[host], 1, delta=0.35, msg=host)
        for host in SOUND:
            self.assertLess(facts[host]["run_queue"], 0.5)
        # The cable: the discipline's rate where there is one, else what the driver says.
        driver = float(self.on("node01", "cat", "/sys/class/net/eth0/speed").stdout) / 1000
        self.assertAlmostEqual(facts["node01"]["network"], driver, delta=0.01)
        self.assertAlmostEqual(facts[FAR]["network"], RATE_GBIT, delta=0.001)
        self.assertGreaterEqual(facts[FAR]["round_trip"], DELAY_MS * 1000)
        self.assertLess(facts["node01"]["round_trip"], DELAY_MS * 1000)
        available = int(re.search(r"MemAvailable: *(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / 2**20
        for host in self.hosts():
            self.assertAlmostEqual(facts[host]["memory"], available, delta=0.25 * available, msg=host)
        windows = live.value("SELECT count(*) FROM host_value WHERE at_ns % 250000000 <> 0")
        self.assertEqual(windows, 0, "the facts of a run placed evenly all stand at the end of a window")
        self.assert_nothing_on_any_host()


if __name__ == "__main__":
    unittest.main(verbosity=2)
