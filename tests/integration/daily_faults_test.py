#!/usr/bin/env python3
"""Everyday faults: a clear sentence, the job unharmed, the store intact, nothing left behind."""

import os
import pathlib
import random
import re
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from harness import (DEADLINE, LAUNCHERS, PROGRAMS, Own, Store, WholeSystemTest, environment, mpirun, wait_until,
                     xylem_processes)


def pids_of(program):
    """Process ids of a running program whose first word ends so."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().split(b"\0")[0].decode().endswith(program):
                found.append(int(folder.name))
        except (OSError, UnicodeDecodeError):
            pass
    return found


class Jobs(WholeSystemTest):
    """What the job itself may do."""

    def test_output_input_and_exit_code_pass_through(self):
        done = self.xylem("run", "--store", "x.db", "--quiet", "--", "sh", "-c", "cat; echo out; echo err >&2; exit 7",
                          stdin="in\n")
        self.assertEqual((done.returncode, done.stdout), (7, "in\nout\n"))
        self.assertIn("err\n", done.stderr)
        self.assert_nothing_left()

    def test_a_job_without_mpi_is_said(self):
        self.run_job(["true"])
        self.assertIn("no MPI process has registered", self.done.stderr)
        self.assert_nothing_left()

    def test_a_command_that_is_not_there_ends_as_in_a_shell(self):
        done = self.xylem("run", "--store", "x.db", "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program: cannot be started", done.stderr)
        self.assert_nothing_left()

    def test_a_script_without_an_interpreter_line_is_run_by_sh(self):
        script = self.folder / "job"
        script.write_text("echo from sh\nexit 3\n")
        script.chmod(0o755)
        done = self.xylem("run", "--store", "x.db", "--", str(script))
        self.assertEqual((done.returncode, done.stdout), (3, "from sh\n"), done.stderr)

    def test_a_job_that_exits_non_zero(self):
        for library in LAUNCHERS:
            with self.subTest(library):
                plain = subprocess.run(mpirun(library, 2, "behave", "exit", 3), env=environment(),
                                       capture_output=True, text=True, timeout=DEADLINE)
                store = self.run_job(mpirun(library, 2, "behave", "exit", 3), "--overwrite",
                                     expect=plain.returncode)
                self.assert_intact(store)
                self.assert_nothing_left()

    def end_of(self, process):
        """What xylem said, at its end. An mpirun of Open MPI whose rank has died now and then waits for ever in
        PMIx_server_finalize(), for a thread of PMIx that waits for a lock. Then it is killed here."""
        try:
            return process.communicate(timeout=120)[1]
        except subprocess.TimeoutExpired:
            hanging = pids_of("mpirun.openmpi")
            print(f"{hanging}: mpirun has not ended within 120 s", flush=True)
            for pid in hanging:
                os.kill(pid, signal.SIGKILL)
            return process.communicate(timeout=DEADLINE)[1]

    def test_a_rank_that_dies_keeps_its_records(self):
        # Each rank makes 1000 calls and tells of them before rank 0 dies in the named way.
        for how in ("segfault", "kill", "abort", "_exit"):
            for library in LAUNCHERS:
                with self.subTest(how=how, library=library):
                    said = self.end_of(self.start("run", "--store", "run.db", "--overwrite", "--detail", "trace",
                                                  "--sample", "none", "--", *mpirun(library, 2, "behave", how)))
                    store = Store(self.folder / "run.db")
                    self.assertIn("captured", said)
                    calls = store.value("SELECT calls FROM function_total WHERE rank = 0 "
                                        "AND function = 'MPI_Comm_rank'")
                    self.assertGreaterEqual(calls, 1000)
                    self.assertEqual(store.value("SELECT count(*) FROM account_event WHERE stored_events >= 1000"), 2)
                    self.assert_adds_up(store)
                    self.assert_intact(store)
                    self.assert_nothing_left()

    def test_two_mpiruns_in_one_script_are_two_worlds(self):
        own = [self.folder / "a", self.folder / "b"]
        script = self.folder / "job.sh"
        lines = [" ".join(mpirun(library, 2, "count_calls", 20000, 1, 3, prefix))
                 for library, prefix in zip(("mpich", "openmpi"), own)]
        script.write_text("#!/bin/sh\nset -e\n" + "\n".join(lines) + "\n")
        script.chmod(0o755)
        store = self.run_job([str(script)])
        for world, prefix in enumerate(own):
            self.assert_exact(store, Own(prefix, 2), world)
        self.assert_nothing_left()

    def test_two_runs_at_once_do_not_meet(self):
        runs = []
        for name in ("a", "b"):
            runs.append(self.start("run", "--store", f"{name}.db", "--", *mpirun(
                "mpich", 2, "count_calls", 200000, 1, ord(name), self.folder / name)))
        for process in runs:
            self.assertEqual(process.wait(timeout=DEADLINE), 0)
        for name in ("a", "b"):
            self.assert_exact(Store(self.folder / f"{name}.db"), Own(self.folder / name, 2))
        self.assert_nothing_left()

    def test_mpi_init_may_come_late(self):
        # Longer than any settling, so that placing has to wait for the first rank.
        store = self.run_job(mpirun("mpich", 2, "behave", "late", 5), "--settle", "1s")
        self.assertEqual(len(store.account()), 2)
        self.assertTrue(all(line["complete"] for line in store.account()))
        self.assert_nothing_left()

    @unittest.skipUnless((PROGRAMS / "static_mpi").exists(), "MPICH's static library does not link here")
    def test_a_job_with_a_static_mpi_is_run_and_said(self):
        store = self.run_job(["mpirun.mpich", "-n", "2", str(PROGRAMS / "static_mpi"), "exit", "3"], expect=3)
        self.assertIn("no MPI process has registered", self.done.stderr)
        self.assertIn("its MPI is linked statically", self.done.stderr)
        self.assert_intact(store)
        self.assert_nothing_left()

    def test_a_static_program_is_run_and_said(self):
        store = self.run_job([str(PROGRAMS / "static_program")])
        self.assertIn("no MPI process has registered", self.done.stderr)
        self.assert_intact(store)

    def test_serve_takes_what_a_plain_launcher_starts(self):
        prefix = self.folder / "own"
        script = (f"eval \"$({BUILD_XYLEM} serve --store served.db)\"\n"
                  f"{' '.join(mpirun('mpich', 2, 'count_calls', 20000, 1, 5, prefix))}\n"
                  f"{BUILD_XYLEM} serve --stop\n")
        done = subprocess.run(["bash", "-c", script], env=environment(), cwd=self.folder, timeout=DEADLINE,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_exact(Store(self.folder / "served.db"), Own(prefix, 2))
        self.assert_nothing_left()

    def test_serve_lets_go_of_what_its_caller_reads(self):
        # Output and errors through pipes, read to their end: they end although it serves on.
        serving = self.xylem("serve", "--store", "served.db", "--until-pid", os.getpid(), timeout=30)
        self.assertEqual(serving.returncode, 0, serving.stderr)
        variables = dict(re.findall(r"^export (\w+)='?(.*?)'?$", serving.stdout, re.M))
        stopped = self.xylem("serve", "--stop", env={"XYLEM_SERVE_PID": variables["XYLEM_SERVE_PID"]})
        self.assertEqual(stopped.returncode, 0, stopped.stderr)
        self.assert_intact(Store(self.folder / "served.db"))
        self.assert_nothing_left()

    def test_serve_says_why_it_cannot(self):
        done = self.xylem("serve", "--store", "/nonexistent/x.db")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("/nonexistent/x.db", done.stderr)
        self.assert_nothing_left()

    def test_serve_ends_with_the_shell_that_called_it(self):
        subprocess.run(["bash", "-c", f"eval \"$({BUILD_XYLEM} serve --store served.db)\"; true"],
                       env=environment(), cwd=self.folder, timeout=DEADLINE, check=True, stderr=subprocess.DEVNULL)
        self.assert_nothing_left()
        self.assert_intact(Store(self.folder / "served.db"))


class Signals(WholeSystemTest):
    """Who may be interrupted or killed."""

    def start_long_job(self, library="mpich", seconds=30):
        process = self.start("run", "--store", "run.db", "--detail", "trace", "--",
                             *mpirun(library, 2, "behave", "loop", seconds), start_new_session=True)
        store = Store(self.folder / "run.db")
        wait_until(lambda: (self.folder / "run.db").exists() and self.seen(store), "data of the job is stored")
        return process, store

    @staticmethod
    def seen(store):
        try:
            return store.value("SELECT coalesce(sum(stored), 0) FROM account") > 0
        except AssertionError:
            return False

    def finish(self, process, store):
        # What the launcher answers to a signal is its own; that the job ends long before its time is ours.
        process.wait(timeout=20)
        self.assert_adds_up(store)
        self.assert_intact(store)
        self.assert_nothing_left()

    def end_by(self, send, number):
        for library in LAUNCHERS:
            with self.subTest(library):
                process, store = self.start_long_job(library)
                send(process.pid, number)
                self.finish(process, store)
                (self.folder / "run.db").unlink()

    def test_ctrl_c(self):
        self.end_by(os.killpg, signal.SIGINT)  # As a terminal does: to the whole group.

    def test_sigterm_to_xylem_run_reaches_the_job(self):
        self.end_by(os.kill, signal.SIGTERM)


class Stores(WholeSystemTest):
    """Where the run is to be stored."""

    def refused(self, *options, **how):
        done = self.xylem("run", *options, "--", "touch", "job-ran", **how)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse((self.folder / "job-ran").exists())
        self.assert_nothing_left()
        return done.stderr

    def test_a_path_that_cannot_be_written_is_named(self):
        self.assertIn("/nonexistent/x.db", self.refused("--store", "/nonexistent/x.db"))
        self.assertIn("/proc/x.db", self.refused("--store", "/proc/x.db"))

    def test_an_existing_store_is_kept(self):
        job = mpirun("mpich", 1, "count_calls", 100, 1, 1, self.folder / "own")
        self.run_job(job)
        said = self.refused("--store", self.folder / "run.db")
        self.assertIn("run.db", said)
        self.assertIn("--overwrite", said)
        self.run_job(job, "--overwrite")

    def test_a_file_that_is_no_store_is_never_overwritten(self):
        precious = self.folder / "thesis.txt"
        precious.write_text("years of work\n")
        self.assertIn("thesis.txt", self.refused("--store", precious, "--overwrite"))
        self.assertEqual(precious.read_text(), "years of work\n")
        empty = self.folder / "empty"
        empty.touch()
        self.assertIn("not a run of xylem", self.refused("--store", empty, "--overwrite"))
        self.assertTrue(empty.exists())

    def test_on_a_file_system_like_nfs_the_end_is_in_place(self):
        prefix = self.folder / "own"
        store = self.run_job(mpirun("mpich", 2, "count_calls", 20000, 1, 5, prefix),
                             env={"XYLEM_PRETEND_FILE_SYSTEM": "0x6969"})
        self.assert_exact(store, Own(prefix, 2))
        self.assertIn("network file system", self.done.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.glob("run.db*")), ["run.db"])
        self.assert_nothing_left()

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_full_disk_is_said_and_the_store_stays_intact(self):
        # A mount of its own, seen by this run alone.
        program = mpirun("mpich", 2, "count_calls", 3_000_000, 1, 5, self.folder / "own")
        script = ("mkdir small && mount -t tmpfs -o size=4m none small && "
                  f"{BUILD_XYLEM} run --store small/run.db --detail trace -- {' '.join(program)}; code=$?; "
                  "cp small/run.db* . ; exit $code")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no room left on its disk", done.stderr)
        store = Store(self.folder / "run.db")
        self.assert_intact(store)
        for line in store.account():
            self.assertLessEqual(line["stored"] + line["lost"], line["captured"], line)
        self.assert_nothing_left()


    def closing_numbers(self, errors):
        """captured, stored and lost of the sentence in which a run ends, and the rest of it."""
        found = re.search(r"([\d,]+) calls captured = ([\d,]+) stored \+ ([\d,]+) lost, (.*)$", errors, re.MULTILINE)
        self.assertIsNotNone(found, errors)
        return [int(number.replace(",", "")) for number in found.groups()[:3]], found.group(4)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small tmpfs needs root")
    def test_a_disk_that_stays_full_costs_data_and_no_number(self):
        program = mpirun("mpich", 2, "count_calls", 12_000_000, 1, 5, self.folder / "own")
        script = (f"mkdir small && mount -t tmpfs -o size=8m none small && {BUILD_XYLEM} run --store small/run.db "
                  f"--detail trace -- sh -c '{' '.join(program)} && touch job-is-over'; code=$?; "
                  "cp small/run.db* . ; exit $code")
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=environment(), cwd=self.folder,
                              capture_output=True, text=True, timeout=DEADLINE)
        over = time.time()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no room left on its disk", done.stderr)
        self.assertIn("data that is not stored is counted as lost", done.stderr)
        self.assertLess(over - (self.folder / "job-is-over").stat().st_mtime, 8, done.stderr)
        store, own = Store(self.folder / "run.db"), Own(self.folder / "own", 2)
        self.assert_intact(store)
        (captured, stored, lost), rest = self.closing_numbers(done.stderr)
        print(done.stderr.strip().splitlines()[-1], flush=True)
        self.assertEqual(captured, own.total())
        self.assertEqual(captured, stored + lost)
        self.assertGreater(lost, 0)
        self.assertTrue(rest.startswith("complete; "), rest)
        self.assertEqual([sum(line[of] for line in store.account()) for of in ("captured", "stored", "lost")],
                         [captured, stored, lost])
        self.assert_adds_up(store)
        self.assertEqual([line["complete"] for line in store.account()], [1, 1])
        self.assert_nothing_left()

    def test_an_account_that_cannot_be_stored_is_told_and_true(self):
        program = mpirun("mpich", 2, "count_calls", 1_000_000, 1, 5, self.folder / "own")
        script = f"touch started; until [ -e go ]; do sleep 0.05; done; {' '.join(program)}"  # The pace of looking.
        running = self.start("run", "--store", "run.db", "--detail", "trace", "--", "sh", "-c", script)
        front_end, = wait_until(lambda: [pid for pid, line in self.own_processes().items() if "xylem-frontend" in line],
                                "the front end runs")
        wait_until((self.folder / "started").exists, "the job has started")
        resource.prlimit(front_end, resource.RLIMIT_FSIZE, (4096, 4096))
        (self.folder / "go").touch()
        _, errors = running.communicate(timeout=DEADLINE)
        self.assertEqual(running.returncode, 0, errors)
        (captured, stored, lost), rest = self.closing_numbers(errors)
        print(errors.strip().splitlines()[-1], flush=True)
        self.assertEqual((captured, stored + lost), (Own(self.folder / "own", 2).total(), captured))
        self.assertRegex(rest, "^complete, but not all of this is in the store: .*the limit of file sizes")
        self.assert_intact(Store(self.folder / "run.db"))
        self.assert_nothing_left()

    def test_a_question_whose_reader_pauses_holds_nothing_of_the_store(self):
        store = self.run_job(mpirun("mpich", 2, "count_calls", 300_000, 1, 5, self.folder / "own"), "--detail", "trace")
        events = store.value("SELECT count(*) FROM event")
        asking = self.start("query", store.path, "SELECT * FROM event", "--csv")
        with sqlite3.connect(store.path, timeout=0, isolation_level=None) as writer:
            def may_write():
                try:
                    writer.execute("BEGIN EXCLUSIVE")
                    writer.execute("ROLLBACK")
                except sqlite3.OperationalError:
                    return False
                return True

            select.select([asking.stdout], [], [], 60)  # The answer has begun.
            wait_until(may_write, "the question has ended though its answer is not read")
        writer.close()
        self.assertIsNone(asking.poll(), "nothing was left to be read")
        answer, errors = asking.communicate(timeout=DEADLINE)
        self.assertEqual((asking.returncode, errors), (0, ""))
        self.assertEqual(len(answer.splitlines()), 1 + events)


class Options(WholeSystemTest):
    """What people may type."""

    refused = Stores.refused

    def test_a_topology_file_is_checked_before_the_job_starts(self):
        cases = {
            "a:0 => b:0 ;\nb:0 => a:0 ;\n": "cycle",
            "a:0 => b:0 b:0 ;\n": "named twice",
            "a:0 =>\n=> b:0 ;\n": "expected",
            "a:0 => b:0 ;\nc:0 => d:0 ;\n": "not connected",
            "": "",
        }
        for text, word in cases.items():
            with self.subTest(text):
                (self.folder / "x.topo").write_text(text)
                said = self.refused("--topology", "x.topo", "--store", "y.db")
                self.assertRegex(said, r"x\.topo:\d+: ")
                self.assertIn(word, said)
                self.assertFalse((self.folder / "y.db").exists())

    def test_an_unknown_host_in_a_topology_file_does_not_harm_the_job(self):
        (self.folder / "x.topo").write_text("here:0 => nowhere:0 ;\n")
        # Long enough to be placed: a job that is over before its tree is placed needs none.
        store = self.run_job(mpirun("mpich", 2, "behave", "loop", 2), "--topology", "x.topo")
        self.assertRegex(self.done.stderr, r"x\.topo:1: .*nowhere")
        account = store.account()
        self.assertEqual(len(account), 2)
        for line in account:
            self.assertEqual((line["captured"], line["complete"]), (line["stored"], 1), line)
        self.assert_nothing_left()

    def test_bad_values_are_named_with_where_they_stand(self):
        self.assertIn("--window", self.refused("--window", "soon"))
        self.assertIn("--detail", self.refused("--detail", "everything"))
        self.assertIn("--placement", self.refused("--placement", "magic"))
        self.assertIn("kary", self.refused("--topology", "kary:0"))
        self.assertIn("--ring", self.refused("--ring", "100"))
        self.assertIn("--sample", self.refused("--sample", "MPI_Test"))
        self.assertIn("XYLEM_WINDOW", self.refused(env={"XYLEM_WINDOW": "soon"}))
        (self.folder / "x.toml").write_text("window = '1s'\nwimdow = '2s'\n")
        said = self.refused("--config", "x.toml")
        self.assertIn("x.toml:2: 'wimdow'", said)

    def test_flags_go_before_environment_before_file(self):
        (self.folder / "x.toml").write_text("window = '1s'\nsettle = '3s'\ndetail = 'trace'\n")
        done = self.xylem("run", "--config", "x.toml", "--detail", "profile", "--print-config",
                          env={"XYLEM_SETTLE": "4s"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'window = "1s"')
        self.assertRegex(done.stdout, r'settle = "4s"')
        self.assertRegex(done.stdout, r'detail = "profile"')

    def test_what_print_config_prints_can_be_read_back(self):
        first = self.xylem("run", "--window", "1s", "--print-config")
        (self.folder / "x.toml").write_text(first.stdout)
        again = self.xylem("run", "--config", "x.toml", "--print-config")
        strip = lambda text: re.sub(r"  #.*", "", text)
        self.assertEqual(strip(again.stdout), strip(first.stdout))

    def test_a_port_in_use_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.refused("--port", port, "--interface", "127.0.0.1", "--store", "x.db")
        self.assertIn(f"127.0.0.1 port {port}", said)

    def test_an_interface_that_is_not_there_is_named_with_those_that_are(self):
        said = self.refused("--interface", "wlan77", "--store", "x.db")
        self.assertIn("wlan77", said)
        self.assertIn("lo (127.0.0.1)", said)


class Strangers(WholeSystemTest):
    """Who connects to the front end without belonging to the run."""

    def test_a_run_goes_on_among_strangers(self):
        prefix = self.folder / "own"
        script = self.folder / "job.sh"
        program = " ".join(mpirun("mpich", 2, "count_calls", 100000, 1, 5, prefix))
        script.write_text(f'#!/bin/sh\necho "$XYLEM_ADDRESS" > address\nread go\n{program}\n')
        script.chmod(0o755)
        process = self.start("run", "--store", "run.db", "--", str(script), stdin=subprocess.PIPE)
        wait_until(lambda: (self.folder / "address").exists() and (self.folder / "address").read_text(),
                   "the job has started")
        local, tcp, *_ = (self.folder / "address").read_text().strip().split(",")
        host, port = tcp.rsplit(":", 1)
        generator = random.Random(7)  # Fixed, so that a failure can be repeated.
        said = [b"", b"\x00", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 5000, b"\x16\x03\x01\x02\x00\x01" + b"a" * 300,
                *(generator.randbytes(generator.randrange(1, 400)) for _ in range(80))]
        silent = []
        for text in said:
            stranger = socket.create_connection((host, int(port)), timeout=5)
            stranger.sendall(text)
            silent.append(stranger)  # Kept open: half a hello, then silence.
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(local.removeprefix("unix:"))
            stranger.sendall(text)
            silent.append(stranger)
        process.stdin.write("go\n")
        process.stdin.flush()
        self.assertEqual(process.wait(timeout=DEADLINE), 0)
        for stranger in silent:
            stranger.close()
        self.assert_exact(Store(self.folder / "run.db"), Own(prefix, 2))
        self.assert_nothing_left()


class Secrets(WholeSystemTest):
    @staticmethod
    def keys_of(program):
        keys = set()
        for pid in pids_of(program):
            for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                if entry.startswith(b"XYLEM_KEY="):
                    keys.add(entry.removeprefix(b"XYLEM_KEY=").decode())
        return keys

    def test_no_command_line_shows_the_key(self):
        process = self.start("run", "--store", "run.db", "--test-size", "4", "--topology", "kary:2", "--",
                             *mpirun("mpich", 4, "behave", "loop", 3))
        wait_until(lambda: len([c for c in xylem_processes().values() if "commproc" in c]) >= 2,
                   "communication processes run")
        key, = self.keys_of("mpirun.mpich")
        self.assertRegex(key, "^[0-9a-f]{64}$", "the launcher has the key in its environment")
        listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        self.assertIn("xylem-commproc", listing)
        self.assertTrue(key not in listing, "a command line shows the key")
        self.assertEqual(self.keys_of("behave.mpich"), {""}, "a rank has taken the key out")
        self.assertEqual(process.wait(timeout=DEADLINE), 0)
        self.assert_nothing_left()


BUILD_XYLEM = os.environ["XYLEM_BUILD"] + "/bin/xylem"

if __name__ == "__main__":
    unittest.main(verbosity=2)
