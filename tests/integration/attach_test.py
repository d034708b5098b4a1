#!/usr/bin/env python3
"""xylem attach: to running jobs of Open MPI, MPICH and Slurm, on one host and on several.

XYLEM_ATTACHES is the number of attaches in a row; the default is small.
"""

import os
import pathlib
import random
import signal
import statistics
import subprocess
import time
import unittest

from emulated_cluster import EmulatedClusterTest, LiveStore
from harness import DEADLINE, PROGRAMS, XYLEM, Store, WholeSystemTest, environment, mpirun, random_seed, run_folders, wait_until
from slurm_cluster import SlurmClusterTest

ATTACHES = int(os.environ.get("XYLEM_ATTACHES", "5"))
SOON = 10.0  # Seconds from the command to the first row of every rank, on however busy a machine; attach_bench measures.


class Attaching(WholeSystemTest):
    """What tests of one host and of several say."""

    def rows_of_ranks(self, path, ranks, since):
        """Waits until every rank has a first row of its own, where anybody may ask; how long that took."""
        live = LiveStore(path)
        wait_until(lambda: live.value("SELECT count(*) FROM rank") == ranks, f"{ranks} ranks are in {path}")
        wait_until(lambda: len(Store(path).rows("SELECT DISTINCT world, rank FROM process_metric")) == ranks,
                   "each has a sample")
        return time.monotonic() - since

    def assert_all_there(self, store, ranks, complete):
        account = store.account()
        self.assertEqual([(r["world"], r["rank"]) for r in account], [(0, i) for i in range(ranks)])
        for line in account:
            self.assertEqual((line["captured"], line["stored"], line["lost"]), (0, 0, 0))
            self.assertEqual(line["complete"], int(complete), "whether the rank's end was seen")
        # What is seen of a rank is what the system knows of that process.
        for row in store.rows("SELECT world, rank, count(*) AS samples, max(value) AS most FROM process_metric "
                              "WHERE name = 'memory.resident' GROUP BY 1, 2"):
            self.assertGreater(row["most"], 1024, "KiB")
        self.assertGreater(store.value("SELECT count(*) FROM host_metric"), 0)
        for line in store.rows("SELECT * FROM service_account"):
            self.assertEqual(line["captured"], line["stored"] + line["lost"], line)
        self.assert_intact(store)


