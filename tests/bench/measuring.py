"""What benches of whole runs share: rows, processes run to their last descendant, figures of many.

CPU times are exact, not sampled: whoever has a Reaper is the subreaper of what it starts, so that
agents, which live in sessions of their own, are handed to it when they end, and wait4 tells what
each used.
"""

import collections
import contextlib
import ctypes
import importlib
import math
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36
BARS_HOLD_OVER = "tcp"
OPEN = "OPEN"  # Neither met nor missed.


def harness_of(build):
    """The integration tests' harness over the programs of `build`. Called once, before all else."""
    os.environ["XYLEM_BUILD"] = str(pathlib.Path(build).resolve())
    sys.path.insert(0, str(SOURCE / "tests/integration"))
    global harness
    harness = importlib.import_module("harness")  # It wants XYLEM_BUILD.
    return harness


def remark(text):
    print(f"# {text}", flush=True)


class Rows:
    """Prints rows and remembers missed bars. No link: names and bars as they stand."""

    def __init__(self, link=BARS_HOLD_OVER):
        self.missed = []
        self.link = link

    def add(self, name, floor, figure, ratio, bar, met):
        """`met` is None for a row without a bar, and OPEN where the figure does not tell."""
        if self.link:
            name = f"{name}_{self.link}"
        if self.link not in ("", BARS_HOLD_OVER):
            met = None
        verdict = {None: "remark", True: "PASS", False: "MISS"}.get(met, met)
        print(f"{name}: floor={floor} figure={figure} ratio={ratio:.3g} bar={bar} {verdict}",
              flush=True)
        remark("load average " + " ".join(f"{load:.2f}" for load in os.getloadavg())
               + f" on {os.cpu_count()} cores")
        if met is False:
            self.missed.append(name)


# ---- running and reaping

Ended = collections.namedtuple("Ended", "exit_code wall others_wall cpu orphans_cpu")
Ended.__doc__ = """A command and all that it left behind, run to the end.

wall: seconds until the command itself ended; others_wall: until its last descendant did. cpu: CPU
seconds of the command with all it waited for; orphans_cpu: of those that were handed to us.
"""


def end_what_is_left():
    """Ends what runs on because a measurement failed; gently first, so that agents clean up."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid in below(os.getpid()):
            if sign == signal.SIGKILL or name_of(pid) == "xylem":
                os.kill(pid, sign)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.01)
            except ChildProcessError:
                return


class Reaper:
    """Runs commands as the subreaper of their descendants. One at a time."""

    def __init__(self):
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")

    def start(self, command, log):
        """Starts a command with its output in the file `log`; collect it with finish()."""
        with open(log, "w") as output:
            self.begin = time.monotonic()
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=harness.environment())
        self.log = log
        return process

    def finish(self, process, timeout=300):
        """Waits for the command and every descendant; raises when it failed or takes too long."""
        signal.alarm(timeout)
        code, wall, cpu, orphans = None, 0.0, 0.0, 0.0
        while True:
            try:
                pid, status, used = os.wait4(-1, 0)
            except ChildProcessError:
                break
            if pid == process.pid:
                code, wall = os.waitstatus_to_exitcode(status), time.monotonic() - self.begin
                cpu = used.ru_utime + used.ru_stime
            else:
                orphans += used.ru_utime + used.ru_stime
        signal.alarm(0)
        process.returncode = code  # So that subprocess does not wait for it a second time.
        ended = Ended(code, wall, time.monotonic() - self.begin, cpu, orphans)
        if code != 0:
            said = pathlib.Path(self.log).read_text()
            raise RuntimeError(f"{process.args}: exit code {code}\n{said}")
        return ended


def below(pid):
    """Process ids of the descendants of `pid`, parents first."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # It has just ended.
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def on_cpu(pid):
    """Seconds that all threads of a process have run, to the nanosecond; 0.0 without one."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[0])
        except OSError:
            pass
    return total * 1e-9


def switches(pid):
    """How often a process gave up its core by itself: how often it woke up."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("voluntary_ctxt_switches"):
            return int(line.split()[1])
    return 0


def mapped_bytes(pid, field="Pss:"):
    """Mapping name -> proportional set size (or another field), from /proc/PID/smaps."""
    found, name = collections.Counter(), ""
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if not first.endswith(":"):
            fields = line.split(maxsplit=5)
            name = fields[5] if len(fields) == 6 else "anonymous"
        elif first == field:
            found[name] += 1024 * int(line.split()[1])
    return found


@contextlib.contextmanager
def folder_of_bench():
    """A folder for a bench that starts processes; none of them outlives it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="xylem-bench-"))
    try:
        yield folder
    finally:
        end_what_is_left()
        shutil.rmtree(folder, ignore_errors=True)


def exit_code(rows, strict):
    """Of a bench whose rows are printed; names those that missed their bars."""
    if rows.missed:
        remark("missed: " + " ".join(rows.missed))
    return 1 if strict and rows.missed else 0


# ---- figures of many runs

def median_interval(values):
    """(low, median, high): an interval that holds the true median with 95 % or more.

    Of the sorted values, the k-th from both ends, k the largest that keeps the odds (the sign
    test). It believes nothing about the shape of the noise, and one run that a neighbour disturbed
    does not move it. Under 6 values no such k exists: then the interval is the whole range.
    """
    values, n = sorted(values), len(values)
    k = 0
    while 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n <= 0.05:
        k += 1
    k = max(k - 1, 0)
    return values[k], statistics.median(values), values[n - 1 - k]


def is_within(interval, bar):
    """Whether the true figure is at most the bar; OPEN when the interval reaches to both sides."""
    low, _, high = interval
    return True if high <= bar else False if low > bar else OPEN


def percent(value):
    return f"{100 * value:.2f}%"


def interval_text(interval):
    low, middle, high = interval
    return f"{percent(middle)}[{percent(low)}..{percent(high)}]"


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(share * len(values)) - 1)]
