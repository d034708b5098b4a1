#!/usr/bin/env python3
"""Whether fuzzy placement pays on hosts that are slow for real: an emulated cluster of eight, three of
which are slow, other ones in each pair. A pair is a tree placed evenly and one placed by scores, in random
order, on the same hosts with the same leaves, one a host; `flat` is the same leaves without any
communication process: what these leaves allow. Needs root.

placement_bench.py --build BUILD [--slow cpu|network] [--shape SHAPE] [--pairs N] [--seed S] [--config FILE]

Slow by cpu: a tenth of a core for all of the host, which an endless loop wants as well. By network:
1 Mbit/s both ways. The facts are measured before each pair, from outside of the hosts: control groups,
tc, refused connections. Prints a line a tree, and the ratios with their 95 % intervals (of means of logarithms).
"""

import argparse
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
CLUSTER = TESTS / "support/cluster/cluster.sh"
RSH = TESTS / "support/cluster/cluster-rsh"
HOSTS = [f"node{i:02}" for i in range(1, 9)]
SLOW = 3
QUOTA = 0.1  # Cores.
RATE = "1mbit"
STUDENT = {5: 2.571, 9: 2.262, 11: 2.201, 14: 2.145, 19: 2.093}  # 95 %, by degrees of freedom.

# The median time until a connection is refused, us, of each host.
ROUND_TRIPS = """
import socket, statistics, sys, time
for host in sys.argv[1:]:
    times = []
    for _ in range(5):
        begin = time.monotonic()
        with socket.socket() as it:
            it.connect_ex((host, 9))
        times.append(time.monotonic() - begin)
    print(statistics.median(times) * 1e6)
"""


