#!/usr/bin/env python3
"""Unusual programs under both MPIs: none is harmed, and the account of each is true.

Each program of the table runs twice: alone, and under `xylem run`. Its standard output and its exit
code must be the same, its time must not show a wait, and the account must be true: all calls that
the program counted itself (tests/support/mpi/unharmed/unharmed.h) are captured, or a row of `loss`
says whose calls are not, and why.

    XYLEM_BUILD=$PWD/build/dev python3 tests/integration/unharmed_test.py  (each program under one of the MPIs)
    ... unharmed_test.py --all                                             (each program under both MPIs)
    ... unharmed_test.py UnderMpich.test_exceptions_from_an_error_handler  (any of these tests)
    ... unharmed_test.py --table                                           (the programs, and how each is run)
"""

import collections
import contextlib
import dataclasses
import itertools
import os
import re
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import unittest

from harness import LAUNCHERS, PROGRAMS, XYLEM, WholeSystemTest, environment, wait_until

# What the account must say of a program's ranks.
WATCHED = "watched"  # Captured is the program's own count, complete, and nothing is lost.
KILLED = "killed"    # Captured is the program's own count; the process ended as none should.
TOLD = "told"        # The same; or a row of `loss` has a reason, and how many calls are missing where that is known.
NO_MPI = "no MPI"    # No rank is seen, and a sentence says so.
UNSEEN = "unseen"    # The same of ranks that nobody can know of: no agent is there to be told, or no call passes xylem.

# Parts of `loss` whose calls are in `captured`, or that are no calls.
COUNTED_AS_CAPTURED = ("ring", "window", "chunk", "message", "receive", "request", "host")

SLOTS, SLOT = 255, struct.Struct("=4q")  # unharmed.h: own_file, own_slot
FACTOR, FLOOR = 2, 3.0  # Seconds that a run may take: so many times those without xylem, and so many more.
DEADLINE = 15  # Then a program counts as hanging.


@dataclasses.dataclass(frozen=True)
class Program:
    """A line of the table.

    `job` is what bash runs; `{mpirun}` is the launcher, `{bin}` the folder of programs, `{m}` the MPI,
    `{preload}` what is in LD_PRELOAD already, followed by ':' if anything is. `around` is what bash runs before it,
    and before xylem as well. `output` is False where the launcher loses output of its own accord.
    """
    name: str
    job: str
    account: str = WATCHED
    around: str = ""
    mpis: tuple = ("mpich", "openmpi")
    output: bool = True
    code: int = 0          # With which it ends alone; not looked at where `account` is KILLED or NO_MPI.
    either: tuple = ()     # The launcher ends it with one of these codes, as it happens, also when it runs alone.
    told: str = ""         # What standard error must say of it.
    max_excess: int = -1   # What the program measures may be this much more than without xylem.
    environment: tuple = ()
    patience: float = FLOOR  # Seconds that it may take longer than FACTOR times those without xylem.


def ranks(program, *arguments, of=2):
    return " ".join([f"{{mpirun}} -n {of} {{bin}}/{program}.{{m}}", *arguments])


def each(kind, **names):
    """Programs of one file: NAME=how or NAME=(how, account...)."""
    for name, how in names.items():
        how = how if isinstance(how, tuple) else (how,)
        yield Program(name, ranks(kind, how[0]), *how[1:])


PLAIN = ranks("unharmed_limits", "plain")
ALONE_RANK = "{bin}/unharmed_limits.{m} plain"  # Without mpirun: a world of one.
MPICH_ONLY, OPEN_MPI_ONLY = ("mpich",), ("openmpi",)
OTHER_SHARED_MEMORY, NO_SHARED_MEMORY = (("UCX_TLS", "sysv,self"),), (("UCX_TLS", "tcp,self"),)
# In a mount namespace of its own, so that nothing here is seen outside.
ALONE = "unshare --mount --propagation private bash -c "

