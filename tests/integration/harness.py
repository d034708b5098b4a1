"""What the whole-system tests stand on: run jobs under xylem, ask the store, look for leftovers.

Needs XYLEM_BUILD, the build folder. Everything a test makes is below its own temporary folder; what
runs on when a test ends is ended by process id.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

# No test needs a fast machine. This deadline only ends what hangs.
DEADLINE = 600

BUILD = pathlib.Path(os.environ["XYLEM_BUILD"])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
OURS = f"{BUILD}/"  # How the path of each of this build's files begins; build/dev2 is another build.
XYLEM = str(BUILD / "bin/xylem")
PROGRAMS = BUILD / "tests/mpi"  # NAME.mpich and NAME.openmpi

OPEN_MPI = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
            "--mca", "btl", "self,vader,tcp"]
MPICH = ["mpirun.mpich"]
LAUNCHERS = {"openmpi": OPEN_MPI, "mpich": MPICH}


def mpirun(library, ranks, program, *arguments):
    """The command line of a test program of tests/support/mpi on one host."""
    return [*LAUNCHERS[library], "-n", str(ranks), str(PROGRAMS / f"{program}.{library}"),
            *map(str, arguments)]


def environment(**more):
    """This environment, without what an outer xylem or test may have left in it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XYLEM_") and k != "LD_PRELOAD"}
    kept.update(OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    # Else MPI_Finalize of MPICH 4.0.2 may not return where ranks on several hosts have little of a processor, without
    # xylem too: one rank waits in PMI and makes no progress, the other waits for it to acknowledge a PUT of UCX.
    kept.update(UCX_TCP_PUT_ENABLE="n")
    kept.update(more)
    return kept


def random_seed():
    """XYLEM_SEED, to repeat a run's draws, or one of the clock. Whoever draws prints it."""
    return int(os.environ.get("XYLEM_SEED", time.time_ns() // 1_000_000 % 1_000_000_000))


def rest_after(begin):
    """The pause of a poll that began at this time. Many polls start a program: pauses leave the processors to others."""
    time.sleep(min(max(0.05, 4 * (time.monotonic() - begin)), 0.4))


def wait_until(condition, what, seconds=DEADLINE):
    """Polls until condition() is true; fails with `what` after so many seconds."""
    deadline = time.monotonic() + seconds
    while (begin := time.monotonic()) < deadline:
        found = condition()
        if found:
            return found
        rest_after(begin)
    raise AssertionError(f"not within {seconds} s: {what}")


def all_xylem_processes():
    """Process id -> (program file, command line) of everything of any xylem here, zombies left out."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            program = os.readlink(folder / "exe")
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # Ended, a zombie, or the kernel's own.
            continue
        if "/libexec/xylem/xylem-" in program:
            found[int(folder.name)] = (program, command.strip())
    return found


def xylem_processes():
    """Process id -> command line of what this build's xylem has running."""
    return {pid: command for pid, (program, command) in all_xylem_processes().items()
            if program.startswith(OURS)}


def environment_of(pid):
    """Variables of a process as a set of NAME=VALUE; empty when it has ended or is another user's."""
    try:
        return set(pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"))
    except OSError:
        return set()


def run_folders():
    """Folders of runs on this host, without those of another build's agents."""
    foreign = set()
    for pid, (program, _) in all_xylem_processes().items():
        if not program.startswith(OURS):
            foreign.update(entry.removeprefix("XYLEM_FOLDER=") for entry in environment_of(pid)
                           if entry.startswith("XYLEM_FOLDER="))
    for folder in pathlib.Path("/proc").glob("[0-9]*"):  # Of jobs, which name their run.
        job = dict(entry.split("=", 1) for entry in environment_of(folder.name) if "=" in entry)
        if "XYLEM_RUN" in job and not job.get("XYLEM_BACKEND", "").startswith(OURS):
            foreign.update(map(str, pathlib.Path("/dev/shm").glob(f"xylem-*-{job['XYLEM_RUN']}-front-end")))
    return sorted({str(p) for p in pathlib.Path("/dev/shm").glob("xylem-*")} - foreign)


class Store:
    """A run's file, asked through `xylem query`."""

    def __init__(self, path):
        self.path = str(path)

    def rows(self, sql):
        done = subprocess.run([XYLEM, "query", self.path, sql, "--json"], env=environment(),
                              capture_output=True, text=True, timeout=DEADLINE)
        if done.returncode != 0:
            raise AssertionError(f"{sql}: {done.stderr}")
        return json.loads(done.stdout)["results"][0]["rows"]

    def value(self, sql):
        rows = self.rows(sql)
        assert len(rows) == 1 and len(rows[0]) == 1, rows
        return next(iter(rows[0].values()))

    def account(self):
        return self.rows("SELECT * FROM account ORDER BY world, rank")


class Own:
    """What a test program counted of itself: tests/support/mpi/own_counts.h."""

    def __init__(self, prefix, ranks):
        self.calls, self.sends = {}, {}
        for rank in range(ranks):
            for line in pathlib.Path(f"{prefix}.{rank}.tsv").read_text().splitlines():
                kind, *fields = line.split("\t") if "\t" in line else line.split()
                if kind == "call" and int(fields[2]):
                    self.calls[(rank, fields[1])] = int(fields[2])
                elif kind == "send" and int(fields[2]):
                    self.sends[(rank, int(fields[1]))] = (int(fields[2]), int(fields[3]))

    def total(self):
        return sum(self.calls.values())


class WholeSystemTest(unittest.TestCase):
    """Base of tests that run jobs. Fails when a test leaves a process or a folder behind."""

    maxDiff = None
    stores: pathlib.Path  # Of one class; see run_job_once().

    def setUp(self):
        self.before = set(xylem_processes())
        self.folders_before = set(run_folders())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xylem-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.end_leftovers)
        # Agents and communication processes get it too, so it tells which are this test's.
        before = os.environ.get("TMPDIR")
        os.environ["TMPDIR"] = str(self.folder)
        self.addCleanup(lambda: os.environ.pop("TMPDIR") if before is None
                        else os.environ.update(TMPDIR=before))

    def own_processes(self):
        """As xylem_processes(), of this test alone."""
        return {pid: command for pid, command in xylem_processes().items()
                if f"TMPDIR={self.folder}" in environment_of(pid)}

    def end_leftovers(self):
        """Runs even when a test failed: the next one shall start clean. Ends what descends from this
        test, its jobs too, and nothing else; on an emulated cluster taking it down ends the rest."""
        for pid in map(int, (folder.name for folder in pathlib.Path("/proc").glob("[0-9]*"))):
            variables = environment_of(pid)
            if f"TMPDIR={self.folder}" not in variables or pid == os.getpid():
                continue
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            for entry in variables:
                if entry.startswith("XYLEM_FOLDER="):
                    shutil.rmtree(entry.removeprefix("XYLEM_FOLDER="), ignore_errors=True)

    def xylem(self, *arguments, timeout=DEADLINE, env=None, stdin=None, cwd=None):
        """Runs xylem to its end; returns the finished process with its output as text."""
        return subprocess.run([XYLEM, *map(str, arguments)], env=environment(**(env or {})),
                              capture_output=True, text=True, timeout=timeout, input=stdin,
                              cwd=cwd or self.folder)

    def start(self, *arguments, env=None, **how):
        """Starts xylem and returns the running process."""
        process = subprocess.Popen([XYLEM, *map(str, arguments)], env=environment(**(env or {})),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.folder, **how)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
            # Not read to their end: ranks of a test that has failed may hold them for ever.
            for pipe in (process.stdout, process.stderr):
                pipe.close()

        self.addCleanup(end)
        return process

    def run_job(self, command, *options, expect=0, name="run.db", **how):
        """Runs a job with --store NAME; checks the exit code and returns its store."""
        path = self.folder / name
        done = self.xylem("run", "--store", path, *options, "--", *command, **how)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        self.done = done
        return Store(path)

    def run_job_once(self, command, *options, name, **how):
        """As run_job(), for tests that only read the store: tests of a class that ask for the same name share it."""
        cls = type(self)
        if "stores" not in vars(cls):
            cls.stores = pathlib.Path(tempfile.mkdtemp(prefix="xylem-test-"))
            cls.addClassCleanup(shutil.rmtree, cls.stores, ignore_errors=True)
        stored = cls.stores / name
        if not stored.exists():
            shutil.copy(self.run_job(command, *options, name=name, **how).path, stored)
        return Store(stored)

    def assert_nothing_left(self, seconds=60):
        left = {}

        def clean():
            left.clear()
            left.update({p: c for p, c in xylem_processes().items() if p not in self.before})
            return not left and set(run_folders()) <= self.folders_before

        try:
            wait_until(clean, "everything ended", seconds)
        except AssertionError:
            self.fail(f"left behind: {left} {set(run_folders()) - self.folders_before}")

    def assert_intact(self, store):
        self.assertEqual(store.value("PRAGMA integrity_check"), "ok")

    def assert_adds_up(self, store):
        """captured = stored + lost, for calls and, where events were wanted, for events."""
        for line in store.account():
            self.assertEqual(line["captured"], line["stored"] + line["lost"], line)
        for line in store.rows("SELECT * FROM account_event"):
            self.assertEqual(line["events"], line["stored_events"] + line["lost_events"], line)
            self.assertEqual(line["calls"], line["stored_calls"] + line["lost_calls"], line)

    def assert_operations_complete(self, store):
        """Each operation with a request has one start and one completion. Returns their number."""
        found = {}
        for stage, other in (("start", "event"), ("completion", None)):
            rows = store.rows(f"SELECT world, rank, request FROM completion WHERE stage = '{stage}'")
            rows += store.rows(f"SELECT world, rank, request FROM {other} WHERE stage = '{stage}'") if other else []
            self.assertNotIn(None, {row["request"] for row in rows})
            found[stage] = sorted((row["world"], row["rank"], row["request"]) for row in rows)
        self.assertEqual(len(found["start"]), len(set(found["start"])), "a number twice")
        self.assertEqual(found["start"], found["completion"])
        return len(found["start"])

    def assert_exact(self, store, own, world=0):
        """Calls of every rank and function, messages and bytes of every pair, and the account."""
        stored = {(r["rank"], r["function"]): r["calls"] for r in
                  store.rows(f"SELECT * FROM function_total WHERE world = {world} AND calls > 0")}
        self.assertEqual(stored, own.calls)
        pairs = {(r["source"], r["destination"]): (r["messages"], r["bytes"]) for r in
                 store.rows(f"SELECT * FROM comm_matrix WHERE world = {world} AND messages > 0")}
        self.assertEqual(pairs, own.sends)
        account = [r for r in store.account() if r["world"] == world]
        for line in account:
            self.assertEqual(line["captured"], line["stored"] + line["lost"], line)
            self.assertEqual(line["lost"], 0, line)
            self.assertTrue(line["complete"], line)
        self.assertEqual(sum(r["captured"] for r in account), own.total())
