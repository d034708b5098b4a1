"""What `xylem attach` takes from the job that it watches.

    attach_bench.py [--build build/release] [--mpi openmpi|mpich] [--ranks 2] [--pairs 20] [--slice 3]

One job computes and calls MPI all the time, and notes how many steps it has done in how much CPU time
(`paced steady`); what its ranks spend in waiting for each other does not count. Meanwhile slices of
time follow each other, in pairs, and the pairs of two kinds take turns:

    watched   one slice alone, and one that `xylem attach` begins and ends in, in random order
    floor     two slices alone

The figure is how many more CPU seconds a step takes in the watched slice than in the other of its
pair, with the 95 % interval of the median (sign test, measuring.py); the floor is the same of two
slices alone: how far what the machine does besides makes slices differ. A second row does so by the clock, which
contains also the time that xylem's own processes take from the job's cores; the last one is that time.

Rows as those of system_bench.py. The bar is met when all of the interval is within it, and missed when
none is; else the row says OPEN: more pairs or a quieter machine would tell. Exits with 1 when something
could not be measured; with --strict also when the bar is missed.
"""

import argparse
import ctypes
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import measuring
from measuring import below, interval_text, is_within, median_interval, name_of, percent, remark

SLOWER_BAR = 0.01
SPINS = 20_000  # Some 40 us a step.
FOR_AGES = 10**6  # Seconds. However long attaches take, the job goes on until it is ended.
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)


class Job:
    """The job, and what its ranks have reported so far."""

    def __init__(self, options, folder):
        self.report = folder / "report"
        self.ranks = options.ranks
        self.process = subprocess.Popen(
            harness.mpirun(options.mpi, options.ranks, "paced", "steady", FOR_AGES, SPINS,
                           self.report),
            env=harness.environment(),
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))  # Also by our death.
        harness.wait_until(lambda: all(map(self.lines, range(self.ranks))), "the job computes", 60)

    def lines(self, rank):
        path = pathlib.Path(f"{self.report}.{rank}")
        text = path.read_text() if path.exists() else ""
        return [tuple(map(float, line.split())) for line in text.splitlines()[:-1]]

    def between(self, begin, end):
        """(CPU seconds a step, wall seconds a step) of all ranks within so much monotonic time."""
        steps = cpu = wall = 0.0
        for rank in range(self.ranks):
            within = [line for line in self.lines(rank) if begin <= line[0] * 1e-9 <= end]
            if len(within) < 3:
                raise RuntimeError(f"rank {rank} has hardly worked: make slices longer (--slice)")
            steps += within[-1][1] - within[0][1]
            cpu += within[-1][2] - within[0][2]
            wall += (within[-1][0] - within[0][0]) * 1e-9
        return cpu / steps, wall / steps


class Slices:
    def __init__(self, options, folder, job):
        self.options, self.folder, self.job = options, folder, job
        self.xylem_cpu = []  # Of a core, slice by slice.

    def alone(self):
        begin = time.monotonic()
        harness.wait_until(lambda: time.monotonic() > begin + self.options.slice,
                           "the slice is over", self.options.slice + 5)
        return begin, time.monotonic()

    def watched(self):
        """From the command to the end of the last process that it has brought."""
        store = self.folder / "run.db"
        begin = time.monotonic()
        attach = subprocess.Popen(
            [harness.XYLEM, "attach", "--pid", str(self.job.process.pid), "--store", str(store),
             "--overwrite", "--quiet", "--duration", f"{round(1e3 * self.options.slice)}ms"],
            env=harness.environment())
        _, status, used = os.wait4(attach.pid, 0)
        attach.returncode = os.waitstatus_to_exitcode(status)
        if attach.returncode != 0:
            raise RuntimeError(f"{attach.args}: exit code {attach.returncode}")
        cpu = used.ru_utime + used.ru_stime + self.of_orphans()
        end = time.monotonic()
        self.xylem_cpu.append(cpu / (end - begin))
        if len(harness.Store(store).account()) != self.options.ranks:
            raise RuntimeError("not all ranks were found")
        return begin, end

    def of_orphans(self):
        """CPU seconds of agents, which are handed to us; waits until the last has ended."""
        cpu = 0.0

        def all_gone():
            nonlocal cpu
            left = [p for p in below(os.getpid()) if name_of(p).startswith("xylem")]
            for pid in left:
                try:
                    ended, _, used = os.wait4(pid, os.WNOHANG)
                    cpu += used.ru_utime + used.ru_stime if ended else 0
                except ChildProcessError:
                    pass  # A worker: its guard waits for it, and is handed to us.
            return not left

        harness.wait_until(all_gone, "the agents have ended")
        return cpu


def logarithms(pairs):
    """By CPU time and by the clock: how much slower the second of each pair is."""
    return [[math.log(second[i] / first[i]) for first, second in pairs] for i in (0, 1)]


def measure(options, folder, rows):
    draw = random.Random(options.seed)
    job = Job(options, folder)
    slices = Slices(options, folder, job)
    floors, watched = [], []
    try:
        for pair in range(options.pairs):
            spans = [slices.alone(), slices.alone()]
            floors.append([job.between(*span) for span in spans])
            order = [slices.alone, slices.watched]
            is_turned = draw.random() < 0.5
            found = [job.between(*one()) for one in (reversed(order) if is_turned else order)]
            watched.append(found[::-1] if is_turned else found)
            remark(f"pair {pair + 1}: watched {percent(watched[-1][1][0] / watched[-1][0][0] - 1)},"
                   f" floor {percent(floors[-1][1][0] / floors[-1][0][0] - 1)} of CPU time a step,"
                   f" load {os.getloadavg()[0]:.1f}")
    finally:
        job.process.terminate()
        job.process.wait()
    for name, alone, slower in zip(("attach_cpu", "attach_wall"), logarithms(floors),
                                   logarithms(watched)):
        floor, figure = median_interval(alone), median_interval(slower)
        wide = max(abs(floor[0]), abs(floor[2]))
        met = is_within(figure, SLOWER_BAR) if name == "attach_cpu" else None
        rows.add(name, interval_text(floor), interval_text(figure),
                 figure[1] / wide if wide > 0 else math.inf, f"interval<={percent(SLOWER_BAR)}", met)
    own = median_interval(slices.xylem_cpu)
    rows.add("attach_own_cpu", "0%", interval_text(own), math.inf, "none", None)
    remark(f"{options.mpi}, {options.ranks} ranks, {options.pairs} pairs of each kind of"
           f" {options.slice:g} s, seed {options.seed}; own: of one core, start and end of all of"
           " xylem's processes included")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=os.environ.get("XYLEM_BUILD",
                                                          measuring.SOURCE / "build/release"))
    parser.add_argument("--mpi", default="openmpi", choices=("mpich", "openmpi"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=20, help="of each kind [20]")
    parser.add_argument("--slice", type=float, default=3, help="seconds [3]")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), help="of the order")
    parser.add_argument("--strict", action="store_true", help="a missed bar is an error")
    options = parser.parse_args()
    if options.pairs < 10:
        parser.error("--pairs: ten or more, or the interval says nothing")
    global harness
    harness = measuring.harness_of(options.build)

    rows = measuring.Rows(link="")
    with measuring.folder_of_bench() as folder:
        measuring.Reaper()
        measure(options, folder, rows)
    return 1 if options.strict and rows.missed else 0


if __name__ == "__main__":
    sys.exit(main())