class Cluster:
    """The hosts, and what makes them slow."""

    def __init__(self, folder):
        self.name = f"bench{os.getpid()}"
        self.env = dict(os.environ, CLUSTER=self.name, CLUSTER_NET="10.94")
        self.folder = folder
        self.busy = []
        self.run("up", len(HOSTS))

    def run(self, *words):
        done = subprocess.run([CLUSTER, *map(str, words)], env=self.env, cwd=self.folder, text=True,
                              capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def down(self):
        self.quicken()
        self.run("down")

    def slow_down(self, hosts, how):
        for host in hosts:
            if how == "network":
                self.run("rate", host, RATE)
                continue
            self.run("quota", host, QUOTA)
            self.busy.append(subprocess.Popen([CLUSTER, "exec", host, "--", "sh", "-c", "while :; do :; done"],
                                              env=self.env))

    def quicken(self):
        for process in self.busy:
            process.kill()
            process.wait()
        self.busy = []
        for host in HOSTS:
            self.run("rate", host, "max")
            self.run("quota", host, "max")

    # What a host is, seen from outside.

    def group(self, controller):
        """The folder of the hosts' control groups that knows about it."""
        for root in (f"/sys/fs/cgroup/{controller}", "/sys/fs/cgroup"):
            folder = pathlib.Path(root) / f"cluster-{self.name}"
            if folder.exists():
                return folder
        raise RuntimeError(f"no control group for {controller}")

    def cores(self, host):
        old, new = self.group("cpu") / host / "cpu.cfs_quota_us", self.group("cpu") / host / "cpu.max"
        quota = int(old.read_text()) / 1e5 if old.exists() else None
        if quota is None:
            words = new.read_text().split()
            quota = -1 if words[0] == "max" else int(words[0]) / int(words[1])
        return os.cpu_count() if quota < 0 else quota

    def used(self, host):
        """Seconds of a core so far."""
        old = self.group("cpuacct") / host / "cpuacct.usage"
        if old.exists():
            return int(old.read_text()) * 1e-9
        return int((self.group("cpuacct") / host / "cpu.stat").read_text().split()[1]) * 1e-6

    def runnable(self, host):
        count = 0
        for pid in (self.group("unified") / host / "cgroup.procs").read_text().split():
            try:
                count += pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
            except OSError:
                pass  # It has ended.
        return count

    def network(self, host):
        """Gbit/s, or - where nothing limits it."""
        rate = re.search(r"rate (\d+)([KMG])bit", self.run("exec", host, "--", "tc", "qdisc", "show", "dev", "eth0"))
        return float(rate[1]) * {"K": 1e-6, "M": 1e-3, "G": 1}[rate[2]] if rate else "-"

    def round_trips(self):
        """From the head, us by host."""
        times = self.run("exec", "head", "--", sys.executable, "-c", ROUND_TRIPS, *HOSTS).split()
        return dict(zip(HOSTS, map(float, times)))

    def facts(self):
        """The table that `xylem place --facts` reads."""
        before, begin = {host: self.used(host) for host in HOSTS}, time.monotonic()
        time.sleep(2)
        seconds = time.monotonic() - begin
        lines = ["host idle run_queue memory network round_trip"]
        memory = int(re.search(r"MemAvailable: +(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) / 2**20
        round_trips = self.round_trips()
        for host in HOSTS:
            cores = self.cores(host)
            idle = max(0, min(1, 1 - (self.used(host) - before[host]) / (seconds * cores)))
            lines.append(f"{host} {idle:.3f} {self.runnable(host) / cores:.2f} {memory:.1f} {self.network(host)} "
                         f"{round_trips[host]:.0f}")
        return "\n".join(lines) + "\n"


class Bench:
    def __init__(self, options, folder):
        self.build, self.options, self.folder = options.build, options, pathlib.Path(folder)
        self.cluster = Cluster(folder)

    def place(self, policy):
        """Its topology file, and the hosts that carry communication processes."""
        words = [self.build / "bin/xylem", "place", "--hosts", ",".join(HOSTS), "--ranks", 1, "--topology",
                 self.options.shape, "--placement", policy, "--front-end", "head"]
        if policy == "fuzzy":
            words += ["--facts", self.folder / "facts"]
            words += ["--config", self.options.config] if self.options.config else []
        done = subprocess.run([*map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        path = self.folder / f"{policy}.topo"
        path.write_text(done.stdout)
        return f"file:{path}", sorted(set(re.findall(r"(node\d+):\d+", done.stdout)))

    def tree(self, shape):
        program = self.build / "bench_tree/build/bench_tree"
        text = self.cluster.run("exec", "head", "--", program, "delay", "steady", "--leaves", 1, "--shape", shape,
                                "--hosts", ",".join(HOSTS), "--launcher", RSH)
        waves = float(re.search(r"steady +figure +([\d.]+)", text)[1])
        delay = re.search(r"delay +figure +([\d.]+) us \(p95 ([\d.]+)\)", text)
        return {"waves": waves, "delay": float(delay[1]), "p95": float(delay[2])}

    def pair(self, number, chance):
        slow = sorted(chance.sample(HOSTS, SLOW))
        self.cluster.quicken()
        self.cluster.slow_down(slow, self.options.slow)
        (self.folder / "facts").write_text(self.cluster.facts())
        trees = {"even": self.place("even"), "fuzzy": self.place("fuzzy"), "flat": ("flat", [])}
        order = list(trees)
        chance.shuffle(order)
        figures = {}
        for name in order:
            figures[name] = self.tree(trees[name][0])
        for name, (_, carriers) in trees.items():
            it = figures[name]
            print(f"pair {number:2} {name:5} waves {it['waves']:8.0f} /s   delay {it['delay'] / 1e3:8.2f} ms "
                  f"(p95 {it['p95'] / 1e3:8.2f})   slow carriers {len(set(slow) & set(carriers))} of {len(carriers)}",
                  flush=True)
        return figures

    def run(self):
        chance = random.Random(self.options.seed)
        print(f"{len(HOSTS)} hosts, {SLOW} slow by {self.options.slow}, {self.options.shape}, seed {self.options.seed}")
        try:
            pairs = [self.pair(i + 1, chance) for i in range(self.options.pairs)]
        finally:
            self.cluster.down()
        for name in ("even", "fuzzy", "flat"):
            print(f"{name:5} medians: waves {statistics.median(it[name]['waves'] for it in pairs):8.0f} /s   delay "
                  f"{statistics.median(it[name]['delay'] for it in pairs) / 1e3:8.2f} ms (p95 "
                  f"{statistics.median(it[name]['p95'] for it in pairs) / 1e3:8.2f})")
        for what in ("waves", "delay", "p95"):
            print(f"fuzzy / even, {what}: {interval([it['fuzzy'][what] / it['even'][what] for it in pairs])}")


def interval(ratios):
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    student = STUDENT.get(len(logs) - 1, 2.6)  # Wide where the table has no row.
    half = student * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(mean):.3g} [{math.exp(mean - half):.3g}, {math.exp(mean + half):.3g}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--slow", choices=["cpu", "network"], default="cpu")
    parser.add_argument("--shape", default="kary:2")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--config", type=lambda path: pathlib.Path(path).resolve(), help="rules of fuzzy placement")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("an interval takes 2 pairs at least")
    # Builds the program with the leaves; what it prints is of no interest here.
    subprocess.run([sys.executable, TESTS / "bench/tree_bench.py", "--build", options.build, "start", "--leaves", "1"],
                   check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        Bench(options, folder).run()


if __name__ == "__main__":
    main()
