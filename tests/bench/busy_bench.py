"""What xylem takes from ranks that keep every core busy.

    busy_bench.py [--build build/release] [--mpi mpich|openmpi]... [--only NAME]... [--pairs 9] [--seconds 3]
                  [--sample FUNCTION=N]

On a node whose cores all compute, the agent's processor time is the ranks' loss. As many ranks as cores run
tests/support/mpi/busy.c, without and with xylem in turn, in random order within a pair:

    stencil    a five-point stencil that reads the clock around each row, about 10^6 calls/s a rank: its time
               a step with xylem over without, `--detail profile` and `trace`; bars 1.05 and 1.12
    bandwidth  windows of 64 messages of 8 bytes, as osu_bw sends them: messages a second with xylem over
               without; bar at least 0.8 of it. And from the same runs the processor time of the agent, its start
               and end included, for each event: bars 15 ns (profile) and 45 ns (trace)
    touch      one rank, half a million calls a second: the first 262,144 calls of its life, made after a rest,
               against the later ones of the same run, per call; bar +10 ns

Rows as those of system_bench.py; the floor is the spread of successive runs without xylem, and [..] the 95 %
interval of the median (sign test). A row whose interval reaches to both sides of its bar says OPEN. Exits with
1 when something could not be measured; with --strict also when a bar is missed.
"""

import argparse
import collections
import os
import pathlib
import random
import statistics
import sys

import measuring
from measuring import is_within, median_interval, remark

RATE = 1e6  # Calls a second and rank of the stencil without xylem.
BARS = {"profile": 1.05, "trace": 1.12}
BANDWIDTH_BAR = 0.8
AGENT_BARS_NS = {"profile": 15, "trace": 45}
TOUCH_BAR_NS = 10
TOUCHED = 262_144