class AttachHere(Attaching):
    def start_job(self, library, ranks, *program):
        job = subprocess.Popen(mpirun(library, ranks, *program), env=environment(), cwd=self.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end_job, job)
        self.wait_for_ranks(library, ranks, program[0], job.pid)
        return job

    def wait_for_ranks(self, library, ranks, program, launcher):
        """Until all are past MPI_Init's beginning, as far as the outside can tell: they have the library."""

        def stand():
            count = 0
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    if os.readlink(folder / "exe") == str(PROGRAMS / f"{program}.{library}"):
                        count += f" {self.folder}" in f" {os.readlink(folder / 'cwd')}"
                except OSError:
                    pass
            return count >= ranks

        wait_until(stand, f"{ranks} ranks of {launcher} run")

    def end_job(self, job):
        if job.poll() is None:
            job.terminate()
        job.communicate()

    def everything_of_us(self):
        """Whatever an attach could leave: run folders, sockets, temporary files, memory. Not those of other builds,
        which may run beside this test."""
        ours = run_folders()
        sockets = [line for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                   if any(f"{folder}/" in line for folder in [*ours, self.folder])]
        memory = sorted(p.name for p in pathlib.Path("/dev/shm").iterdir() if not p.name.startswith("xylem-"))
        return ours, len(sockets), memory, sorted(os.listdir(self.folder))

    def attach_until_the_job_ends(self, library):
        job = self.start_job(library, 3, "behave", "loop", "4")
        since = time.monotonic()
        watching = self.start("attach", "--pid", job.pid, "--store", "run.db")
        self.assertLess(self.rows_of_ranks(self.folder / "run.db", 3, since), SOON)
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 0, said)
        self.assertIn("3 ranks on 1 host watched", said)
        self.assertIn("until they ended", said)
        self.assertEqual(job.wait(60), 0, "the job's own end")
        store = Store(self.folder / "run.db")
        self.assert_all_there(store, 3, complete=True)
        self.assertEqual(store.value("SELECT size FROM world"), 3)
        self.assert_nothing_left()

    def test_an_open_mpi_job_until_it_ends(self):
        self.attach_until_the_job_ends("openmpi")

    def test_an_mpich_job_until_it_ends(self):
        self.attach_until_the_job_ends("mpich")

    def test_ctrl_c_leaves_the_job_alone(self):
        job = self.start_job("openmpi", 2, "behave", "loop", "60")
        watching = self.start("attach", "--pid", job.pid, "--store", "run.db", start_new_session=True)
        self.rows_of_ranks(self.folder / "run.db", 2, 0)
        os.killpg(watching.pid, signal.SIGINT)  # As a terminal does it.
        said = watching.communicate(timeout=30)[1]
        self.assertEqual(watching.returncode, 0, said)
        self.assertIn("until it was interrupted", said)
        self.assertIsNone(job.poll())
        self.assert_all_there(Store(self.folder / "run.db"), 2, complete=False)
        self.assert_nothing_left()

    def test_ranks_of_a_host_by_the_name_of_their_program(self):
        jobs = [self.start_job(library, 2, "behave", "loop", "60") for library in ("openmpi", "mpich", "mpich")]
        self.wait_for_ranks("mpich", 4, "behave", jobs[-1].pid)
        done = self.xylem("attach", "--hosts", "localhost", "--match", "behave.mpi*", "--store", "run.db", "--duration",
                          "300ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 ranks on 1 host watched", done.stderr)
        ranks = Store(self.folder / "run.db").rows("SELECT world, rank, program FROM rank ORDER BY world, rank")
        # Two jobs of the same program are two worlds, though Hydra's environment names neither.
        self.assertEqual([(r["world"], r["rank"]) for r in ranks], [(0, 0), (0, 1), (1, 0), (1, 1)])
        self.assertEqual({pathlib.Path(r["program"]).name for r in ranks}, {"behave.mpich"})
        self.assertTrue(all(job.poll() is None for job in jobs))

    def test_a_job_behind_a_wrapper_script(self):
        script = self.folder / "wrapped.sh"
        script.write_text(f"#!/bin/bash\n{PROGRAMS}/behave.openmpi loop 60\nexit $?\n")
        script.chmod(0o755)
        command = mpirun("openmpi", 2, "behave")[:-1] + [str(script)]
        job = subprocess.Popen(command, env=environment(), cwd=self.folder)
        self.addCleanup(self.end_job, job)
        self.wait_for_ranks("openmpi", 2, "behave", job.pid)
        done = self.xylem("attach", "--pid", job.pid, "--store", "run.db", "--duration", "100ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        programs = Store(self.folder / "run.db").rows("SELECT program FROM rank")
        self.assertEqual([pathlib.Path(r["program"]).name for r in programs], ["behave.openmpi"] * 2)

    def test_a_rank_that_is_killed_is_told_and_the_agent_too(self):
        job = self.start_job("mpich", 2, "behave", "loop", "60")
        watching = self.start("attach", "--pid", job.pid, "--store", "run.db")
        self.rows_of_ranks(self.folder / "run.db", 2, 0)
        workers = [pid for pid, command in self.own_processes().items() if "--find" in command]
        os.kill(max(workers), signal.SIGKILL)  # The worker; its guard starts another one.
        wait_until(lambda: len([p for p, c in self.own_processes().items() if "--find" in c]) == len(workers),
                   "another worker", 20)
        job.terminate()
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 0, said)
        self.assert_all_there(Store(self.folder / "run.db"), 2, complete=True)
        self.assert_nothing_left()

    def test_agents_that_are_killed_are_told(self):
        job = self.start_job("mpich", 2, "behave", "loop", "60")
        watching = self.start("attach", "--pid", job.pid, "--store", "run.db")
        self.rows_of_ranks(self.folder / "run.db", 2, 0)
        for pid in [pid for pid, command in self.own_processes().items() if "--find" in command]:
            os.kill(pid, signal.SIGKILL)
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 1, said)
        self.assertIn("a back end on this host was ended by signal 9", said)
        self.assertIsNone(job.poll())
        self.assert_nothing_left()

    def test_attach_and_detach_again_and_again_without_residue(self):
        seed = random_seed()
        print(f"XYLEM_SEED={seed}", flush=True)
        draw = random.Random(seed)
        job = self.start_job("openmpi", 2, "behave", "loop", "3600")
        before, times = None, []
        for turn in range(ATTACHES):
            how = draw.choice([["--pid", job.pid], ["--hosts", "localhost", "--match", "behave.openmpi"]])
            since = time.monotonic()
            watching = self.start("attach", *how, "--store", "run.db", "--quiet")
            times.append(self.rows_of_ranks(self.folder / "run.db", 2, since))
            if draw.random() < 0.8:
                watching.send_signal(signal.SIGINT)
            else:  # Ends without a word: what it started must go by itself.
                for pid in [watching.pid, *self.own_processes()]:
                    os.kill(pid, signal.SIGKILL)
            watching.communicate(timeout=DEADLINE)
            self.assertIsNone(job.poll(), f"turn {turn}")
            after_kill = watching.returncode == -signal.SIGKILL
            if after_kill:  # Whoever comes next sweeps.
                self.xylem("attach", *how, "--store", "next.db", "--quiet", "--duration", "50ms")
            self.assert_nothing_left()
            for path in self.folder.glob("*.db*"):
                path.unlink()
            now = self.everything_of_us()
            before = before or now
            self.assertEqual(now, before, f"turn {turn}")
        print(f"{ATTACHES} attaches: median {statistics.median(times):.2f} s, longest {max(times):.2f} s", flush=True)

    def test_the_job_goes_on_undisturbed(self):
        # The same work with and without, in pairs: the same result, and less than a tenth more time in one of them.
        # That is coarse, since whole jobs differ by as much; tests/bench/attach_bench.py tells 1 %.
        ratios = []
        while len(ratios) < 8 and (not ratios or ratios[-1] >= 1.1):
            seconds = {}
            for watched in (False, True):
                report = self.folder / "report"
                job = self.start_job("openmpi", 2, "paced", "work", "3000", "20000", report)
                if watched:
                    done = self.xylem("attach", "--pid", job.pid, "--store", "run.db", "--overwrite", "--quiet")
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(job.wait(DEADLINE), 0)
                calls, seconds[watched] = [], 0.0
                for rank in range(2):
                    line = pathlib.Path(f"{report}.{rank}").read_text().split()
                    calls.append(int(line[0]))
                    seconds[watched] += float(line[2])
                self.assertEqual(len(set(calls)), 1)
            ratios.append(seconds[True] / seconds[False])
        print(f"processor time of the job with xylem / without: {', '.join(f'{r:.3f}' for r in ratios)}", flush=True)
        self.assertLess(min(ratios), 1.1)


