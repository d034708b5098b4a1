#!/usr/bin/env python3
"""xylem in a real Slurm on an emulated cluster: sbatch, srun, mpirun, scancel. Needs root."""

import os
import pathlib
import unittest

from emulated_cluster import LiveStore
from harness import PROGRAMS, XYLEM, Own, Store, wait_until
from slurm_cluster import SlurmClusterTest

HOSTS = 2


class Slurm(SlurmClusterTest):
    """Slurm finds a step's processes by their parents: agents that leave their session outlive it."""

    HOSTS = HOSTS

    def xylem_run(self, *job, options=()):
        return " ".join(map(str, [XYLEM, "run", "--store", self.folder / "run.db", "--overwrite", "--detail", "trace",
                                  "--sample", "none", *options, "--", *job]))

    def count_calls(self, library, calls=20_000):
        return PROGRAMS / f"count_calls.{library}", calls, 1, 9, self.folder / "own"

    def finished(self, output, ranks, worlds=1):
        """What a run printed, and what is left of it."""
        self.assertIn(f"{ranks * worlds} ranks on {HOSTS} hosts", output)
        self.assertIn("complete", output)
        self.assertNotIn("NOT complete", output)
        self.assert_nothing_on_any_host()
        return Store(self.folder / "run.db")

    def test_srun_with_mpich_inside_sbatch(self):
        output = self.batch(self.xylem_run("srun", "--mpi=pmi2", *self.count_calls("mpich")), "-N2", "-n2")
        store = self.finished(output, 2)
        self.assert_exact(store, Own(self.folder / "own", 2))
        # The job is the same as without xylem, but for the number of its step.
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'back_end'"), HOSTS)

    def test_mpirun_of_open_mpi_inside_sbatch(self):
        mpirun = ["mpirun.openmpi", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1",
                  "--mca", "btl", "tcp,vader,self", "-n", "4"]
        output = self.batch(self.xylem_run(*mpirun, *self.count_calls("openmpi")), "-N2", "-n4")
        self.assert_exact(self.finished(output, 4), Own(self.folder / "own", 4))

    def test_srun_on_a_login_node_outside_an_allocation(self):
        done = self.on_with_mpich("head", XYLEM, "run", "--store", "run.db", "--overwrite", "--detail", "trace",
                                  "--sample", "none", "--", "srun", "-N2", "-n2", "--mpi=pmi2", *self.count_calls("mpich"))
        self.assert_exact(self.finished(done.stderr, 2), Own(self.folder / "own", 2))

    def test_agents_that_are_a_step_serve_every_step_of_a_script(self):
        script = self.folder / "job.sh"
        script.write_text("#!/bin/sh\nset -e\n" + 2 * f"srun --mpi=pmi2 {PROGRAMS}/behave.mpich loop 0.3\nsleep 3\n")
        script.chmod(0o755)
        output = self.batch(self.xylem_run(script), "-N2", "-n2")
        store = self.finished(output, 2, worlds=2)
        self.assert_adds_up(store)
        # The same agents: they do not go away between two steps, where nobody would start others beside the job.
        self.assertEqual(store.value("SELECT count(*) FROM node WHERE role = 'back_end'"), HOSTS)

    def test_the_step_of_the_agents_takes_no_processor_from_the_job(self):
        # All there are, and memory: a step of the job that had to wait for the agents' would not start.
        output = self.batch(self.xylem_run("srun", "--mpi=pmix", "--exact", PROGRAMS / "behave.openmpi", "loop", "0.2"),
                            "-N2", f"-n{2 * self.CPUS}", "--exclusive", "--mem=0", seconds=120)
        self.finished(output, 2 * self.CPUS)

    def start_loop(self, prefix=""):
        """A job that runs until it is ended, with calls of all its ranks in the store already."""
        job = self.submit(prefix + self.xylem_run("srun", "--mpi=pmix", PROGRAMS / "behave.openmpi", "loop", "300"), "-N2", "-n2")
        live = LiveStore(self.folder / "run.db")

        def has_begun():
            self.assertNotIn("srun: error", self.output_of(job), "a rank has died")
            return live.value("SELECT count(*) FROM account WHERE stored > 100") == 2

        try:
            wait_until(has_begun, "all ranks have stored calls")
        except AssertionError as late:
            self.fail(f"{late}\n{self.state_of(job)}")
        return job

    def ended_early(self, job):
        wait_until(lambda: job not in self.jobs(), f"job {job} has ended")
        output = self.output_of(job)
        self.assertIn("2 ranks on 2 hosts", output)
        store = Store(self.folder / "run.db")
        self.assert_intact(store)
        self.assert_adds_up(store)
        self.assertNotEqual(store.value("SELECT exit_code FROM run"), 0)
        self.assert_nothing_on_any_host()
        return output, store

    def test_scancel_of_the_job_leaves_a_whole_record(self):
        job = self.start_loop()
        self.on("head", "scancel", job)
        output, store = self.ended_early(job)
        self.assertEqual([r["complete"] for r in store.account()], [1] * 2, output)
        self.assertEqual(store.value("SELECT sum(lost) FROM account"), 0)

    def test_scancel_of_a_step_leaves_a_whole_record(self):
        job = self.start_loop()
        steps = self.on("head", "squeue", "--steps", f"--jobs={job}", "-h", "-o", "%i %j").stdout.split("\n")
        names = dict(line.split() for line in steps if line)
        step, = [step for step, name in names.items() if name.startswith("behave")]
        self.assertIn("xylem-agents", names.values())
        self.on("head", "scancel", step)
        output, store = self.ended_early(job)
        self.assertEqual([r["complete"] for r in store.account()], [1] * 2, output)

    def run_where_the_agents_step(self, does):
        """With a program srun that does something else for the step of the agents."""
        fake = self.folder / "bin"
        fake.mkdir()
        (fake / "srun").write_text(f"#!/bin/sh\ncase \"$*\" in *xylem-agents*) {does};; esac\nexec /usr/bin/srun \"$@\"\n")
        (fake / "srun").chmod(0o755)
        return self.batch(f"PATH={fake}:$PATH " + self.xylem_run("srun", "--mpi=pmi2", *self.count_calls("mpich")),
                          "-N2", "-n2")

    def test_where_slurm_does_not_answer_the_job_starts_after_five_seconds(self):
        output = self.run_where_the_agents_step("exec sleep 600")
        self.assertIn("0 of 2 are ready after 5 s", output)
        self.assert_exact(self.finished(output, 2), Own(self.folder / "own", 2))

    def test_where_no_step_can_be_had_ranks_start_the_agents(self):
        output = self.run_where_the_agents_step("echo 'srun: error: no step for you' >&2; exit 1")
        self.assertIn("no step for you", output)
        self.assertIn("ranks start one", output)
        self.assert_exact(self.finished(output, 2), Own(self.folder / "own", 2))


