"""A real Slurm on an emulated cluster: one munged, slurmctld on the head, a slurmd on every host. Needs root."""

import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from emulated_cluster import CLUSTER, PATIENCE_WITH_MPICH, EmulatedClusterTest
from harness import DEADLINE, environment, rest_after, wait_until

DAEMONS = ["munged", "slurmctld", "slurmd"]
PROGRAMS = ["srun", "sbatch", "scancel", "scontrol", "squeue"]

CONFIGURATION = """\
ClusterName=emulated
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={folder}/munge.sock
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmdLogFile={folder}/slurmd.%n.log
TmpFS={folder}/tmp.%n
ProctrackType={proctrack}
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
NodeName={nodes} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def sbin(program):
    """Where a daemon is; /usr/sbin is not in everybody's PATH."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class SlurmClusterTest(EmulatedClusterTest):
    """A subclass may also say how Slurm finds a step's processes to end them, and how many processors
    each host shall seem to have. Everything is in a folder of its own, which goes with the cluster."""

    NETWORK = "10.92"
    PROCTRACK = "proctrack/linuxproc"
    CPUS = 4

    @classmethod
    def setUpClass(cls):
        missing = [p for p in DAEMONS + PROGRAMS if not sbin(p)]
        if missing:
            raise unittest.SkipTest(f"Slurm is not installed here (no {', '.join(missing)}): "
                                    "scripts/install-packages slurm")
        super().setUpClass()
        # Not below a test's own folder, which goes before the daemons do. Short: a socket's path fits 108 bytes.
        cls.slurm = pathlib.Path(f"/run/cluster-slurm-{os.getpid()}")
        cls.daemons = []
        try:
            cls.start_slurm()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def start_slurm(cls):
        shutil.rmtree(cls.slurm, ignore_errors=True)
        cls.slurm.mkdir(mode=0o755)
        key = cls.slurm / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for host in cls.hosts():
            for kind in ("spool", "tmp"):
                (cls.slurm / f"{kind}.{host}").mkdir()
        (cls.slurm / "state").mkdir()
        (cls.slurm / "slurm.conf").write_text(CONFIGURATION.format(
            folder=cls.slurm, proctrack=cls.PROCTRACK, nodes=",".join(cls.hosts()), cpus=cls.CPUS))
        (cls.slurm / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nConstrainCores=no\n")
        cls.slurm_variables = {"SLURM_CONF": str(cls.slurm / "slurm.conf"), **cls.cluster_variables}
        cls.daemon("munged", None, "--foreground", "--force", f"--key-file={key}",
                   f"--socket={cls.slurm}/munge.sock", f"--pid-file={cls.slurm}/munged.pid",
                   f"--log-file={cls.slurm}/munged.log", f"--seed-file={cls.slurm}/munged.seed")
        wait_until(lambda: (cls.slurm / "munge.sock").exists(), "munged listens")
        cls.daemon("slurmctld", "head", "-D")
        for host in cls.hosts():
            cls.daemon("slurmd", host, "-D", "-N", host)
        wait_until(lambda: cls.idle_nodes() == cls.HOSTS, f"all nodes are idle ({cls.slurm}/*.log)")

    @classmethod
    def daemon(cls, program, host, *arguments):
        command = [sbin(program), *map(str, arguments)]
        if host:
            command = [CLUSTER, "exec", host, "--", *command]
        with (cls.slurm / f"{program}.{host or 'all'}.out").open("wb") as out:
            cls.daemons.append(subprocess.Popen(command, env=environment(**cls.slurm_variables),
                                                stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cls.slurm))

    @classmethod
    def idle_nodes(cls):
        asked = subprocess.run([CLUSTER, "exec", "head", "--", "sinfo", "-h", "-N", "-o", "%t"],
                               env=environment(**cls.slurm_variables), capture_output=True, text=True)
        return asked.stdout.split().count("idle")

    @classmethod
    def tearDownClass(cls):
        # Taking the cluster down ends what runs on its hosts; munged is on none.
        super().tearDownClass()
        for process in cls.daemons:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(cls.slurm, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.env.update(self.slurm_variables)

    def tearDown(self):
        """No job of one test runs on into the next."""
        self.on("head", "scancel", "--full", "--user=root")
        wait_until(lambda: not self.jobs(), "no job is left")
        super().tearDown()

    def jobs(self):
        """What squeue knows: job id -> state."""
        lines = self.on("head", "squeue", "-h", "-o", "%i %T").stdout.split("\n")
        return dict(line.split() for line in lines if line)

    def submit(self, script, *options):
        """sbatch of a script's text; returns the job's id. Its output is in job-ID.out in the test's folder."""
        path = self.folder / f"script-{time.monotonic_ns()}.sh"
        path.write_text("#!/bin/bash\n" + script)
        done = self.on("head", "sbatch", "--parsable", f"--output={self.folder}/job-%j.out", *options, path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip().split(";")[0]

    def output_of(self, job):
        try:
            return (self.folder / f"job-{job}.out").read_text()
        except OSError:
            return ""

    def batch(self, script, *options, seconds=DEADLINE):
        """sbatch, and waits for the job's end; returns its output. A job that hangs in MPICH is started again."""
        for patience in PATIENCE_WITH_MPICH:
            job = self.submit(script, *options)
            if self.ends(job, seconds, patience):
                return self.output_of(job)
            print(f"job {job} has ranks of MPICH and has not ended within {patience} s", flush=True)
            state = self.state_of(job)
            self.on("head", "scancel", "--full", job)
            wait_until(lambda: not self.jobs(), "the job is gone")
        self.fail(f"no job of MPICH ended\n{state}")

    def ends(self, job, seconds, patience):
        """Waits for the job's end. False if it has ranks of MPICH after the time that those may take."""
        begin = time.monotonic()
        while (now := time.monotonic()) and job in self.jobs():
            if now - begin > seconds:
                self.fail(f"job {job} has not ended within {seconds} s\n{self.state_of(job)}")
            if now - begin > patience and self.has_ranks_of_mpich():
                return False
            rest_after(now)
        return True

    @staticmethod
    def has_ranks_of_mpich():
        """Whether a process was started with a connection to Slurm's or Hydra's PMI server, as only MPICH's ranks are here."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if b"\0PMI_FD=" in b"\0" + (folder / "environ").read_bytes():
                    return True
            except OSError:
                pass  # It has ended.
        return False

    def state_of(self, job):
        """What Slurm and the job say, and which processes there are: for who reads a failure."""
        queue = self.on("head", "squeue", "--steps").stdout + self.on("head", "scontrol", "show", "job", job).stdout
        processes = subprocess.run(["ps", "-eo", "pid,ppid,stat,wchan:20,args"], capture_output=True, text=True).stdout
        logs = "".join(f"-- {log.name}\n{log.read_text()[-2000:]}" for log in sorted(self.slurm.glob("*.log")))
        return f"{queue}-- output\n{self.output_of(job)}\n-- processes\n{processes}{logs}"