Done = collections.namedtuple("Done", "steps calls seconds agent_cpu events")
Done.__doc__ = """What ranks did: steps and calls of all, seconds of the slowest; the agent's CPU seconds, and the events
that it has read: known where they are stored (trace), else 0."""


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.mpi = options, folder, ""
        self.rows = measuring.Rows("")
        self.reaper = measuring.Reaper()
        self.runs = 0

    def row(self, name, floor, interval, bar, met, unit=""):
        low, middle, high = interval
        self.rows.add(f"{name}_{self.mpi}", floor, f"{middle:.3g}{unit}[{low:.3g}..{high:.3g}]", middle, bar, met)

    def run(self, detail, ranks, *arguments):
        """Runs busy.c, under xylem where `detail` names one: the lines of each rank, the agent's time, events."""
        self.runs += 1
        report = self.folder / f"report.{self.runs}"
        command = harness.mpirun(self.mpi, ranks, "busy", *arguments, report)
        store = self.folder / f"{self.runs}.db"
        if detail:
            sample = ["--sample", self.options.sample] if self.options.sample else []
            command = [harness.XYLEM, "run", "--quiet", "--store", str(store), "--detail", detail, *sample, "--",
                       *command]
        ended = self.reaper.finish(self.reaper.start(command, self.folder / "log"))
        lines = [[tuple(map(float, line.split())) for line in pathlib.Path(f"{report}.{rank}").read_text().splitlines()]
                 for rank in range(ranks)]
        events = 0
        if detail:
            account = harness.Store(store).account()
            events = harness.Store(store).value("SELECT coalesce(sum(stored_events), 0) FROM account_event")
            if len(account) != ranks or any(line["captured"] != line["stored"] + line["lost"] for line in account):
                raise RuntimeError(f"the account does not add up: {account}")
            if any(line["lost"] for line in account):
                remark(f"lost, and counted: {[line['lost'] for line in account]} of"
                       f" {[line['captured'] for line in account]} calls ({detail})")
            for path in self.folder.glob(f"{self.runs}.db*"):
                path.unlink()
        return lines, ended.orphans_cpu, events

    def done(self, detail, *arguments):
        lines, agent_cpu, events = self.run(detail, self.options.ranks, *arguments)
        return Done(sum(rank[0][0] for rank in lines), sum(rank[0][1] for rank in lines),
                    max(rank[0][2] for rank in lines), agent_cpu, events)

    def in_turn(self, *arguments):
        """{detail: runs} with "" for those without xylem, all details within each round in random order."""
        runs = {"": [], **{detail: [] for detail in BARS}}
        for _ in range(self.options.pairs):
            for detail in random.sample(list(runs), len(runs)):
                runs[detail].append(self.done(detail, *arguments))
        return runs

    def stencil(self):
        columns = 64
        for _ in range(4):
            done = self.done("", "stencil", 1, columns)
            rate = done.calls / done.seconds / self.options.ranks
            columns = max(8, round(columns * rate / RATE))
        runs = self.in_turn("stencil", self.options.seconds, columns)
        rate = statistics.median(run.calls / run.seconds / self.options.ranks for run in runs[""])
        remark(f"{self.mpi}: {self.options.ranks} ranks, {columns} columns, {rate:.3g} calls/s a rank without xylem")

        def step(run):
            return run.seconds / run.steps

        floor = median_interval([step(b) / step(a) for a, b in zip(runs[""], runs[""][1:])])
        for detail, bar in BARS.items():
            slower = median_interval([step(b) / step(a) for a, b in zip(runs[""], runs[detail])])
            agent = statistics.median(run.agent_cpu / run.calls for run in runs[detail])
            remark(f"the agent took {1e9 * agent:.1f} ns of a processor a call, sampled ones included")
            self.row(f"stencil_{detail}", f"{floor[0]:.3f}..{floor[2]:.3f}", slower, f"<={bar}",
                     is_within(slower, bar))

    def bandwidth(self):
        runs = self.in_turn("bandwidth", self.options.seconds, 8)

        def rate(run):
            return run.steps / run.seconds

        remark(f"{self.mpi}: {statistics.median(rate(run) for run in runs['']) / 2:.3g} messages/s without xylem")
        floor = median_interval([rate(b) / rate(a) for a, b in zip(runs[""], runs[""][1:])])
        # A receive is two events: where it was posted, and where it completed.
        each = statistics.median(run.events / run.calls for run in runs["trace"])
        remark(f"{each:.2f} events a call")
        for detail in BARS:
            share = median_interval([rate(b) / rate(a) for a, b in zip(runs[""], runs[detail])])
            met = is_within([-value for value in reversed(share)], -BANDWIDTH_BAR)
            self.row(f"bandwidth_{detail}", f"{floor[0]:.3f}..{floor[2]:.3f}", share, f">={BANDWIDTH_BAR}", met)
            event = median_interval([1e9 * run.agent_cpu / (each * run.calls) for run in runs[detail]])
            bar = AGENT_BARS_NS[detail]
            self.row(f"agent_{detail}", "-", event, f"<={bar} ns", is_within(event, bar), " ns")

    def touch(self):
        without, first = [], []
        for _ in range(self.options.pairs):
            for detail, added in (("", without), ("profile", first)):
                (lines,), _, _ = self.run(detail, 1, "touch", 6, TOUCHED)
                each = [1e9 * seconds / calls for _, calls, seconds in lines]
                added.append(each[0] - statistics.median(each[1:]))
        floor = median_interval(without)
        more = median_interval(first)
        self.row("touch", f"{floor[0]:.2f}..{floor[2]:.2f} ns", more, f"<=+{TOUCH_BAR_NS} ns",
                 is_within(more, TOUCH_BAR_NS), " ns")


BENCHES = {"stencil": Bench.stencil, "bandwidth": Bench.bandwidth, "touch": Bench.touch}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.environ.get("XYLEM_BUILD", measuring.SOURCE / "build/release"))
    parser.add_argument("--mpi", action="append", choices=("mpich", "openmpi"), help="one only [both]")
    parser.add_argument("--only", action="append", choices=BENCHES)
    parser.add_argument("--ranks", type=int, default=len(os.sched_getaffinity(0)), help="[one a core]")
    parser.add_argument("--pairs", type=int, default=9, help="runs without and with xylem, in turn [9]")
    parser.add_argument("--seconds", type=float, default=3, help="length of a run [3]")
    parser.add_argument("--sample", help="passed to xylem run, as in MPI_Isend=100,MPI_Irecv=100 [none]")
    parser.add_argument("--strict", action="store_true", help="a missed bar is an error")
    options = parser.parse_args()
    if options.pairs < 2 or options.ranks < 2:
        parser.error("--pairs and --ranks: two or more, since the floor is the spread between runs")
    return options


def main():
    options = parse_options()
    global harness
    harness = measuring.harness_of(options.build)
    with measuring.folder_of_bench() as folder:
        bench = Bench(options, folder)
        for mpi in options.mpi or ("mpich", "openmpi"):
            bench.mpi = mpi
            for name in options.only or BENCHES:
                BENCHES[name](bench)
    return measuring.exit_code(bench.rows, options.strict)


if __name__ == "__main__":
    sys.exit(main())
