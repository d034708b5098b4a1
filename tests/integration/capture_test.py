#!/usr/bin/env python3
"""The capture library alone: capture_probe takes the place of the host's agent.

Needs XYLEM_BUILD, the build folder.
"""

import collections
import fcntl
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, DEADLINE, PROGRAMS, environment, mpirun, wait_until

LIBRARY = str(BUILD / "lib/xylem/libxylem-capture.so")
PROBE = str(BUILD / "tests/capture_probe")
MPIS = [m for m in ("mpich", "openmpi") if (PROGRAMS / f"fates.{m}").exists()]
EXITED, FINALIZED, RUNNING = 3, 2, 1  # capture::ProcessState


def cells(path):
    return [line.split("\t") for line in pathlib.Path(path).read_text().splitlines()]


class Report:
    """What capture_probe saw of a job."""

    def __init__(self, path):
        self.processes, self.records = {}, []
        self.calls, self.recorded, self.lost = (collections.Counter() for _ in range(3))
        self.bytes, self.traffic = collections.Counter(), {}
        self.lost_messages, self.lost_receives = {}, {}
        for kind, *c in cells(path):
            if kind == "process":
                self.processes[int(c[0])] = dict(
                    rank=int(c[1]), size=int(c[2]), key=c[3], state=int(c[4]), mpi=c[5],
                    ringless=int(c[6]), untracked=int(c[7]), threads=int(c[8]))
            elif kind == "function":
                key = (int(c[1]), c[2])
                self.calls[key] += int(c[3])
                self.recorded[key] += int(c[4])
                self.lost[key] += int(c[5])
                self.bytes[key] += int(c[7])
            elif kind == "lost":
                self.lost_messages[int(c[1])] = (int(c[2]), int(c[3]))
                self.lost_receives[int(c[1])] = int(c[4])
            elif kind in ("send", "receive"):
                self.traffic[(kind, int(c[1]), int(c[2]))] = (int(c[3]), int(c[4]))
            elif kind == "record":
                self.records.append(dict(rank=int(c[0]), function=c[2], kind=int(c[3]),
                                         flags=int(c[4]), calls=int(c[10])))

    def messages(self, kind, rank):
        """Messages and bytes of a rank to or from all others."""
        of = [sums for (k, r, _), sums in self.traffic.items() if (k, r) == (kind, rank)]
        return sum(m for m, _ in of), sum(b for _, b in of)

    def only_process(self):
        (process,) = self.processes.values()
        return process


class Own:
    """What a program counted itself; see tests/support/mpi/own_counts.h."""

    messages = Report.messages

    def __init__(self, prefix, ranks):
        self.calls, self.bytes, self.traffic = {}, {}, {}
        for rank in range(ranks):
            for kind, *c in cells(f"{prefix}.{rank}.tsv"):
                if kind == "call":
                    self.calls[(int(c[0]), c[1])] = int(c[2])
                elif kind == "bytes":
                    self.bytes[(int(c[0]), c[1])] = int(c[2])
                else:
                    self.traffic[(kind, int(c[0]), int(c[1]))] = (int(c[2]), int(c[3]))


class CaptureTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="xylem-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_id = secrets.token_hex(8)
        self.run_folder = pathlib.Path(f"/dev/shm/xylem-{os.geteuid()}-{self.run_id}")
        self.addCleanup(shutil.rmtree, self.run_folder, ignore_errors=True)

    def make_run_folder(self):
        """Held as an agent holds its own, so that no agent of another run sweeps it away."""
        self.run_folder.mkdir(mode=0o700)
        held = os.open(self.run_folder, os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_SH)

    def variables(self, **more):
        return environment(**{"XYLEM_ADDRESS": "127.0.0.1:1", "XYLEM_RUN": self.run_id,
                              "XYLEM_KEY": secrets.token_hex(32), "XYLEM_BACKEND": PROBE,
                              "LD_PRELOAD": LIBRARY, "TMPDIR": str(self.folder), **more})

    def run_job(self, command, **more):
        return subprocess.run(list(map(str, command)), env=self.variables(**more), timeout=DEADLINE,
                              capture_output=True, text=True)

    def watch(self, command, processes, *options, **more):
        """Runs a job under capture_probe; gives the finished job and the probe's report."""
        self.make_run_folder()
        output = self.folder / "probe.tsv"
        probe = subprocess.Popen([PROBE, "--folder", str(self.run_folder), "--processes",
                                  str(processes), "--output", str(output), "--deadline", str(DEADLINE), *options],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            self.assertEqual(probe.stdout.readline(), "ready\n")
            job = self.run_job(command, **more)
            _, said = probe.communicate(timeout=DEADLINE)
        finally:
            probe.kill()
            probe.wait()
        self.assertEqual((probe.returncode, said), (0, ""), f"the probe; the job said {job.stderr}")
        shutil.rmtree(self.run_folder)
        return job, Report(output)

    def assert_equal_counts(self, own, seen):
        self.assertEqual(dict(seen.calls), own.calls)
        self.assertEqual(seen.traffic, own.traffic)
        for key, expected in own.bytes.items():
            self.assertEqual(seen.bytes[key], expected, f"bytes of {key}")


class Counts(CaptureTest):
    def count(self, mpi, calls, threads, *options, **more):
        prefix = self.folder / "own"
        seed = secrets.randbelow(1 << 30)
        print(f"seed {seed}")
        job, seen = self.watch(mpirun(mpi, 4, "count_calls", calls, threads, seed, prefix), 4,
                               *options, **more)
        self.assertEqual(job.returncode, 0, job.stderr)
        return Own(prefix, 4), seen

    def test_every_call_and_message_is_counted(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                own, seen = self.count(mpi, 1_000_000, 1)
                self.assertGreaterEqual(sum(own.calls.values()), 1_000_000)
                self.assert_equal_counts(own, seen)
                self.assertEqual(sum(seen.lost.values()), 0)

    def test_every_call_and_message_of_four_threads_is_counted(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                own, seen = self.count(mpi, 200_000, 4)
                self.assert_equal_counts(own, seen)
                self.assertEqual({p["threads"] for p in seen.processes.values()}, {4})

    def test_without_sampling_every_call_has_a_record(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                own, seen = self.count(mpi, 200_000, 1, XYLEM_SAMPLE="none")
                self.assert_equal_counts(own, seen)
                self.assertEqual(dict(seen.recorded), own.calls)

    def test_sampling_thins_records_and_neither_calls_nor_messages(self):
        own, seen = self.count(MPIS[0], 200_000, 2, XYLEM_SAMPLE="MPI_*=50")
        self.assert_equal_counts(own, seen)
        for key, calls in own.calls.items():
            self.assertLessEqual(calls - seen.recorded[key], 3 * 50, f"pending calls of {key}")

    def test_what_a_full_ring_loses_is_counted(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                own, seen = self.count(mpi, 200_000, 2, "--hold", XYLEM_RING="256",
                                       XYLEM_SAMPLE="none")
                self.assertEqual(dict(seen.calls), own.calls)
                self.assertGreater(sum(seen.lost.values()), 0)
                for key, calls in own.calls.items():
                    self.assertEqual(seen.recorded[key] + seen.lost[key], calls, key)
                for rank in range(len(seen.processes)):
                    sent, received = own.messages("send", rank), own.messages("receive", rank)
                    found = zip(seen.messages("send", rank), seen.lost_messages[rank])
                    self.assertEqual(tuple(sum(pair) for pair in found), sent, f"rank {rank}")
                    self.assertGreater(seen.lost_messages[rank][0], 0)
                    self.assertEqual(seen.messages("receive", rank)[0] + seen.lost_receives[rank],
                                     received[0], f"rank {rank}")

    def test_switched_off_it_records_nothing_more(self):
        own, seen = self.count(MPIS[0], 50_000, 1, "--disable")
        self.assertLess(sum(seen.calls.values()), sum(own.calls.values()) / 100)

    def test_each_kind_of_call_means_what_it_should(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                prefix = self.folder / "own"
                job, seen = self.watch(mpirun(mpi, 4, "meanings", prefix), 4)
                self.assertEqual(job.returncode, 0, job.stderr)
                self.assert_equal_counts(Own(prefix, 4), seen)

    def test_ranks_of_a_world_share_a_key_that_others_do_not(self):
        keys = set()
        for mpi in MPIS * 2:
            _, seen = self.watch(mpirun(mpi, 4, "fates", "finalize", 1), 4)
            self.assertEqual(sorted(p["rank"] for p in seen.processes.values()), [0, 1, 2, 3])
            self.assertEqual({p["size"] for p in seen.processes.values()}, {4})
            (key,) = {p["key"] for p in seen.processes.values()}
            keys.add(key)
        self.assertEqual(len(keys), len(MPIS) * 2)


class Fates(CaptureTest):
    def fate(self, mpi, name, *arguments, **more):
        """One rank, each call with a record; asserts that its calls are counted, gives the job and its process."""
        more.setdefault("XYLEM_SAMPLE", "none")
        job, seen = self.watch(mpirun(mpi, 1, "fates", name, *arguments), 1, **more)
        told = [int(line.split()[1]) for line in job.stdout.splitlines() if line.startswith("calls")]
        self.assertEqual([sum(seen.calls.values())], told, job.stderr)
        return job, seen

    def test_a_process_that_never_finalizes_is_complete(self):
        for mpi in MPIS:
            for name, state in (("_exit", RUNNING), ("no-finalize", EXITED)):
                with self.subTest(f"{mpi} {name}"):
                    _, seen = self.fate(mpi, name, 5000)
                    self.assertEqual(seen.only_process()["state"], state)
                    self.assertEqual(seen.recorded, seen.calls)

    def test_a_killed_process_is_complete(self):
        for mpi in MPIS:
            for name in ("kill", "segfault"):
                with self.subTest(f"{mpi} {name}"):
                    job, seen = self.fate(mpi, name, 5000)
                    self.assertNotEqual(job.returncode, 0)
                    self.assertEqual(seen.only_process()["state"], RUNNING)
                    self.assertEqual(seen.recorded, seen.calls)

    def test_the_call_that_a_process_died_in_is_pending(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                job, seen = self.fate(mpi, "abort", 10)
                self.assertEqual(job.returncode, 3)
                self.assertEqual((seen.calls - seen.recorded), {(0, "MPI_Abort"): 1})

    def test_calls_after_finalize_count(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                _, seen = self.fate(mpi, "after")
                self.assertEqual(seen.calls[(0, "MPI_Finalized")], 1)

    def test_a_forked_child_writes_nothing_into_its_parents_ring(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                _, seen = self.fate(mpi, "fork", 100)
                self.assertEqual(seen.only_process()["state"], EXITED)

    def test_mpi_may_start_after_an_exec(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                self.fate(mpi, "exec", 100)

    def test_short_lived_threads_share_rings(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                _, seen = self.fate(mpi, "threads", 800)
                self.assertLessEqual(seen.only_process()["threads"], 16)
                self.assertEqual(seen.recorded, seen.calls)

    def test_calls_of_threads_beyond_the_rings_are_counted_as_lost(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                _, seen = self.watch(mpirun(mpi, 1, "fates", "many-threads", 100), 1)
                process = seen.only_process()
                self.assertEqual(process["threads"], 64)
                self.assertEqual(process["ringless"], 100 - 63)  # The main thread has one.
                self.assertEqual(sum(seen.calls.values()) + process["ringless"], 103)

    def test_no_mpi_no_trace(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                job = self.run_job([PROGRAMS / f"fates.{mpi}", "without-mpi"])
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                self.assertFalse(self.run_folder.exists())

    def test_without_an_address_it_is_inert(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                job = self.run_job(mpirun(mpi, 2, "fates", "finalize", 10), XYLEM_ADDRESS="")
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                self.assertFalse(self.run_folder.exists())

    def test_without_an_address_every_argument_is_passed_on(self):
        for mpi in MPIS:  # A program that calls functions of up to twelve arguments.
            with self.subTest(mpi):
                prefix = self.folder / "own"
                job = self.run_job(mpirun(mpi, 4, "meanings", prefix), XYLEM_ADDRESS="")
                self.assertEqual((job.returncode, job.stderr), (0, ""))


class AgentStart(CaptureTest):
    """Here the ranks start capture_probe as they would start xylem-backend."""

    def agent(self, host):
        path = self.folder / f"probe-{host}.tsv"
        wait_until(lambda: path.exists() and path.read_text().endswith("end\n"), f"{path} is whole")
        wait_until(lambda: not list(pathlib.Path("/dev/shm").glob(f"*{self.run_id}*")), "folder gone")
        found = collections.defaultdict(list)
        for kind, *rest in cells(path):
            found[kind].append(rest)
        return found

    def test_the_first_rank_of_a_host_starts_one_agent_for_all(self):
        host = os.uname().nodename
        for mpi in MPIS:
            with self.subTest(mpi):
                job = self.run_job(mpirun(mpi, 4, "fates", "finalize", 10))
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                agent = self.agent(host)
                self.assertEqual(len(agent["process"]), 4)
                (self.folder / f"probe-{host}.tsv").unlink()

    def test_the_agent_gets_the_key_and_only_what_it_needs(self):
        key = secrets.token_hex(32)
        self.run_job(mpirun(MPIS[0], 1, "fates", "finalize"), XYLEM_KEY=key, XYLEM_LOG="debug",
                     SECRET="of the job")
        agent = self.agent(os.uname().nodename)
        self.assertEqual(agent["key"], [[key]])
        names = {line[0].split("=")[0] for line in agent["environment"]}
        self.assertLessEqual(names, {"PATH", "HOME", "TMPDIR", "USER", "LANG", "XYLEM_TLS", "XYLEM_ADDRESS",
                                     "XYLEM_RUN", "XYLEM_FOLDER", "XYLEM_HOST", "XYLEM_LOG"})
        self.assertIn("XYLEM_LOG", names)
        self.assertEqual([d[1] for d in agent["descriptor"] if d[0] in "012"], ["/dev/null"] * 3)
        self.assertEqual([d[0] for d in agent["descriptor"] if int(d[0]) > 2], ["3"])
        self.assertEqual(agent["processors"], [[str(len(os.sched_getaffinity(0)))]])

    def test_the_application_notices_nothing(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                job = self.run_job(mpirun(mpi, 1, "fates", "quiet"))
                said = dict(line.split() for line in job.stdout.splitlines() if " " in line)
                self.assertEqual((said["sigchld"], said["child"], said["key"]), ("0", "-1", "gone"))
                counts = [line for line in job.stdout.splitlines() if " " not in line]
                self.assertEqual(counts, ["0", "0"], "the key in /proc, our open descriptors")
                self.agent(os.uname().nodename)
                (self.folder / f"probe-{os.uname().nodename}.tsv").unlink()

    def test_the_key_is_handed_to_whoever_asks_in_a_rank_before_and_after_it_starts_and_to_no_child(self):
        for mpi in MPIS:
            for fate in ("key-first", "key"):
                with self.subTest(mpi=mpi, fate=fate):
                    job = self.run_job(mpirun(mpi, 1, "fates", fate))
                    self.assertEqual((job.returncode, job.stderr), (0, ""))
                    self.assertEqual(job.stdout.split()[:4], ["kept", "1", "child", "0"])
                    agent = self.agent(os.uname().nodename)  # Was started with the key all the same.
                    self.assertEqual(len(agent["key"]), 1)
                    (self.folder / f"probe-{os.uname().nodename}.tsv").unlink()

    def test_pretended_hosts_have_an_agent_each(self):
        for mpi in MPIS:
            with self.subTest(mpi):
                job = self.run_job(mpirun(mpi, 4, "fates", "finalize", 10), XYLEM_TEST_SIZE="2")
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                for host in ("test00", "test01"):
                    self.assertEqual(len(self.agent(host)["process"]), 2)
                    (self.folder / f"probe-{host}.tsv").unlink()

    def test_a_stale_socket_is_replaced(self):
        self.make_run_folder()
        import socket
        left = socket.socket(socket.AF_UNIX)
        left.bind(str(self.run_folder / "agent"))
        left.close()  # The file stays, and nobody listens.
        job = self.run_job(mpirun(MPIS[0], 2, "fates", "finalize"))
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(len(self.agent(os.uname().nodename)["process"]), 2)

    def assert_off(self, sentence, **more):
        for mpi in MPIS:
            with self.subTest(mpi):
                begin = time.monotonic()
                job = self.run_job(mpirun(mpi, 1, "fates", "finalize", 10), **more)
                self.assertEqual(job.returncode, 0)
                self.assertEqual(job.stdout, "calls 13\n")
                self.assertRegex(job.stderr, f"^xylem: capture is off in this process: {sentence}")
                self.assertEqual(job.stderr.count("\n"), 1, "said once")
                self.assertLess(time.monotonic() - begin, 30)

    def test_a_missing_agent_turns_capture_off(self):
        self.assert_off("cannot start the agent /no/such/agent: no such file",
                        XYLEM_BACKEND="/no/such/agent")

    def test_an_agent_that_fails_turns_capture_off(self):
        self.assert_off("the agent ended as it started: /bin/false", XYLEM_BACKEND="/bin/false")

    def test_a_missing_key_turns_capture_off(self):
        self.assert_off("no agent runs here and XYLEM_KEY", XYLEM_KEY="short")

    def test_a_run_id_that_is_none_turns_capture_off(self):
        self.assert_off("XYLEM_RUN is not a run id", XYLEM_RUN="../../etc")

    def test_a_folder_open_to_others_is_not_trusted(self):
        self.make_run_folder()
        self.run_folder.chmod(0o755)
        self.assert_off("not a private folder of this user: /dev/shm/xylem-")

    def test_a_lock_that_is_held_delays_but_does_not_hang(self):
        self.make_run_folder()
        with open(self.run_folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assert_off("another process holds the lock for too long: /dev/shm/xylem-")

    def test_wrong_settings_are_said_and_ignored(self):
        job = self.run_job(mpirun(MPIS[0], 1, "fates", "finalize"), XYLEM_RING="1000",
                           XYLEM_SAMPLE="MPI_Nothing=7")
        self.assertEqual(job.returncode, 0)
        self.assertIn("xylem: XYLEM_RING is not a power of two", job.stderr)
        self.assertIn("ignored: MPI_Nothing=7", job.stderr)
        self.agent(os.uname().nodename)


@unittest.skipUnless("openmpi" in MPIS, "no Open MPI")
class TheObject(unittest.TestCase):
    """The library's file, as it is loaded into programs of other systems."""

    def test_needs_no_newer_c_library_than_2_17(self):
        listed = subprocess.run(["objdump", "-T", LIBRARY], capture_output=True, text=True, check=True).stdout
        needed = {tuple(map(int, version.split("."))) for version in re.findall(r"\(?GLIBC_([0-9.]+)\)?", listed)}
        self.assertTrue(needed)
        self.assertLessEqual(max(needed), (2, 17), listed)

    def test_has_no_state_that_a_constructor_would_set_back(self):
        """Programs call MPI in constructors that run before this library's."""
        listed = subprocess.run(["nm", "-C", LIBRARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("prepare_launcher", listed)
        self.assertNotIn("_GLOBAL__sub_I", listed)


class OpenMpiLauncher(CaptureTest):
    """The variable that carries the run to other hosts, beside the user's own."""

    LIST = "LD_PRELOAD;XYLEM_ADDRESS;XYLEM_RUN"
    HANDED_ON = f"{LIST};XYLEM_WORLD"  # Which the launcher has drawn.

    def seen_by_ranks(self, *options, **more):
        command = mpirun("openmpi", 1, "fates")[:-1]
        job = self.run_job([*command, *options, "env"], OMPI_MCA_mca_base_env_list=self.LIST, **more)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        return dict(line.split("=", 1) for line in job.stdout.splitlines() if "=" in line)

    def test_alone(self):
        self.assertEqual(self.seen_by_ranks()["XYLEM_RUN"], self.run_id)

    def test_beside_x(self):
        seen = self.seen_by_ranks("-x", "MINE=5")
        self.assertEqual((seen["XYLEM_RUN"], seen["MINE"]), (self.run_id, "5"))
        # What travels to other hosts' daemons.
        self.assertEqual(seen["OMPI_MCA_mca_base_env_list_internal"], self.HANDED_ON)

    def test_beside_a_list_on_the_command_line(self):
        seen = self.seen_by_ranks("--mca", "mca_base_env_list", "MINE=6")
        self.assertEqual((seen["XYLEM_RUN"], seen["MINE"]), (self.run_id, "6"))
        self.assertEqual(seen["OMPI_MCA_mca_base_env_list"], f"MINE=6;{self.HANDED_ON}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
