"""Tests on an emulated cluster: hosts with networks, names, /dev/shm and process groups of their own,
which can be crashed, frozen and cut off (tests/support/cluster/cluster.sh). Needs root."""

import os
import pathlib
import secrets
import sqlite3
import subprocess
import unittest

from harness import DEADLINE, SOURCE, WholeSystemTest, environment

CLUSTER = SOURCE / "tests/support/cluster/cluster.sh"
RSH = SOURCE / "tests/support/cluster/cluster-rsh"
# How long a short job of MPICH may take. MPICH 4.0.2 over UCX hangs by itself on two hosts now and then, without
# xylem too: 1 of 107 jobs beside eight busy loops. A job that does is ended and started again; the last one has as
# long as everything else.
PATIENCE_WITH_MPICH = (60, 60, DEADLINE)
FRONT_END, COMM_PROCESS, WORKER, GUARD = "xylem-frontend", "xylem-commproc", "xylem-backend", "xylem-guard"


def control_group(name):
    """The folder of the cluster's control groups, one below it for each host."""
    unified = pathlib.Path("/sys/fs/cgroup/unified")
    root = unified if (unified / "cgroup.procs").exists() else unified.parent
    return root / f"cluster-{name}"


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@unittest.skipUnless(os.geteuid() == 0, "network namespaces need root")
class EmulatedClusterTest(WholeSystemTest):
    """A subclass says how many hosts it wants, with which options of `cluster.sh up`, and the first two
    bytes of their addresses, which no other test on this machine may use."""

    HOSTS = 4
    OPTIONS = ()
    NETWORK = "10.79"

    @classmethod
    def setUpClass(cls):
        cls.name = f"xylem{secrets.token_hex(4)}"  # Its control groups stand beside those of other tests.
        cls.cluster_variables = {"CLUSTER": cls.name, "CLUSTER_NET": cls.NETWORK}
        up = subprocess.run([CLUSTER, "up", str(cls.HOSTS), *cls.OPTIONS], capture_output=True, text=True,
                            env=environment(**cls.cluster_variables))
        if up.returncode != 0:
            raise RuntimeError(f"cluster.sh up failed with {up.returncode}: {up.stdout}{up.stderr}")

    @classmethod
    def tearDownClass(cls):
        subprocess.run([CLUSTER, "down"], env=environment(**cls.cluster_variables), check=True)

    def setUp(self):
        super().setUp()
        # With the folder of this test in it. Hosts of other tests have the same names and the same /tmp, where two Open
        # MPIs that make the same folder at the same moment fail.
        self.env = environment(**self.cluster_variables, OMPI_MCA_orte_tmpdir_base=str(self.folder))

    @classmethod
    def hosts(cls):
        return [f"node{i:02}" for i in range(1, cls.HOSTS + 1)]

    def cluster(self, *command):
        """A command of cluster.sh: crash, freeze, partition and so on. What it starts outlives this test."""
        env = {name: value for name, value in self.env.items() if name != "TMPDIR"}
        subprocess.run([CLUSTER, *map(str, command)], env=env, check=True, capture_output=True, text=True)

    def on(self, host, *command, timeout=DEADLINE):
        """Runs a command on a host to its end."""
        return subprocess.run([CLUSTER, "exec", host, "--", *map(str, command)], env=self.env, text=True,
                              capture_output=True, cwd=self.folder, timeout=timeout)

    def on_with_mpich(self, host, *command):
        """Runs a command on a host to its end: xylem with a short job of MPICH on several hosts."""
        for patience in PATIENCE_WITH_MPICH:
            process = self.start_on(host, *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                out, said = process.communicate(timeout=patience)
                return subprocess.CompletedProcess(command, process.returncode, out, said)
            except subprocess.TimeoutExpired:
                print(f"a job of MPICH has not ended within {patience} s", flush=True)
                process.terminate()  # Xylem ends the job.
                _, said = process.communicate(timeout=DEADLINE)
        self.fail(f"no job of MPICH ended; the last one said\n{said}")

    def start_on(self, host, *command, **how):
        """Starts a command on a host; whoever starts it looks after it."""
        return subprocess.Popen([CLUSTER, "exec", host, "--", *map(str, command)], env=self.env, text=True,
                                cwd=self.folder, **how)

    def open_mpi(self, ranks_by_host, *program):
        """The command line of an Open MPI job over hosts, to be run on the head."""
        hosts = ",".join(f"{host}:{n}" for host, n in ranks_by_host.items())
        return ["mpirun.openmpi", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1",
                "--mca", "btl", "tcp,vader,self", "--mca", "plm_rsh_agent", str(RSH), "--host", hosts,
                "-n", str(sum(ranks_by_host.values())), *map(str, program)]

    def processes_of(self, name, host=None):
        """Ids of the cluster's processes of that name, on one host or on all."""
        hosts = [host] if host else ["head", *self.hosts()]
        found = []
        for each in hosts:
            try:
                members = (control_group(self.name) / each / "cgroup.procs").read_text().split()
            except OSError:  # Crashed.
                continue
            found += [int(pid) for pid in members if name_of(pid) == name]
        return sorted(found)

    def assert_nothing_on_any_host(self):
        self.assert_nothing_left()  # Processes of all hosts are seen from here.
        for host in ["head", *self.hosts()]:
            left = self.on(host, "sh", "-c", "ls -d /dev/shm/xylem-* 2>/dev/null").stdout
            self.assertEqual(left, "", host)


class LiveStore:
    """A run's file while it is written, for questions that come often."""

    def __init__(self, path):
        self.path = path

    def rows(self, sql):
        """Nothing while there is no such file or table yet."""
        try:
            connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=5)
            try:
                return connection.execute(sql).fetchall()
            finally:
                connection.close()
        except sqlite3.OperationalError:
            return []

    def value(self, sql):
        rows = self.rows(sql)
        return rows[0][0] if rows else None