class BadInput(WholeSystemTest):
    def refused(self, code, *arguments):
        done = self.xylem("attach", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(list(self.folder.glob("*.db*")), [])
        self.assert_nothing_left()
        return done.stderr

    def test_a_target_is_needed_and_one_is_enough(self):
        for arguments in ([], ["--pid", "1", "--hosts", "a"], ["--hosts", "a", "--jobid", "1"]):
            self.assertIn("one of --hosts LIST, --pid LAUNCHER and --jobid SLURM_JOB", self.refused(2, *arguments))

    def test_a_process_that_is_not_there(self):
        self.assertIn("there is no process 4000000000 on this host", self.refused(2, "--pid", "4000000000"))

    def test_a_process_that_is_no_launcher(self):
        said = self.refused(2, "--pid", os.getpid())
        self.assertIn("keeps no table of ranks (MPIR_proctable) and no proxies of Hydra", said)
        self.assertIn("--hosts", said)

    def test_a_rank_in_place_of_its_launcher(self):
        rank = subprocess.Popen(["sleep", "60"], env=environment(PMI_RANK="3", PMI_SIZE="4"))
        self.addCleanup(rank.wait)
        self.addCleanup(rank.kill)
        self.assertIn(f"process {rank.pid} is rank 3 of a job, not its launcher", self.refused(2, "--pid", rank.pid))

    def test_a_host_without_ranks(self):
        said = self.refused(1, "--hosts", "localhost", "--match", "no_such_program")
        self.assertIn("no ranks found on ", said)
        self.assertIn("whose program matches 'no_such_program'", said)
        self.assertIn("PMI_RANK", said)

    def test_a_mistyped_name_costs_no_record(self):
        self.xylem("run", "--store", "old.db", "--", "true")
        before = (self.folder / "old.db").read_bytes()
        done = self.xylem("attach", "--hosts", "localhost", "--match", "no_such_program", "--store", "old.db", "--overwrite")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual((self.folder / "old.db").read_bytes(), before)
        self.assertEqual(len(list(self.folder.glob("old.db*"))), 1)

    def test_a_host_that_cannot_be_reached(self):
        launcher = self.folder / "rsh"
        launcher.write_text("#!/bin/sh\necho \"no route to $1\" >&2; exit 255\n")
        launcher.chmod(0o755)
        said = self.refused(1, "--hosts", "node[01-03]", "--launcher", launcher)
        self.assertIn("node[01-03]", said)
        self.assertIn("no route to node01", said)

    def test_host_lists_that_are_none(self):
        self.assertIn("--hosts: ", self.refused(2, "--hosts", "node[01-"))

    def test_job_ids_that_are_none(self):
        self.assertIn("'12.0' is not a Slurm job number", self.refused(2, "--jobid", "12.0"))

    def test_a_duration_that_is_none(self):
        self.assertIn("--duration: 'soon' is not a time", self.refused(2, "--hosts", "localhost", "--duration", "soon"))

    @unittest.skipUnless(os.geteuid() == 0, "another user is needed")
    def test_a_launcher_of_another_user(self):
        # As nobody, who may not look into root's processes.
        launcher = subprocess.Popen(["sleep", "60"])
        self.addCleanup(launcher.wait)
        self.addCleanup(launcher.kill)
        self.folder.chmod(0o777)
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", XYLEM, "attach", "--pid",
                               str(launcher.pid)], env=environment(), capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"process {launcher.pid} belongs to another user; you may attach to your own jobs only", done.stderr)


