#!/usr/bin/env python3
"""Start and end of a run do no harm: a mistyped command costs no record, the job keeps its limits, a process that stands
still is not waited for, and a shell gets its environment back."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

from harness import BUILD, DEADLINE, LAUNCHERS, XYLEM, Store, WholeSystemTest, environment, mpirun, wait_until


def ranks(path):
    return Store(path).value("SELECT count(*) FROM rank")


class Records(WholeSystemTest):
    """What stands where a run is to be stored."""

    def commands_that_cannot_start(self):
        script = self.folder / "script"
        script.write_text("#!/nonexistent/sh\n")
        script.chmod(0o755)
        plain = self.folder / "plain"
        plain.write_text("echo\n")
        return [(["./typo"], 127), ([str(script)], 127), ([str(plain)], 126), ([str(self.folder)], 126)]

    def test_a_job_that_cannot_start_costs_no_record(self):
        self.run_job(mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own"), name="good.db")
        before = (self.folder / "good.db").read_bytes()
        for command, code in self.commands_that_cannot_start():
            with self.subTest(command=command):
                done = self.xylem("run", "--overwrite", "--store", "good.db", "--", *command)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn("cannot be started", done.stderr)
                self.assertEqual((self.folder / "good.db").read_bytes(), before)
        for options in (["--config", "nonexistent.toml"], ["--interface", "wlan77"], ["--topology", "kary:0"]):
            with self.subTest(options=options):
                done = self.xylem("run", "--overwrite", "--store", "good.db", *options, "--", "true")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual((self.folder / "good.db").read_bytes(), before)
        self.assertEqual([p.name for p in self.folder.glob("*.db*")], ["good.db"])
        self.assert_nothing_left()

    def test_a_job_whose_program_is_mistyped_behind_the_launcher_costs_no_record(self):
        self.run_job(mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own"), name="good.db")
        for library, launcher in LAUNCHERS.items():
            with self.subTest(library):
                done = self.xylem("run", "--overwrite", "--store", "good.db", "--", *launcher, "-n", "2", "./typo")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("the run before stays in good.db", done.stderr)
                self.assertEqual(ranks(self.folder / "good.db"), 2)
        self.assertEqual([p.name for p in self.folder.glob("*.db*")], ["good.db"])
        self.run_job(mpirun("mpich", 1, "count_calls", 100, 1, 1, self.folder / "own"), "--overwrite", name="good.db")
        self.assertEqual(ranks(self.folder / "good.db"), 1)
        self.assertEqual([p.name for p in self.folder.glob("*.db*")], ["good.db"])

    def test_a_front_end_that_is_killed_before_anything_is_recorded_costs_no_record(self):
        self.run_job(mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own"), name="good.db")
        process = self.start("run", "--overwrite", "--store", "good.db", "--", "sh", "-c", "touch started; read go",
                             stdin=subprocess.PIPE)
        wait_until(lambda: (self.folder / "started").exists(), "the job has started")
        front_end, = [pid for pid, line in self.own_processes().items() if "xylem-frontend" in line]
        os.kill(front_end, signal.SIGKILL)
        process.communicate("go\n", timeout=DEADLINE)
        self.assertEqual(ranks(self.folder / "good.db"), 2)
        self.assertEqual([p.name for p in self.folder.glob("*.db*")], ["good.db"])
        self.assert_nothing_left()

    def test_a_job_that_does_not_start_blocks_no_later_one(self):
        job = mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own")
        self.assertEqual(self.xylem("run", "--store", "x.db", "--", "./typo").returncode, 127)
        self.assertEqual(list(self.folder.glob("x.db*")), [])
        self.assertNotEqual(self.xylem("run", "--store", "x.db", "--", "mpirun.mpich", "./typo").returncode, 0)
        self.run_job(job, name="x.db")
        self.assertEqual(ranks(self.folder / "x.db"), 2)
        self.assertEqual(self.xylem("run", "--store", "x.db", "--", *job).returncode, 2, "it holds a record now")


class Limits(WholeSystemTest):
    """Limits of the shell hold for the job, and do not end what watches it."""

    def under(self, limit, *command, options=()):
        words = " ".join(map(str, [XYLEM, "run", "--store", "run.db", "--overwrite", *options, "--", *command]))
        return subprocess.run(["bash", "-c", f"ulimit {limit} && exec {words}"], env=environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=DEADLINE)

    def test_forty_descriptors_are_enough(self):
        done = self.under("-n 40", *mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(ranks(self.folder / "run.db"), 2)
        self.assert_nothing_left()

    def test_the_job_has_the_limits_it_would_have(self):
        for limit in ("-Sn 40", "-n 40", "-Sf 5000", "-Sv 5000000"):
            with self.subTest(limit):
                ask = f"ulimit -S{limit.split()[0][-1]}"
                done = self.under(limit, "bash", "-c", f"'{ask}'")
                self.assertEqual((done.returncode, done.stdout.strip()), (0, limit.split()[1]), done.stderr)

    def test_a_limit_of_file_sizes_kills_the_job_as_without_and_nobody_else(self):
        done = self.under("-f 4000", "sh", "-c", "'kill -XFSZ $$; echo survived'")
        self.assertEqual((done.returncode, done.stdout), (128 + signal.SIGXFSZ, ""), done.stderr)
        self.assertNotIn("front end died", done.stderr)
        self.assert_nothing_left()

    def test_a_store_that_reaches_the_limit_of_file_sizes_ends_nobody(self):
        process = self.start("run", "--store", "run.db", "--detail", "trace", "--",
                             *mpirun("mpich", 2, "count_calls", 1_000_000, 1, 5, self.folder / "own"))
        next(line for line in process.stderr if "to see it live" in line)  # The store is made.
        front_end, = [pid for pid, line in self.own_processes().items() if "xylem-frontend" in line]
        resource.prlimit(front_end, resource.RLIMIT_FSIZE, (900_000, 900_000))
        _, said = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, 0, said)
        self.assertNotIn("died", said)
        self.assertRegex(said, "room|limit")
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left(90)


class Stopped(WholeSystemTest):
    """A front end that is stopped."""

    def start_job(self):
        job = mpirun("mpich", 2, "count_calls", 100, 1, 1, self.folder / "own")
        script = self.folder / "job.sh"
        script.write_text(f"#!/bin/sh\n{' '.join(job)}\ntouch done\nread go\nexit 3\n")
        script.chmod(0o755)
        process = self.start("run", "--store", "run.db", "--", str(script), stdin=subprocess.PIPE)
        self.addCleanup(process.stdin.close)
        wait_until(lambda: (self.folder / "done").exists(), "the job is nearly over")
        front_end, = [pid for pid, line in self.own_processes().items() if "xylem-frontend" in line]
        os.kill(front_end, signal.SIGSTOP)
        return process, front_end

    def test_at_the_end_has_a_successor(self):
        process, _ = self.start_job()
        began = time.monotonic()
        _, said = process.communicate("go\n", timeout=DEADLINE)
        self.assertEqual(process.returncode, 3, said)
        self.assertLess(time.monotonic() - began, 60)
        self.assertRegex(said, r"the front end \(process \d+\) is stopped; it is killed after 20 s, and kill -CONT")
        self.assertIn("another front end takes over", said)
        store = Store(self.folder / "run.db")
        self.assert_intact(store)
        self.assertEqual(len(store.account()), 2, said)
        self.assert_nothing_left(90)

    def test_that_goes_on_in_time_ends_the_run_itself(self):
        process, front_end = self.start_job()
        process.stdin.write("go\n")
        process.stdin.flush()
        line = next(line for line in process.stderr if "is stopped" in line)
        self.assertIn(f"process {front_end}", line)
        os.kill(front_end, signal.SIGCONT)
        said = process.stderr.read()
        self.assertEqual(process.wait(timeout=DEADLINE), 3)
        self.assertIn("complete", said)
        self.assertNotIn("another front end", said)
        self.assert_nothing_left()


class Environment(WholeSystemTest):
    """The shell of `xylem serve`."""

    def test_is_as_before_after_the_stop(self):
        show = "env | grep -v '^_=' | LC_ALL=C sort"
        for before in ({}, {"LD_PRELOAD": self.library(), "XYLEM_SAMPLE": "MPI_Test=7"}):
            with self.subTest(before=sorted(before)):
                script = (f"{show} > before\neval \"$({XYLEM} serve --store served.db --overwrite)\"\n{show} > inside\n"
                          f"eval \"$({XYLEM} serve --stop)\" || exit 9\n{show} > after\n")
                done = subprocess.run(["bash", "-c", script], env=environment(**before), cwd=self.folder,
                                      capture_output=True, text=True, timeout=DEADLINE)
                self.assertEqual(done.returncode, 0, done.stderr)
                found = {name: (self.folder / name).read_text() for name in ("before", "inside", "after")}
                self.assertIn("XYLEM_RUN=", found["inside"])
                self.assertEqual(found["after"], found["before"])
        self.assert_nothing_left()

    def test_is_left_though_nothing_serves_any_more(self):
        script = (f"eval \"$({XYLEM} serve --store served.db)\"\nkill -KILL $XYLEM_SERVE_PID\n"
                  "while kill -0 $XYLEM_SERVE_PID 2>/dev/null; do :; done\n"
                  f"eval \"$({XYLEM} serve --stop)\"\nenv")
        done = subprocess.run(["bash", "-c", script], env=environment(), cwd=self.folder, capture_output=True, text=True,
                              timeout=DEADLINE)
        self.assertIn("no front end serves this environment", done.stderr)
        self.assertNotIn("XYLEM_", done.stdout)
        self.assertNotIn("LD_PRELOAD", done.stdout)
        self.assert_nothing_left(90)

    @staticmethod
    def library():
        return next(str(path) for path in pathlib.Path("/lib").glob("*-linux-gnu/libm.so.6"))


class Installation(WholeSystemTest):
    def test_in_a_folder_that_cannot_be_preloaded_from_is_refused_before_anything_is_started(self):
        for name in ("my tools", "a:b"):
            with self.subTest(name):
                prefix = self.folder / name
                for part in ("bin/xylem", "libexec/xylem/xylem-frontend", "libexec/xylem/xylem-backend",
                             "libexec/xylem/xylem-commproc", "lib/xylem/libxylem-capture.so"):
                    (prefix / part).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(BUILD / part, prefix / part)
                for words in (["run", "--store", "x.db", "--", "touch", "job-ran"], ["serve", "--store", "x.db"],
                              ["exec", "--", "touch", "job-ran"]):
                    done = subprocess.run([prefix / "bin/xylem", *words], env=environment(XYLEM_ADDRESS="127.0.0.1:1"),
                                          cwd=self.folder, capture_output=True, text=True, timeout=DEADLINE)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertIn(f"{prefix}/lib/xylem/libxylem-capture.so: cannot be preloaded", done.stderr)
                self.assertFalse((self.folder / "x.db").exists() or (self.folder / "job-ran").exists())


class Crashes(WholeSystemTest):
    def test_the_report_names_the_rank_that_crashed_and_where_the_others_were(self):
        for library in LAUNCHERS:
            for how in ("segfault", "kill"):
                with self.subTest(library=library, how=how):
                    self.xylem("run", "--store", "run.db", "--overwrite", "--", *mpirun(library, 2, "behave", how))
                    report = self.xylem("report", "run.db").stdout
                    self.assertRegex(report, r"a rank ended without MPI_Finalize rank=0 pid=\d+ .*in=\"?outside of MPI")
                    self.assert_nothing_left()

    def test_nothing_is_said_of_an_end_in_order(self):
        for library in LAUNCHERS:
            with self.subTest(library):
                self.run_job(mpirun(library, 2, "count_calls", 100, 1, 1, self.folder / "own"), "--overwrite")
                self.assertNotIn("without MPI_Finalize", self.done.stderr + self.xylem("report", "run.db").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
