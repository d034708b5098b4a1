"""What a whole run costs its machine, and how fresh what it shows is.

    system_bench.py [--build build/release] [--only NAME]... [--link NAME]... [--mpi mpich|openmpi]

Rows, with the bars of docs/performance.md:

    cpu_share     CPU time of all processes of xylem over the job's own, at 10^4 calls/s per rank
    slow_down     wall time of the same job with xylem over without, runs in turn
    agent_memory  proportional set size of guard and worker beside a rank that sleeps, no rings
    agent_cpu     CPU time of the same two, of one core
    agent_services_memory, agent_services_cpu
                  the same with the services `host` and `process` once a second, for which the
                  design's bar is
    burst_lost    share of the calls of bursts that are lost, after rests in which the agent sleeps;
                  the floor: after rests in which it is awake
    visibility_profile, visibility_trace
                  from a call to the moment another SQL reader has it in its answer
    run_overhead  what `xylem run` adds to the wall time of a job that does nothing; a remark

Each is measured over each kind of link, and `_tcp`, `_tls` or `_unix` stands behind its name: TCP
with TLS off, for which the bars hold; TCP with TLS; and the Unix socket that a run on one host
takes by itself. Over TCP the run pretends to be on a host of its own (--test-size 1).

Each prints `name: floor=... figure=... ratio=... bar=... PASS|MISS`, the floor measured in the same
run, and lines that begin with `#` say how. A busy machine widens intervals, so the load average is
printed with every row. Exits with 1 when something could not be measured; with --strict also when
a bar is missed.

CPU times are exact, not sampled (measuring.py).
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

import measuring
from measuring import (SOURCE, below, interval_text, mapped_bytes, median_interval, name_of, on_cpu,
                       percent, quantile, remark, switches)

MIB = 2**20

CALLS_A_SECOND = 1e4  # Of each rank of the paced job.
CALLS_A_STEP = 4
SHARE_BAR = 0.01
SLOW_DOWN_BAR = 0.01
MEMORY_BAR = 8 * MIB
LINKS = {
    "tcp": ("--test-size", "1", "--tls", "off"),
    "tls": ("--test-size", "1", "--tls", "on"),
    "unix": (),
}
IDLE_CPU_BAR = 0.001
VISIBLE_BAR = 1.0
RING_MEMORY = "memfd:xylem-rings"
JOURNAL_MEMORY = "memfd:xylem-journal"
BURSTS = 4
BURST_CALLS = 1_000_000
BURST_REST_AWAKE_MS = 1500  # The agent sleeps after 2 s.
BURST_REST_ASLEEP_MS = 5000
POLL = 0.01  # A reader's pace: the resolution of the visibility rows.


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.rows = measuring.Rows()
        self.reaper = measuring.Reaper()
        self.runs = 0

    def mpirun(self, ranks, *arguments):
        return harness.mpirun(self.options.mpi, ranks, "paced", *arguments)

    def under_xylem(self, command, *options):
        """`command` under xylem, in a store of its own, which becomes self.store."""
        self.runs += 1
        self.store = self.folder / f"{self.runs}.db"
        return [harness.XYLEM, "run", "--quiet", "--store", str(self.store),
                *LINKS[self.rows.link], *options, "--", *command]

    def check_link(self):
        """Raises when the last run did not go over the kind of link that its rows are named after."""
        found = {row["transport"] for row in harness.Store(self.store).rows(
            "SELECT transport FROM link WHERE transport IS NOT NULL")}
        if found - {self.rows.link}:
            raise RuntimeError(f"links of kind {found} instead of {self.rows.link}")

    def run(self, command):
        return self.reaper.finish(self.reaper.start(command, self.folder / "log"))

    # ---- cpu_share, slow_down

    Work = collections.namedtuple(
        "Work", "wall command_wall job_cpu xylem_cpu agent_cpu rate steps_cpu")

    def work(self, steps, spins, monitored):
        """Runs the paced job once, and again where xylem did not do all of its work.

        The account shows it, and is printed: such a run is a finding of its own.
        """
        for _ in range(3):
            run = self.work_once(steps, spins, monitored)
            if not monitored or self.is_stored(CALLS_A_STEP * steps):
                return run
            remark(f"left out and repeated, since its account does not add up to"
                   f" {CALLS_A_STEP * steps} calls a rank: {harness.Store(self.store).account()};"
                   f" xylem's CPU {percent(run.xylem_cpu / run.job_cpu)}")
        raise RuntimeError("three runs in a row whose account does not add up")

    def is_stored(self, calls):
        """True when each rank's account is complete, without loss and not below `calls`."""
        account = harness.Store(self.store).account()
        return len(account) == self.options.ranks and all(
            r["complete"] and r["lost"] == 0 and r["stored"] == r["captured"] >= calls
            for r in account)

    def work_once(self, steps, spins, monitored):
        """Runs the paced job. xylem_cpu is what remains of all CPU time after the job's."""
        times, report = self.folder / "times", self.folder / "work"
        # bash's `times` writes its own and its children's user and system time, in milliseconds.
        script = 'file=$1; shift; "$@"; code=$?; times >"$file"; exit $code'
        command = ["bash", "-c", script, "bash", str(times), *self.mpirun(
            self.options.ranks, "work", steps, spins, report)]
        ended = self.run(self.under_xylem(command) if monitored else command)
        launched = 0.0
        for part in times.read_text().split():
            minutes, seconds = part.rstrip("s").split("m")
            launched += 60 * float(minutes) + float(seconds)
        ranks = [list(map(float, pathlib.Path(f"{report}.{rank}").read_text().split()))
                 for rank in range(self.options.ranks)]
        wall = max(r[1] for r in ranks)
        return self.Work(wall, ended.wall, sum(r[3] for r in ranks),
                         ended.cpu + ended.orphans_cpu - launched, ended.orphans_cpu,
                         ranks[0][0] / wall, sum(r[2] for r in ranks))

    def pace(self):
        """How much arithmetic between calls makes CALLS_A_SECOND on a core of its own.

        Of CPU time, not of time: on a busy machine the latter would make a job that is too dense.
        """
        spins = 100_000
        for _ in range(3):
            run = min((self.work(2500, spins, False) for _ in range(2)),
                      key=lambda run: run.steps_cpu)
            rate = run.wall * run.rate * self.options.ranks / run.steps_cpu
            spins = max(1, round(spins * rate / CALLS_A_SECOND))
        return spins

    def cpu_share(self):
        steps = round(self.options.seconds * CALLS_A_SECOND / CALLS_A_STEP)
        spins = self.pace()
        without, watched = [], []
        for pair in range(self.options.pairs):
            without.append(self.work(steps, spins, False))
            watched.append(self.work(steps, spins, True))
            remark(f"pair {pair + 1}: without {without[-1].wall:.3f} s,"
                   f" with {watched[-1].wall:.3f} s,"
                   f" xylem's CPU {percent(watched[-1].xylem_cpu / watched[-1].job_cpu)},"
                   f" load {os.getloadavg()[0]:.1f}")
        rate = statistics.median(run.rate for run in watched)
        remark(f"{self.options.mpi}, {self.options.ranks} ranks, {spins} spins a step,"
               f" {rate:.0f} calls/s per rank by the clock, {CALLS_A_SECOND:.0f} by CPU time,"
               f" {statistics.median(r.wall for r in without):.1f} s")
        self.row_cpu_share(without, watched, spins, steps)
        self.row_slow_down(without, watched)

    def row_cpu_share(self, without, watched, spins, steps):
        share = median_interval([run.xylem_cpu / run.job_cpu for run in watched])
        floor = statistics.median(run.xylem_cpu / run.job_cpu for run in without)
        short = [self.work(max(1, steps // 10), spins, True) for _ in range(3)]
        long_cpu = statistics.median(run.xylem_cpu for run in watched)
        short_cpu = statistics.median(run.xylem_cpu for run in short)
        job_cpu = statistics.median(run.job_cpu for run in watched)
        more_job = job_cpu - statistics.median(run.job_cpu for run in short)
        steady = (long_cpu - short_cpu) / more_job if more_job > 0 else math.nan
        agents = statistics.median(run.agent_cpu for run in watched)
        remark(f"xylem used {1e3 * long_cpu:.0f} ms ({1e3 * agents:.0f} ms of them the agent)"
               f" beside the job's {job_cpu:.2f} s; {1e3 * short_cpu:.0f} ms beside a job of a"
               f" tenth. So while a job runs: {percent(steady)}, the rest is start and end")
        self.rows.add("cpu_share", percent(floor), interval_text(share),
                      share[1] / floor if floor > 0 else math.inf, f"<={percent(SHARE_BAR)}",
                      share[1] <= SHARE_BAR)

    def row_slow_down(self, without, watched):
        slow = median_interval([b.wall / a.wall - 1 for a, b in zip(without, watched)])
        spread = median_interval([b.wall / a.wall - 1 for a, b in zip(without, without[1:])])
        cpu = median_interval([b.steps_cpu / a.steps_cpu - 1 for a, b in zip(without, watched)])
        whole = median_interval([b.command_wall / a.command_wall - 1
                                 for a, b in zip(without, watched)])
        remark(f"between MPI_Init and MPI_Finalize, {len(watched)} pairs in turn; the job's CPU"
               f" time grew by {interval_text(cpu)}, the whole command's wall time by"
               f" {interval_text(whole)}")
        best = min(run.wall for run in watched) / min(run.wall for run in without) - 1
        best_cpu = min(run.steps_cpu for run in watched) / min(run.steps_cpu for run in without) - 1
        remark(f"the quickest of each, which neighbours disturbed least: wall time {percent(best)},"
               f" CPU time {percent(best_cpu)}")
        if slow[2] > SLOW_DOWN_BAR:
            remark("the interval reaches above the bar: a slow-down above it is not ruled out")
        floor = max(abs(spread[0]), abs(spread[2]))
        self.rows.add("slow_down", f"+-{percent(floor)}", interval_text(slow),
                      slow[1] / floor if floor > 0 else math.inf,
                      f"interval<={percent(SLOW_DOWN_BAR)}", slow[0] <= SLOW_DOWN_BAR)

    # ---- agent_memory, agent_cpu

    def agent_idle(self):
        config = self.folder / "services.toml"
        config.write_text('[service.host]\ninterval = "1s"\n[service.process]\ninterval = "1s"\n')
        self.agent_beside_a_sleeping_rank("agent")
        self.agent_beside_a_sleeping_rank("agent_services", "--config", str(config))

    def waker(self, times_a_second):
        """A process that wakes so often and reads a file: a floor that runs at the same time."""
        period_ms = 1000 / max(0.1, times_a_second)
        return subprocess.Popen(
            [str(harness.PROGRAMS / f"paced.{self.options.mpi}"), "wake", str(period_ms),
             str(self.options.idle_seconds + 60)], env=harness.environment())

    def agent_beside_a_sleeping_rank(self, name, *options):
        seconds = self.options.idle_seconds
        command = self.under_xylem(self.mpirun(1, "idle", seconds + 10), *options)
        process = self.reaper.start(command, self.folder / "log")

        def agents():
            guards = [p for p in below(os.getpid()) if name_of(p) == "xylem-guard"]
            return guards + below(guards[0]) if guards and below(guards[0]) else None

        pids = harness.wait_until(agents, "guard and worker of the agent run")
        settled = time.monotonic() + 4  # Registering, placing and the first windows are over then.
        harness.wait_until(lambda: time.monotonic() > settled, "the start is over")
        woke = self.switches_in(pids[1], 2)
        floors = [self.waker(1), self.waker(woke)]
        others = [p for p in below(process.pid) if name_of(p).startswith("xylem-")]
        watched = [*pids, *(floor.pid for floor in floors), process.pid, *others]
        before, begin = {p: on_cpu(p) for p in watched}, time.monotonic()
        woke = self.switches_in(pids[1], seconds)
        span = time.monotonic() - begin
        share = {p: (on_cpu(p) - before[p]) / span for p in watched}
        remark(f"over {span:.1f} s: "
               + ", ".join(f"{name_of(p)} {100 * share[p]:.4f}%" for p in watched)
               + f"; the worker woke {woke:.1f} times a second, and what woke as often and read a"
               f" file each time took {100 * share[floors[1].pid]:.4f}%")
        memory = {p: mapped_bytes(p) for p in (*pids, floors[0].pid)}
        resident = sum(size for mapping, size in mapped_bytes(pids[1], "Rss:").items()
                       if RING_MEMORY not in mapping)
        remark(f"the worker's resident set, what it shares with others included:"
               f" {resident / MIB:.2f} MiB without rings")
        for floor in floors:
            floor.kill()
        self.reaper.finish(process)
        self.rows_agent(name, pids, floors[0].pid, share, memory)

    def switches_in(self, pid, seconds):
        """How often a process woke up a second, over so long."""
        before, begin = switches(pid), time.monotonic()
        harness.wait_until(lambda: time.monotonic() > begin + seconds, "the time", seconds + 5)
        return (switches(pid) - before) / (time.monotonic() - begin)

    def rows_agent(self, name, pids, floor, share, memory):
        sizes = collections.Counter()
        for pid in pids:
            for mapping, size in memory[pid].items():
                sizes[pathlib.Path(mapping).name if mapping.startswith("/usr") else mapping] += size
        rings = sum(size for mapping, size in sizes.items() if RING_MEMORY in mapping)
        journal = sum(size for mapping, size in sizes.items() if JOURNAL_MEMORY in mapping)
        total = sum(sizes.values()) - rings
        largest = sorted(((size, mapping) for mapping, size in sizes.items()
                          if RING_MEMORY not in mapping), reverse=True)[:8]
        remark("largest mappings: "
               + ", ".join(f"{mapping} {size / MIB:.2f}" for size, mapping in largest)
               + f" MiB; rings {rings / MIB:.2f} MiB left out,"
               f" journal {journal / MIB:.2f} MiB counted")
        remark(", ".join(f"{what} {sum(memory[pid].values()) / MIB:.2f} MiB with rings"
                         for what, pid in zip(("guard", "worker"), pids)))
        least = sum(memory[floor].values())
        self.rows.add(f"{name}_memory", f"{least / MIB:.2f}MiB", f"{total / MIB:.2f}MiB",
                      total / least, f"<={MEMORY_BAR / MIB:.0f}MiB", total <= MEMORY_BAR)
        used = sum(share[pid] for pid in pids)
        self.rows.add(f"{name}_cpu", f"{100 * share[floor]:.4f}%", f"{100 * used:.4f}%",
                      used / share[floor] if share[floor] > 0 else math.inf,
                      f"<={percent(IDLE_CPU_BAR)}", used <= IDLE_CPU_BAR)

    # ---- burst_lost

    def burst(self):
        awake, asleep = [], []
        for _ in range(self.options.pairs):
            awake.append(self.lost_in_bursts(BURST_REST_AWAKE_MS))
            asleep.append(self.lost_in_bursts(BURST_REST_ASLEEP_MS))
        floor, lost = statistics.median(awake), median_interval(asleep)
        remark(f"bursts of {BURST_CALLS} calls as fast as one rank can, every call is recorded")
        self.rows.add("burst_lost", percent(floor), interval_text(lost),
                      lost[1] / floor if floor > 0 else math.inf, "none", None)

    def lost_in_bursts(self, rest_ms):
        self.run(self.under_xylem(self.mpirun(1, "burst", BURSTS, rest_ms, BURST_CALLS),
                                  "--sample", "none"))
        account = harness.Store(self.store).account()[0]
        return account["lost"] / account["captured"]

    # ---- visibility

    def visibility(self):
        floor = self.plain_visibility()
        for detail, ask in (("profile", self.marks_in_totals), ("trace", self.marks_in_events)):
            delays = self.delays(detail, ask)
            p50, p99 = quantile(delays, 0.5), quantile(delays, 0.99)
            remark(f"{len(delays)} marks: p50 {1e3 * p50:.0f} ms, "
                   f"p90 {1e3 * quantile(delays, 0.9):.0f} ms, p99 {1e3 * p99:.0f} ms,"
                   f" largest {1e3 * max(delays):.0f} ms")
            self.rows.add(f"visibility_{detail}", f"{1e3 * floor:.0f}ms", f"{1e3 * p99:.0f}ms",
                          p99 / floor, f"<={1e3 * VISIBLE_BAR:.0f}ms", p99 <= VISIBLE_BAR)

    def plain_visibility(self):
        """p99 of the same reader, when a writer commits each mark at once to a file of its own."""
        path, written, count = self.folder / "plain.db", [], 100
        path.unlink(missing_ok=True)
        setup = sqlite3.connect(path)
        setup.executescript("PRAGMA journal_mode=WAL; CREATE TABLE mark(k);")

        def write():
            writer, pauses = sqlite3.connect(path), random.Random(20240617)
            for mark in range(count):
                time.sleep(pauses.random() * 0.05)
                written.append(time.monotonic())
                writer.execute("INSERT INTO mark VALUES (?)", (mark,))
                writer.commit()
            writer.close()

        thread = threading.Thread(target=write)
        thread.start()
        reader = sqlite3.connect(path)
        seen = self.watch(reader, lambda: reader.execute("SELECT count(*) FROM mark").fetchone()[0],
                          count, lambda: True)
        thread.join()
        setup.close()
        return quantile([at - begin for begin, at in zip(written, seen)], 0.99)

    def marks_in_totals(self, reader):
        """An ordinary SQLite client with a plain table."""
        row = reader.execute(
            "SELECT sum(calls) FROM function_total WHERE function = 'MPI_Sendrecv'")
        return row.fetchone()[0] or 0

    def marks_in_events(self, _):
        """`xylem query`, which opens the chunks; its start and end are part of what is measured."""
        done = subprocess.run([harness.XYLEM, "query", str(self.store), "--json",
                               "SELECT count(*) AS n FROM event WHERE function = 'MPI_Sendrecv'"],
                              env=harness.environment(), capture_output=True, text=True, timeout=20)
        return json.loads(done.stdout)["results"][0]["rows"][0]["n"] if done.returncode == 0 else 0

    def watch(self, reader, ask, count, lives):
        """When the 1st, 2nd, ... mark was first in an answer. Asks again only after a commit."""
        seen, version = [], None
        while len(seen) < count and lives():
            try:
                now = reader.execute("PRAGMA data_version").fetchone()[0]
                marks = ask() if now != version else len(seen)
            except sqlite3.OperationalError:  # The file is still being made.
                now, marks = None, len(seen)
            version = now
            seen += [time.monotonic()] * (marks - len(seen))
            time.sleep(POLL)
        return seen

    def delays(self, detail, ask):
        count, report = self.options.marks, self.folder / "mark"
        command = self.under_xylem(self.mpirun(1, "mark", count, self.options.mark_ms, report),
                                   "--detail", detail)
        process = self.reaper.start(command, self.folder / "log")
        harness.wait_until(lambda: self.store.exists() and self.store.stat().st_size > 0,
                           "the store")
        deadline = time.monotonic() + 60 + count * self.options.mark_ms / 1e3
        reader = sqlite3.connect(f"file:{self.store}?mode=ro", uri=True)
        seen = self.watch(reader, lambda: ask(reader), count, lambda: time.monotonic() < deadline)
        reader.close()
        self.reaper.finish(process)
        written = [int(line) * 1e-9 for line in pathlib.Path(f"{report}.0").read_text().split()]
        if len(seen) != len(written):
            raise RuntimeError(f"{len(written)} marks were made and {len(seen)} were seen")
        return [at - begin for begin, at in zip(written, seen)]

    # ---- run_overhead

    def run_overhead(self):
        without, watched = [], []
        for _ in range(self.options.pairs):
            command = self.mpirun(2, "idle", 0)
            without.append(self.run(command))
            watched.append(self.run(self.under_xylem(command)))
        floor = statistics.median(ended.wall for ended in without)
        more = median_interval([b.wall - a.wall for a, b in zip(without, watched)])
        late = statistics.median(ended.others_wall - ended.wall for ended in watched)
        cpu = statistics.median(b.cpu + b.orphans_cpu - a.cpu - a.orphans_cpu
                                for a, b in zip(without, watched))
        remark(f"95 % interval {1e3 * more[0]:.0f}..{1e3 * more[2]:.0f} ms; {1e3 * cpu:.0f} ms more"
               f" CPU time; the last process of xylem ended {1e3 * late:.0f} ms after `xylem run`")
        self.rows.add("run_overhead", f"{1e3 * floor:.0f}ms", f"+{1e3 * more[1]:.0f}ms",
                      (floor + more[1]) / floor, "none", None)


BENCHES = {
    "cpu_share": Bench.cpu_share,  # And slow_down, from the same runs.
    "agent_idle": Bench.agent_idle,  # agent_memory and agent_cpu, without and with services.
    "burst": Bench.burst,
    "visibility": Bench.visibility,
    "run_overhead": Bench.run_overhead,
}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.environ.get("XYLEM_BUILD", SOURCE / "build/release"))
    parser.add_argument("--only", action="append", choices=BENCHES)
    parser.add_argument("--link", action="append", choices=LINKS, help="one kind only [all]")
    parser.add_argument("--mpi", default="mpich", choices=("mpich", "openmpi"))
    parser.add_argument("--ranks", type=int, default=2, help="of the paced job [2]")
    parser.add_argument("--pairs", type=int, default=10, help="runs with and without, in turn [10]")
    parser.add_argument("--seconds", type=float, default=10, help="length of the paced job [10]")
    parser.add_argument("--idle-seconds", type=int, default=30,
                        help="how long agent_idle looks [30]")
    parser.add_argument("--marks", type=int, default=150,
                        help="calls that visibility follows [150]")
    parser.add_argument("--mark-ms", type=float, default=170,
                        help="mean time between them [170]")
    parser.add_argument("--strict", action="store_true", help="a missed bar is an error")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("--pairs: two or more, since the floor is the spread between runs")
    return options


def main():
    options = parse_options()
    global harness
    harness = measuring.harness_of(options.build)

    with measuring.folder_of_bench() as folder:
        bench = Bench(options, folder)
        for name in options.only or BENCHES:
            for link in options.link or LINKS:
                bench.rows.link = link
                BENCHES[name](bench)
                bench.check_link()
    return measuring.exit_code(bench.rows, options.strict)


if __name__ == "__main__":
    sys.exit(main())