TABLE = [
    # Limits, inside the job and around xylem too.
    Program("files_may_not_grow_past_16_mib_in_the_job", f"ulimit -f 16384; {PLAIN}", TOLD),
    Program("files_may_not_grow_past_64_mib", PLAIN, TOLD, around="ulimit -f 65536"),
    Program("address_space_of_1_gib_in_the_job", f"ulimit -v 1048576; {PLAIN}", TOLD),
    Program("address_space_of_1_gib", PLAIN, TOLD, around="ulimit -v 1048576"),
    Program("forty_descriptors_in_the_job", f"ulimit -n 40; {PLAIN}", TOLD),
    Program("forty_descriptors", PLAIN, TOLD, around="ulimit -n 40"),
    Program("twenty_four_ranks_with_48_descriptors_each",
            "{mpirun} -n 24 bash -c 'ulimit -n 48; exec {bin}/unharmed_limits.{m} plain'", TOLD),
    Program("no_locked_memory", PLAIN, around="ulimit -l 0"),
    Program("a_small_stack", PLAIN, around="ulimit -s 256"),
    Program("an_unlimited_stack", PLAIN, around="ulimit -s unlimited"),
    Program("mlockall", ranks("unharmed_limits", "lock-memory"), max_excess=32 << 10),
    Program("mlockall_before_the_start", ranks("unharmed_limits", "lock-memory-first"), max_excess=32 << 10),
    Program("address_space_of_an_idle_rank", ranks("unharmed_limits", "address-space"), max_excess=64 << 10),
    *each("unharmed_limits",
          limits_set_by_the_program="own-limits",
          limits_set_before_the_start=("own-limits-first", TOLD),
          what_a_program_sees_of_itself="look-around",
          another_user="user",
          a_folder_that_is_gone_and_no_permissions="place",
          a_folder_that_is_gone_before_the_start="place-first",
          a_root_without_proc="root",
          an_environment_that_is_cleared="clear-environment",
          an_environment_without_our_variables=("drop-our-variables", UNSEEN),
          descriptors_above_2_closed_before_the_start="close-inherited",
          descriptors_not_its_own_closed="close-others",
          descriptors_numbered_by_the_program="number-descriptors"),
    # Without mpirun under MPICH: its launcher kills, now and then, a rank whose socket is closed.
    Program("every_descriptor_closed", "{bin}/unharmed_limits.{m} close-all", KILLED, mpis=MPICH_ONLY),
    Program("every_descriptor_closed", ranks("unharmed_limits", "close-all"), KILLED, mpis=OPEN_MPI_ONLY),
    # Open MPI's daemon waits for ever for ranks of another user; MPICH's cannot open one another's memory.
    Program("another_user_before_the_start", ranks("unharmed_limits", "user-first", of=1), TOLD, mpis=MPICH_ONLY),
    # What the job's surroundings lack. MPICH needs UCX_TLS to do without /dev/shm, and cannot without /proc.
    Program("dev_shm_full", ALONE + f"'mount -t tmpfs -o size=64k none /dev/shm; exec {PLAIN}'", TOLD,
            environment=OTHER_SHARED_MEMORY),
    Program("dev_shm_read_only", ALONE + f"'mount -t tmpfs -o ro none /dev/shm; exec {PLAIN}'", UNSEEN,
            told="capture is off in this process: cannot make the folder",
            environment=OTHER_SHARED_MEMORY),
    Program("dev_shm_emptied_between_worlds",
            ALONE + f"'mount -t tmpfs none /dev/shm; {PLAIN}; rm -rf /dev/shm/*; {PLAIN}'"),
    Program("a_job_without_proc", ALONE + f"'mount -t tmpfs none /proc; exec {PLAIN}'", TOLD, mpis=OPEN_MPI_ONLY),
    Program("a_network_namespace", f"unshare --net bash -c 'ip link set lo up; exec {PLAIN}'", TOLD),
    Program("a_process_namespace", f"unshare --pid --fork --mount-proc {PLAIN}", TOLD,
            patience=13),  # For 10 s the front end waits for the agent, which may only be cut off, to come back.
    *each("unharmed_sandbox",
          without_newer_system_calls=("old-kernel", UNSEEN),
          where_no_process_can_be_started=("no-children", UNSEEN)),
    Program("where_no_unix_socket_can_be_made", ranks("unharmed_sandbox", "no-unix"), UNSEEN,
            environment=NO_SHARED_MEMORY),
    # Surroundings that only look harmless.
    Program("no_permissions_for_new_files", PLAIN, around="umask 0777"),
    Program("symbols_bound_at_the_start", PLAIN, environment=(("LD_BIND_NOW", "1"),)),
    Program("a_large_environment", PLAIN, environment=(("LARGE", "x" * 120_000),)),
    Program("one_processor_at_the_lowest_priority", PLAIN, around="taskset -cp 0 $$ >&2; renice 19 $$ >&2"),
    # Standard streams.
    Program("no_standard_streams", "{mpirun} -n 2 bash -c 'exec {bin}/unharmed_limits.{m} plain <&- >&- 2>&-'"),
    # MPICH's launcher does not start with a closed stream.
    Program("no_standard_input_of_the_whole_run", ALONE_RANK, around="exec <&-"),
    Program("no_standard_output_of_the_whole_run", ALONE_RANK, around="exec >&-"),
    Program("no_standard_error_of_the_whole_run", ALONE_RANK, around="exec 2>&-"),
    Program("no_standard_streams_of_the_whole_run", ALONE_RANK, around="exec <&- >&- 2>&-"),
    # Processes.
    *each("unharmed_processes",
          a_subreaper_that_waits_for_its_children="subreaper",
          a_handler_that_reaps_any_child="reap-in-handler",
          children_that_are_ignored="ignore-children",
          a_fork_storm="fork-storm",
          posix_spawn="spawn",
          vfork_system_and_popen="vfork",
          mpi_in_a_forked_child="init-in-child",
          exec_before_the_start="exec-first",
          exec_after_the_end="exec-last",
          a_session_of_its_own="leave-group",
          not_dumpable_and_dying_with_its_parent="die-with-parent",
          a_daemon_that_stays="daemon"),
    # Without mpirun under MPICH, as above: its launcher may lose the output of the other program.
    Program("exec_in_the_midst", "{bin}/unharmed_processes.{m} exec-in-the-midst", KILLED, mpis=MPICH_ONLY),
    Program("exec_in_the_midst", ranks("unharmed_processes", "exec-in-the-midst"), KILLED, mpis=OPEN_MPI_ONLY),
    Program("a_reaper_around_each_rank",
            "{mpirun} -n 2 {bin}/unharmed_processes.{m} reap {bin}/unharmed_processes.{m} plain"),
    # Signals.
    *each("unharmed_signals",
          a_signal_storm_with_calls_in_the_handler="calls-in-handler",
          a_signal_storm_on_another_stack="calls-on-other-stack",
          a_signal_storm_during_the_start="from-before-the-start",
          a_signal_storm_from_a_thread="from-a-thread",
          every_signal_blocked="blocked"),
    *(Program(name, ranks("unharmed_signals", how), KILLED, output=False)
      for name, how in [("abort_in_a_handler", "abort"), ("mpi_abort_in_a_handler", "mpi-abort")]),
    Program("exit_in_a_handler", ranks("unharmed_signals", "exit"), KILLED, mpis=OPEN_MPI_ONLY, output=False),
    # Beside busy loops and without xylem, Hydra ended with 1 in 7 of 407 runs, and with 9 in 3, since the other rank ends too.
    Program("exit_in_a_handler", ranks("unharmed_signals", "exit"), KILLED, mpis=MPICH_ONLY, output=False, either=(1, 5, 9)),
    # Errors and callbacks that do not return.
    *each("unharmed_errors",
          exceptions_from_an_error_handler="exceptions",
          exceptions_in_threads="exceptions-in-threads",
          exceptions_from_many_depths="deep-exceptions",
          longjmp_from_an_error_handler="jumps",
          fibres_that_leave_a_call="fibres",
          pthread_exit_in_an_error_handler="thread-exits",
          exceptions_from_an_operator="callbacks",
          an_error_handler_that_calls_mpi="returning"),
    # Threads.
    *each("unharmed_threads",
          threads_that_end="end",
          many_short_threads="short-lived",
          more_threads_at_once_than_rings=("many-at-once", TOLD),
          calls_of_threads_that_end="call-while-ending",
          threads_that_stay_at_the_end="detached",
          a_main_thread_that_leaves="main-leaves",
          cancelled_threads="cancelled",
          threads_with_small_stacks="small-stacks"),
    # UCX's own patches of mmap end every program with gcc 12's thread sanitizer.
    *(Program(f"{by}s_{what}_sanitizer", ranks(program, "end"),
              environment=((option, value), ("UCX_MEM_MMAP_HOOK_MODE", "none")))
      for by, what, program, option, value in [
          ("gcc", "address", "unharmed_asan", "ASAN_OPTIONS", "detect_leaks=0"),
          ("gcc", "thread", "unharmed_tsan", "TSAN_OPTIONS", "report_bugs=0"),
          ("clang", "address", "unharmed_clang_asan", "ASAN_OPTIONS", "detect_leaks=0"),
          ("clang", "thread", "unharmed_clang_tsan", "TSAN_OPTIONS", "report_bugs=0")]),
    # Starts and ends.
    *each("unharmed_life",
          a_million_clock_reads="clock",
          calls_before_the_start_and_after_the_end="at-exit",
          many_communicators="communicators",
          ranks_that_never_call_mpi=("never", NO_MPI)),
    Program("no_finalize", ranks("unharmed_life", "_exit"), KILLED, mpis=OPEN_MPI_ONLY),
    # Hydra may end a rank that is about to leave when it sees another leave: 2 of 100 times without xylem.
    Program("no_finalize", ranks("unharmed_life", "_exit"), KILLED, mpis=MPICH_ONLY, output=False, either=(0, 1)),
    *(Program(name, ranks("unharmed_life", how), KILLED, output=False)
      for name, how in [("mpi_abort", "abort"), ("a_killed_rank", "killed"), ("a_rank_with_a_segfault", "segfault")]),
    Program("an_exit_code", ranks("unharmed_life", "exit-code"), code=3),
    Program("sessions", ranks("unharmed_life", "sessions"), TOLD, mpis=MPICH_ONLY),
    Program("constructors_that_start_mpi", ranks("unharmed_early"), TOLD),
    Program("constructors_that_ask", ranks("unharmed_asking")),
    Program("a_module_with_mpi", "{mpirun} -n 2 {bin}/unharmed_loader module {bin}/libunharmed_module.{m}.so"),
    Program("mpi_by_dlsym", "{mpirun} -n 2 {bin}/unharmed_loader symbols {libmpi}", UNSEEN),
    Program("a_static_mpi", "{mpirun} -n 2 {bin}/static_mpi exit 3", NO_MPI, mpis=MPICH_ONLY),
    # Fortran.
    Program("fortran_use_mpi", ranks("unharmed_fortran_mpi"), TOLD),
    Program("fortran_mpif_h", ranks("unharmed_fortran_mpif"), TOLD),
    Program("fortran_mpi_f08", ranks("unharmed_fortran_f08"), TOLD),
    Program("fortran_with_calls_in_c", ranks("unharmed_fortran_c"), TOLD),
    # Other tools.
    Program("a_tool_in_the_executable", ranks("unharmed_with_tool", "plain"), TOLD),
    Program("a_tool_preloaded_before", "{mpirun} -n 2 bash -c 'LD_PRELOAD={bin}/libunharmed_tool.{m}.so"
            "${{LD_PRELOAD:+:}}$LD_PRELOAD exec {bin}/unharmed_life.{m} plain'", TOLD),
    Program("a_tool_preloaded_behind", "{mpirun} -n 2 bash -c 'LD_PRELOAD=$LD_PRELOAD${{LD_PRELOAD:+:}}"
            "{bin}/libunharmed_tool.{m}.so exec {bin}/unharmed_life.{m} plain'"),
    Program("a_tool_that_is_linked", ranks("unharmed_linked_tool", "plain")),
    Program("a_tool_that_counts_a_million_clock_reads", ranks("unharmed_linked_tool", "clock")),
    Program("a_tool_that_calls_the_next_in_line", "{mpirun} -n 2 bash -c 'LD_PRELOAD="
            "{bin}/libunharmed_next_tool.{m}.so${{LD_PRELOAD:+:}}$LD_PRELOAD exec {bin}/unharmed_life.{m} plain'"),
    Program("a_tool_before_and_a_tool_behind", "{mpirun} -n 2 bash -c 'LD_PRELOAD={bin}/libunharmed_next_tool.{m}.so"
            "${{LD_PRELOAD:+:}}$LD_PRELOAD exec {bin}/unharmed_linked_tool.{m} plain'"),
    # Worlds.
    Program("a_half_preloaded_world", "{mpirun} -n 1 {bin}/unharmed_limits.{m} plain : "
            "-n 1 env -u LD_PRELOAD {bin}/unharmed_limits.{m} plain", TOLD),
    Program("a_world_preloaded_from_rank_1", "{mpirun} -n 1 env -u LD_PRELOAD {bin}/unharmed_limits.{m} plain : "
            "-n 1 {bin}/unharmed_limits.{m} plain", TOLD),
    Program("programs_of_two_kinds", "{mpirun} -n 1 {bin}/unharmed_limits.{m} plain : "
            "-n 1 {bin}/unharmed_life.{m} plain"),
    Program("two_worlds_in_a_script", f"{PLAIN}; {PLAIN}"),
    # Each has a folder of its own: an mpirun of Open MPI that ends removes the folder of the user's sessions on the
    # host, perhaps just when another one begins in it.
    Program("two_worlds_at_once", " & ".join([f"TMPDIR=$(mktemp -d) {PLAIN}"] * 2) + "; wait"),
]