class AttachOverHosts(Attaching, EmulatedClusterTest):
    """Hosts with process numbers and a /proc of their own, as real ones."""

    HOSTS = 3
    OPTIONS = ("--pidns", "--sshd")
    NETWORK = "10.94"

    def tearDown(self):
        self.assert_nothing_on_any_host()
        super().tearDown()

    def start_job(self, *command):
        job = self.start_on("head", *command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(job.wait)
        self.addCleanup(job.terminate)
        return job

    def open_mpi_by_ssh(self, by_host, program):
        # The cluster's own remote shell does not lead out of a host that has process numbers of its own.
        command = self.open_mpi(by_host, program, "loop", "60")
        at = command.index("plm_rsh_agent")
        return command[:at - 1] + command[at + 2:]

    def launcher_on_head(self, name):
        """Its process id as the head sees it."""
        return wait_until(lambda: self.on("head", "pgrep", "-o", "-f", f"^{name} ").stdout.strip(), f"{name} runs")

    def wait_for_ranks(self, by_host, program):
        for host, ranks in by_host.items():
            wait_until(lambda: len(self.on(host, "pgrep", "-f", f"^{program} ").stdout.split()) == ranks,
                       f"{ranks} ranks on {host}")

    def watch(self, ranks, *how):
        """Attaches for two seconds."""
        since = time.monotonic()
        watching = self.start_on("head", XYLEM, "attach", *map(str, how), "--store", "run.db", "--duration", "2s",
                                 stderr=subprocess.PIPE)
        took = self.rows_of_ranks(self.folder / "run.db", ranks, since)
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 0, said)
        print(f"first row of each of {ranks} ranks after {took:.2f} s", flush=True)
        self.assertLess(took, SOON)
        store = Store(self.folder / "run.db")
        self.assert_all_there(store, ranks, complete=False)
        return store, said

    def test_open_mpi_by_its_launcher(self):
        by_host = {"node01": 2, "node02": 1}
        program = PROGRAMS / "behave.openmpi"
        job = self.start_job(*self.open_mpi_by_ssh(by_host, program))
        self.wait_for_ranks(by_host, program)
        store, said = self.watch(3, "--pid", self.launcher_on_head("mpirun.openmpi"))
        self.assertIn("3 ranks on 2 hosts", said)
        hosts = store.rows("SELECT host, count(*) AS n FROM rank GROUP BY host ORDER BY host")
        self.assertEqual({r["host"]: r["n"] for r in hosts}, by_host)
        self.assertIsNone(job.poll())

    def test_mpich_by_its_launcher(self):
        by_host = {"node01": 1, "node02": 1}
        program = PROGRAMS / "behave.mpich"
        job = self.start_job("mpirun.mpich", "-launcher", "ssh", "-hosts", "node01,node02", "-n", "2", program,
                             "loop", "60")
        self.wait_for_ranks(by_host, program)
        store, _ = self.watch(2, "--pid", self.launcher_on_head("mpirun.mpich"), "--launcher", "ssh -q")
        self.assertEqual(store.value("SELECT count(DISTINCT host) FROM rank"), 2)
        self.assertIsNone(job.poll())

    def test_hosts_by_ssh_of_which_one_has_no_rank(self):
        by_host = {"node01": 1, "node02": 2}
        program = PROGRAMS / "behave.openmpi"
        self.start_job(*self.open_mpi_by_ssh(by_host, program))
        self.wait_for_ranks(by_host, program)
        _, said = self.watch(3, "--hosts", "node[01-03]")
        self.assertIn("3 ranks on 2 hosts", said)
        self.assertIn("no ranks on node03", said)


