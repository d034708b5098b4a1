"""Jobs of one host each under one `xylem serve`, whose every message can be looked for in the store."""

import os
import pathlib
import signal
import struct
import subprocess

from emulated_cluster import LiveStore
from harness import DEADLINE, PROGRAMS, XYLEM, Store, wait_until

RANKS = 2  # Of each job. The second one is held back until every host is there, and with it MPI_Init.
HELD_BACK = """[ "$PMI_RANK" = 0 ] || while [ ! -e "$0" ]; do sleep 0.05; done; exec "$@" """
ATTACHED = ("SELECT count(*) FROM node b JOIN node p ON p.id = b.parent WHERE b.role = 'back_end' "
            "AND b.state = 'attached' AND p.role = 'comm_process'")


class Job:
    """tests/support/mpi/numbered.c on a host."""

    def __init__(self, host, process, prefix):
        self.host, self.process, self.prefix = host, process, prefix
        self.crashed = False

    def counts(self):
        """(process id, calls, messages) of each rank that has begun."""
        found = []
        for rank in range(RANKS):
            try:
                found.append(struct.unpack("QQQ", pathlib.Path(f"{self.prefix}.{rank}").read_bytes()))
            except (OSError, struct.error):
                pass
        return [counts for counts in found if counts[0] != 0]