class Run:
    """How a program went: what it printed, its end, what it counted itself."""

    def __init__(self, done, seconds, counts):
        self.code, self.said, self.seconds = done.returncode, done.stderr, seconds
        # Process ids, what UCX logs, and the order in which ranks print, differ from run to run.
        self.lines = sorted(re.sub(r"PID \d+", "PID", line) for line in done.stdout.splitlines()
                            if not re.search(r"\] +\S+ +UCX +[A-Z]+ ", line))
        self.slots = []  # (pid, rank, calls, value)
        taken = SLOT.unpack_from(counts)[0]
        for slot in range(min(taken, SLOTS)):
            self.slots.append(SLOT.unpack_from(counts, (slot + 1) * SLOT.size))

    def calls(self):
        """Rank -> calls, of ranks that know who they are."""
        own = {}
        for _, rank, calls, _ in self.slots:
            if rank >= 0:
                own[rank] = own.get(rank, 0) + calls
        return own


class Unharmed(WholeSystemTest):
    """One claim a program; see claim()."""

    mpi = None

    def command(self, program):
        words = {"mpirun": " ".join(LAUNCHERS[self.mpi]), "bin": PROGRAMS, "m": self.mpi,
                 "libmpi": {"mpich": "libmpich.so.12", "openmpi": "libmpi.so.40"}[self.mpi]}
        return program.job.format(**words)

    def run_program(self, program, *in_front):
        """Through bash, with `in_front` before the job but behind what is around both."""
        counts = self.folder / f"counts{len(in_front)}"
        counts.write_bytes(bytes(SLOT.size * (SLOTS + 1)))
        text = f"{program.around}; " if program.around else ""
        text += " ".join(["exec", *in_front, "bash", "-c", shlex.quote(self.command(program))])
        begin = time.monotonic()
        process = subprocess.Popen(["bash", "-c", text], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env=environment(UNHARMED_COUNTS=str(counts), **dict(program.environment)))
        try:
            out, said = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, said = process.communicate()
            said += f"\n[had not ended after {DEADLINE} s]"
        seconds = time.monotonic() - begin
        done = subprocess.CompletedProcess(text, process.returncode, out, said)
        run = Run(done, seconds, counts.read_bytes())
        if "daemon" in program.name:
            for _, _, _, pid in run.slots:
                if pid > 0:
                    os.kill(pid, signal.SIGKILL)
        return run

    def run_alone(self, program):
        """MPICH over TCP hangs by itself now and then: that is no measure of xylem."""
        for _ in range(3):
            run = self.run_program(program)
            if run.seconds < DEADLINE:
                break
        return run

    def claim(self, program):
        """Runs it alone and watched; all that differs is one message."""
        for path in re.findall(rf"{re.escape(str(PROGRAMS))}/[\w.]+", self.command(program)):
            if not os.path.exists(path):  # Where clang or a static MPI is missing.
                self.skipTest(f"was not built: {path}")
        for name in ("run.db", "again.db"):  # Who waits takes as long again; what a busy machine took does not.
            store = self.folder / name
            alone = self.run_alone(program)
            watched = self.run_program(program, XYLEM, "run", "--store", shlex.quote(str(store)), "--")
            if not self.is_late(program, alone, watched):
                break
        wrong = [*self.harm(program, alone, watched), *self.untruths(program, watched, store)]
        said = [line for line in watched.said.splitlines() if "xylem" in line]
        if wrong:
            self.fail("\n  ".join([f"{program.name} under {self.mpi}:", *wrong, *(f"[said] {s}" for s in said)]))
        self.assert_nothing_left()

    def assert_nothing_left(self, seconds=60):
        """Of this test alone: the other MPI's run beside it."""
        try:
            wait_until(lambda: not self.own_processes(), "everything ended", seconds)
        except AssertionError:
            self.fail(f"left behind: {self.own_processes()}")

    @staticmethod
    def is_late(program, alone, watched):
        return watched.seconds > alone.seconds * FACTOR + program.patience

    def harm(self, program, alone, watched):
        """What the program has of xylem."""
        if program.account in (WATCHED, TOLD, UNSEEN) and alone.code != program.code:
            yield f"does not run here without xylem either: exit code {alone.code}: {alone.said[-300:]}"
        codes = {watched.code, alone.code}
        # Hydra ends the other ranks by SIGTERM when one has died; on a busy machine it may report their end.
        is_hydras = self.mpi == "mpich" and program.account == KILLED and signal.SIGTERM in codes
        if len(codes) > 1 and not codes <= set(program.either) and not is_hydras:
            yield f"exit code {watched.code} instead of {alone.code}"
        if program.output and watched.lines != alone.lines:
            more, less = (collections.Counter(run.lines) for run in (watched, alone))
            yield f"output: {sorted((more - less).elements())} instead of {sorted((less - more).elements())}"
        if self.is_late(program, alone, watched):
            yield f"took {watched.seconds:.1f} s instead of {alone.seconds:.1f} s"
        if program.max_excess >= 0:
            value = [max((v for _, _, _, v in run.slots), default=0) for run in (alone, watched)]
            if value[1] > value[0] + program.max_excess:
                yield f"measures {value[1]} instead of {value[0]}, more than {program.max_excess} above"

    @staticmethod
    def read(store):
        """Its account and its losses."""
        names = ("world", "rank", "captured", "stored", "lost", "complete")
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
            damage, = database.execute("PRAGMA integrity_check").fetchone()
            if damage != "ok":
                raise sqlite3.DatabaseError(damage)
            account = database.execute(f"SELECT {', '.join(names)} FROM account").fetchall()
            losses = database.execute("SELECT rank, calls, reason, part FROM loss").fetchall()
        return ([dict(zip(names, row)) for row in account],
                [dict(zip(("rank", "calls", "reason", "part"), row)) for row in losses])

    def untruths(self, program, run, store):
        """What the account says otherwise than the program."""
        if program.told and not re.search(program.told, run.said):
            yield f"is not told of: {program.told!r}"
        if not store.exists():
            yield "there is no store"
            return
        try:
            account, losses = self.read(store)
        except sqlite3.DatabaseError as error:
            yield f"the store is damaged: {error}"
            return
        if program.account in (NO_MPI, UNSEEN):
            if account:
                yield f"ranks are seen that are none: {account}"
            if not re.search("no MPI process has registered", run.said):
                yield "nobody says that no MPI process has registered"
            return
        for line in account:
            if line["captured"] != line["stored"] + line["lost"]:
                yield f"captured is not stored + lost: {line}"
        own = run.calls()
        if not own:
            if not account and not [row for row in losses if row["reason"]]:
                yield "nothing is captured, and no row of `loss` says why"
            return
        missing = [row for row in losses if row["part"] not in COUNTED_AS_CAPTURED and row["reason"]]
        anyones = [row for row in missing if row["rank"] is None]
        for rank, calls in sorted(own.items()):
            lines = [line for line in account if line["rank"] == rank]
            captured = sum(line["captured"] for line in lines)
            complete = bool(lines) and all(line["complete"] for line in lines)
            if captured == calls:
                if program.account == WATCHED:
                    if not complete:
                        yield f"rank {rank}: all {calls:,} calls are captured and the account is not complete: {lines}"
                    lost = sum(line["lost"] for line in lines)
                    if lost:
                        yield f"rank {rank}: {lost:,} of its {calls:,} calls are lost"
                continue
            # One row a rank; that of a process which never knew its rank stands for one that has none.
            rows = [row for row in missing if row["rank"] == rank] or (anyones and [anyones.pop()])
            if not rows and lines and not complete:  # What a lost host had not sent, nobody can count.
                rows = [row for row in losses if row["part"] == "host" and row["reason"]]
            told = captured + sum(row["calls"] or 0 for row in rows)
            open_end = any(row["calls"] is None for row in rows)
            if program.account != TOLD or not rows or told > calls or (told < calls and not open_end):
                yield (f"rank {rank}: {captured:,} of its own {calls:,} calls are captured"
                       f"{', complete' if complete else ''}; `loss` says: {rows or 'nothing'}")