class AttachToSlurm(Attaching, SlurmClusterTest):
    HOSTS = 2
    OPTIONS = ("--pidns",)
    NETWORK = "10.95"

    def start_job(self, library="openmpi", mpi="pmix"):
        script = f"srun --mpi={mpi} {PROGRAMS}/behave.{library} loop 60\n"
        job = self.submit(script, "-N2", "-n2")
        wait_until(lambda: self.jobs().get(job) == "RUNNING", "the job runs")
        for host in self.hosts():
            wait_until(lambda: self.on(host, "pgrep", "-f", f"^{PROGRAMS}/behave").stdout, f"a rank on {host}")
        return job

    def watched(self, host, *how):
        since = time.monotonic()
        watching = self.start_on(host, XYLEM, "attach", *how, "--store", "run.db", "--duration", "2s",
                                 stderr=subprocess.PIPE)
        took = self.rows_of_ranks(self.folder / "run.db", 2, since)
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 0, said)
        print(f"first row of each of 2 ranks after {took:.2f} s", flush=True)
        self.assertLess(took, SOON)
        store = Store(self.folder / "run.db")
        self.assert_all_there(store, 2, complete=False)
        self.assertEqual([r["host"] for r in store.rows("SELECT host FROM rank ORDER BY rank")], self.hosts())
        self.assert_nothing_on_any_host()

    def test_by_the_number_of_the_job(self):
        job = self.start_job()
        self.watched("head", "--jobid", job)
        self.assertEqual(self.jobs(), {job: "RUNNING"})

    def test_by_srun_itself(self):
        job = self.start_job("mpich", "pmi2")
        srun = wait_until(lambda: self.on("node01", "pgrep", "-o", "-x", "srun").stdout.strip(), "srun on node01")
        self.watched("node01", "--pid", srun)
        self.assertEqual(self.jobs(), {job: "RUNNING"})

    def test_the_end_of_the_job_ends_the_agents_with_a_whole_record(self):
        job = self.start_job()
        watching = self.start_on("head", XYLEM, "attach", "--jobid", job, "--store", "run.db", stderr=subprocess.PIPE)
        self.rows_of_ranks(self.folder / "run.db", 2, 0)
        self.on("head", "scancel", job)
        said = watching.communicate(timeout=DEADLINE)[1]
        self.assertEqual(watching.returncode, 0, said)
        self.assert_all_there(Store(self.folder / "run.db"), 2, complete=True)
        self.assert_nothing_on_any_host()

    def test_a_job_that_is_not_known(self):
        done = self.on("head", XYLEM, "attach", "--jobid", "424242")
        self.assertEqual(done.returncode, 2)
        self.assertIn("job 424242", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