class ServedJobs:
    """A job of one host takes no other one along when its host crashes, which MPI over hosts does.

        jobs = ServedJobs(test, "--topology", "kary:3")
        jobs.start_everywhere()   # Returns when every agent is below a communication process.
        ...
        jobs.stop()               # All of them end, and well; then the run.
        jobs.judge()

    `all` holds every job that ever was, `store` the run's file."""

    def __init__(self, test, *options, name="run", mean_ms=10):
        self.test, self.mean_ms = test, mean_ms
        self.folder = test.folder / name
        self.folder.mkdir()
        path = self.folder / "run.db"
        self.store, self.live = Store(path), LiveStore(path)
        self.stop_file, self.go_file, self.env_file = (self.folder / name for name in ("stop", "go", "run.env"))
        self.said = self.folder / "serve.txt"
        self.all = []
        with open(self.said, "w", encoding="utf-8") as said:
            serving = test.start_on("head", XYLEM, "serve", "--store", path, "--env-file", self.env_file,
                                    "--until-pid", os.getpid(), "--detail", "trace", "--sample", "none",
                                    "--settle", "60s", *options, stdout=subprocess.PIPE, stderr=said)
            out, _ = serving.communicate(timeout=DEADLINE)
        test.assertEqual(serving.returncode, 0, self.said.read_text())
        variables = dict(line.removeprefix("export ").split("=", 1) for line in out.splitlines())
        self.server = int(variables["XYLEM_SERVE_PID"].strip("'"))
        test.addCleanup(self.end_all)

    def start(self, host):
        job = Job(host, None, self.folder / f"counts.{len(self.all)}")
        with open(self.folder / f"job.{len(self.all)}.txt", "w", encoding="utf-8") as said:
            job.process = self.test.start_on(
                host, "env", "UCX_TLS=self,sm", XYLEM, "exec", "--env-file", self.env_file, "--",
                "mpirun.mpich", "-n", RANKS, "sh", "-c", HELD_BACK, self.go_file,
                PROGRAMS / "numbered.mpich", "alone", self.stop_file, job.prefix, self.mean_ms,
                stdout=said, stderr=subprocess.STDOUT)
        self.all.append(job)
        return job

    def start_everywhere(self):
        hosts = self.test.hosts()
        for host in hosts:
            self.start(host)
        wait_until(lambda: self.live.value("SELECT count(*) FROM node WHERE role = 'back_end'") == len(hosts),
                   "every host has an agent")
        self.go_file.touch()
        wait_until(lambda: self.live.value(ATTACHED) == len(hosts),
                   "every agent is below a communication process")
        self.wait_until_heard(DEADLINE)

    def surviving(self):
        return [job for job in self.all if not job.crashed]

    def wait_until_heard(self, seconds):
        """What every rank that lives has called by now is stored, or more."""
        wait_until(lambda: all(len(job.counts()) == RANKS for job in self.surviving()), "all ranks have begun",
                   seconds)
        wanted = {pid: calls for job in self.surviving() for pid, calls, _ in job.counts()}
        behind = {}

        def is_there():
            stored = dict(self.live.rows("SELECT r.pid, a.stored FROM rank r JOIN account a USING(world, rank)"))
            behind.clear()
            behind.update({pid: (stored.get(pid), calls) for pid, calls in wanted.items()
                           if stored.get(pid, 0) < calls})
            return not behind

        try:
            wait_until(is_there, "all that was called is stored", seconds)
        except AssertionError as why:
            self.test.fail(f"{why}; stored and called by process: {behind}; nodes: "
                           f"{self.live.rows('SELECT * FROM node')}; {self.said.read_text()[-2000:]}")

    def stop(self, seconds=DEADLINE, meanwhile=lambda: None):
        """`meanwhile` is done once the run has been told to end."""
        self.stop_file.touch()
        for number, job in enumerate(self.all):
            code = job.process.wait(timeout=seconds)
            if not job.crashed:
                self.test.assertEqual(code, 0, (self.folder / f"job.{number}.txt").read_text()[-2000:])
        self.end_server(signal.SIGTERM)
        meanwhile()
        try:
            wait_until(lambda: not self.server_lives(), "the run has ended", seconds)
        except AssertionError as why:
            self.test.fail(f"{why}: {self.said.read_text()[-2000:]}")

    def server_lives(self):
        """A zombie does not."""
        try:
            return os.readlink(f"/proc/{self.server}/exe") == XYLEM
        except OSError:
            return False

    def end_server(self, how):
        if self.server_lives():
            os.kill(self.server, how)

    def end_all(self):
        """When a test fails; what is left on the hosts goes with the cluster."""
        self.stop_file.touch()
        self.end_server(signal.SIGKILL)
        for job in self.all:
            if job.process.poll() is None:
                job.process.kill()
            job.process.wait()

    # ---- what came of it ----

    def judge(self):
        """Holds what ranks have done against what is stored of it. Returns how many messages were
        sent, are nowhere though their host survived, and are stored more than once."""
        self.test.assert_intact(self.store)
        account = {row["pid"]: row for row in self.store.rows(
            "SELECT r.pid, a.*, e.events, e.stored_events, e.lost_events, e.complete AS all_events FROM rank r "
            "JOIN account a USING(world, rank) JOIN account_event e USING(world, rank)")}
        numbers = {row["pid"]: row for row in self.store.rows(
            "SELECT r.pid, count(*) AS stored, count(DISTINCT e.tag) AS different, min(e.tag) AS first, "
            "max(e.tag) AS last FROM event e JOIN rank r USING(world, rank) "
            "WHERE e.function = 'MPI_Sendrecv' GROUP BY r.pid")}
        sent = lost = twice = 0
        for job in self.all:
            for pid, calls, messages in job.counts():
                found = numbers.get(pid, {"stored": 0, "different": 0, "first": None, "last": 0})
                sent += messages
                twice += found["stored"] - found["different"]
                if job.crashed:
                    self.judge_crashed(account.get(pid), calls, messages, found)
                else:
                    lost += messages - found["different"]
                    self.judge_surviving(account.get(pid), calls, messages, found)
        self.judge_ledger()
        return sent, lost, twice

    def judge_surviving(self, line, calls, messages, found):
        self.test.assertIsNotNone(line, "a rank that nobody has heard of")
        self.test.assertEqual((found["stored"], found["first"], found["last"]), (messages, 1, messages), line)
        self.test.assertEqual((line["captured"], line["stored"], line["lost"], line["complete"]),
                              (calls, calls, 0, 1), line)
        self.test.assertEqual((line["stored_events"], line["lost_events"], line["all_events"]),
                              (line["events"], 0, 1), line)

    def judge_crashed(self, line, calls, messages, found):
        """What was under way when its host lost power is gone, and the account says so."""
        self.test.assertLessEqual(found["last"] or 0, messages + 1)
        if line is None:
            return
        self.test.assertLessEqual(line["captured"], calls + 1, line)
        self.test.assertEqual(line["captured"], line["stored"] + line["lost"], line)
        self.test.assertEqual(line["events"], line["stored_events"] + line["lost_events"], line)
        self.test.assertEqual(line["complete"], 0, line)

    def judge_ledger(self):
        """Nothing is stored and given up as well."""
        both = self.store.rows("SELECT g.* FROM given_up g JOIN event_chunk c ON c.process = g.process "
                               "WHERE g.stream = 3 AND g.wave < c.end AND c.first < g.wave_end")
        self.test.assertEqual(both, [])
        lost = {row["host"] for row in self.store.rows("SELECT host FROM loss WHERE part = 'host'")}
        crashed = {job.host for job in self.all if job.crashed and job.counts()}
        self.test.assertLessEqual(lost, crashed, "a host that survived is in the ledger of losses")