def tests_of(mpi):
    """A method for each program that this MPI can run."""
    def one(program):
        def test(self):
            self.claim(program)
        return test
    return {f"test_{program.name}": one(program) for program in TABLE if mpi in program.mpis}


def class_of(name, mpi):
    there = (PROGRAMS / f"unharmed_life.{mpi}").exists()
    made = type(name, (Unharmed,), {"mpi": mpi, **tests_of(mpi)})
    return unittest.skipUnless(there, f"no programs for {mpi}")(made)


UnderMpich = class_of("UnderMpich", "mpich")
UnderOpenMpi = class_of("UnderOpenMpi", "openmpi")


def programs_of(mpi, every):
    """The programs that run under this MPI. Unless `every` is set, a program of both MPIs runs under one of them: the
    first in the table under MPICH, the second under Open MPI, the third under MPICH, and so on."""
    both = [program for program in TABLE if len(program.mpis) > 1]
    turn = dict(zip((program.name for program in both), itertools.cycle(("mpich", "openmpi"))))
    return [program for program in TABLE
            if mpi in program.mpis and (every or turn.get(program.name, mpi) == mpi)]


def print_table():
    for line in TABLE:
        default = "/".join(mpi for mpi in LAUNCHERS if line in programs_of(mpi, every=False))
        print(f"{line.name:48} {line.account:8} {default:8} {f'{line.around}; ' if line.around else ''}{line.job}")


def run_both(every):
    """Each MPI's tests in a process of its own, at the same time: most of their time is spent waiting."""
    parts = [subprocess.Popen([sys.executable, __file__,
                               *(f"{name}.test_{program.name}" for program in programs_of(mpi, every))])
             for name, mpi in (("UnderMpich", "mpich"), ("UnderOpenMpi", "openmpi"))]
    return max([part.wait() for part in parts])


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print_table()
    elif sys.argv[1:] in ([], ["--all"]):
        sys.exit(run_both(every="--all" in sys.argv))
    else:
        unittest.main(verbosity=2)