@unittest.skipUnless(os.path.isdir("/sys/fs/cgroup/freezer"), "proctrack/cgroup needs the freezer")
class SlurmThatEndsWholeSteps(SlurmClusterTest):
    """Slurm ends every process that a step has ever started, in whatever session, with its last task."""

    HOSTS = HOSTS
    NETWORK = "10.93"
    PROCTRACK = "proctrack/cgroup"
    xylem_run, count_calls, finished = Slurm.xylem_run, Slurm.count_calls, Slurm.finished
    start_loop, ended_early = Slurm.start_loop, Slurm.ended_early

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        for host in cls.hosts():
            folders = sorted(pathlib.Path("/sys/fs/cgroup/freezer").glob(f"slurm_{host}/**/"), reverse=True)
            for folder in folders:
                try:
                    folder.rmdir()
                except OSError:
                    pass  # Another Slurm's, with a host of the same name.

    def test_the_end_of_a_step_does_not_cut_off_the_last_calls(self):
        output = self.batch(self.xylem_run("srun", "--mpi=pmi2", *self.count_calls("mpich", 100_000)), "-N2", "-n2")
        self.assert_exact(self.finished(output, 2), Own(self.folder / "own", 2))

    def test_scancel_of_a_job_that_became_xylem_leaves_a_whole_record(self):
        job = self.start_loop("exec ")
        self.on("head", "scancel", job)
        output, store = self.ended_early(job)
        self.assertEqual([r["complete"] for r in store.account()], [1] * 2, output)

    def test_scancel_of_a_script_that_ends_before_xylem_leaves_a_record_up_to_there(self):
        # The shell of the script dies of the signal, and Slurm ends the batch step at once: front end and all.
        job = self.start_loop()
        self.on("head", "scancel", job)
        wait_until(lambda: job not in self.jobs(), f"job {job} has ended")
        self.assert_nothing_on_any_host()
        store = Store(self.folder / "run.db")
        self.assert_intact(store)
        for line in store.account():
            self.assertGreater(line["stored"], 100)
        # Where Slurm is slow to kill, xylem ends first, and all of it is there.
        complete = [line["complete"] for line in store.account()]
        if "its end is not stored" in self.xylem("report", store.path).stdout:
            self.assertIn(0, complete, "nobody was there to say that this is all")
        else:
            self.assertEqual(complete, [1] * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
