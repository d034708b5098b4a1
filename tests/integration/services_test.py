#!/usr/bin/env python3
"""Auxiliary services of hosts in real jobs: each runs once, with an exact account, whichever process dies."""

import os
import pathlib
import re
import signal
import subprocess
import unittest

from harness import BUILD, DEADLINE, Store, WholeSystemTest, environment, mpirun, wait_until

SERVICES = """
[service.host]
interval = "200ms"
[service.process]
interval = "200ms"
[service.probe]
exec = "{folder}/probe 40"
interval = "200ms"
"""
PROBE = """#!/bin/sh
echo '# TYPE runs counter'
echo "runs_total $(date +%s)"
echo "watts $1"
"""


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class ServicesTest(WholeSystemTest):
    SAMPLES = "SELECT count(*) FROM series_row"

    def setUp(self):
        super().setUp()
        self.write("services.toml", SERVICES.format(folder=self.folder))
        self.write("probe", PROBE)
        self.store = Store(self.folder / "run.db")

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o700)
        return path

    def start_job(self, *command, options=()):
        self.process = self.start("run", "--store", "run.db", "--config", "services.toml", *options, "--", *command)
        wait_until(self.measured, "samples are stored")

    def measured(self, more_than=10):
        try:
            return self.store.value(self.SAMPLES) > more_than
        except AssertionError:  # No store yet.
            return False

    def finish(self, expect=0):
        out, said = self.process.communicate(timeout=DEADLINE)
        self.assertEqual(self.process.returncode, expect, out + said)
        self.assert_intact(self.store)
        return said

    def kill(self, *names):
        def only_process(name):
            """Its pid. A child that has not begun its own program yet has the same name for a moment."""
            pids = [pid for pid in self.own_processes() if name_of(pid) == name]
            return pids[0] if len(pids) == 1 else None

        for name in names:
            os.kill(wait_until(lambda name=name: only_process(name), f"there is one {name}"), signal.SIGKILL)

    def accounts(self):
        lines = self.store.rows("SELECT * FROM service_account ORDER BY leaf, service")
        for line in lines:
            self.assertEqual(line["captured"], line["stored"] + line["lost"], line)
            kept = self.store.value("SELECT count(DISTINCT s.at_ns) FROM series_row s JOIN service v ON v.id = "
                                    f"s.service WHERE v.leaf = {line['leaf']} AND v.name = '{line['service']}'")
            self.assertLessEqual(kept, line["stored"], line)
            self.assertGreater(kept, 0, line)
        return lines

    def assert_all_stored(self):
        lines = self.accounts()
        self.assertEqual([line["service"] for line in lines], ["host", "probe", "process"])
        for line in lines:
            self.assertEqual((line["lost"], line["complete"]), (0, 1), line)
            self.assertGreater(line["stored"], 5, line)
        for line in self.store.account():
            self.assertEqual((line["captured"], line["lost"], line["complete"]), (line["stored"], 0, 1), line)

    def test_one_run_carries_events_windows_all_services_and_beside_it_a_tools_tree(self):
        launcher = self.write("launcher", "#!/bin/sh\nshift\nexec \"$@\"\n")
        self.start_job(*mpirun("mpich", 2, "behave", "loop", 6), options=("--detail", "trace"))
        tool = subprocess.run([BUILD / "tests/tool_process", "start", "alpha,beta", launcher,
                               BUILD / "libexec/xylem/xylem-commproc"],
                              env=environment(), capture_output=True, text=True, timeout=DEADLINE, cwd=self.folder)
        self.assertEqual(tool.returncode, 0, tool.stderr)
        self.finish()
        self.assert_all_stored()
        for line in self.store.rows("SELECT * FROM account_event"):
            self.assertEqual((line["events"], line["lost_events"], line["complete"]),
                             (line["stored_events"], 0, 1), line)
        self.assertGreaterEqual(self.store.value(
            "SELECT count(DISTINCT name) FROM host_metric WHERE name NOT LIKE 'probe.%'"), 200)
        self.assertEqual(self.store.rows("SELECT DISTINCT value FROM host_metric WHERE name = 'probe.watts'"),
                         [{"value": 40}])
        self.assertEqual(self.store.rows("SELECT DISTINCT world, rank FROM process_metric ORDER BY rank"),
                         [{"world": 0, "rank": 0}, {"world": 0, "rank": 1}])
        # A rank that loops over MPI calls is busy, and this host has as many processors as it says.
        self.assertGreater(self.store.value("SELECT max(value) FROM process_metric WHERE name = 'cpu.user'"), 5)
        self.assertEqual(self.store.value("SELECT count(DISTINCT name) FROM host_metric WHERE name GLOB "
                                          "'cpu[0-9]*.user'"), os.cpu_count())
        self.assert_nothing_left()

    def test_killed_workers_and_a_killed_front_end_lose_no_sample(self):
        self.start_job(*mpirun("mpich", 2, "behave", "loop", 8))
        self.kill("xylem-backend")
        before = self.store.value(self.SAMPLES)
        wait_until(lambda: self.measured(before + 10), "the worker's successor measures")
        self.kill("xylem-frontend")
        wait_until(lambda: self.measured(before + 20), "the front end's successor stores")
        self.finish()
        lines = self.accounts()
        self.assertEqual([line["service"] for line in lines], ["host", "probe", "process"])
        for line in lines:
            # A sample that the worker died over is the only one that may be missing.
            self.assertLessEqual(line["lost"], 1, line)
            self.assertTrue(line["complete"], line)
        self.assert_nothing_left()

    def test_another_back_end_of_the_host_takes_over_when_guard_and_worker_are_killed(self):
        first = " ".join(map(str, mpirun("mpich", 1, "behave", "loop", 8)))
        second = " ".join(map(str, mpirun("mpich", 1, "behave", "loop", 3)))
        job = self.write("job.sh", f"#!/bin/sh\n{first} &\nuntil [ -e go ]; do sleep 0.1; done\n{second}\nwait\n")
        self.start_job(job)
        self.kill("xylem-guard", "xylem-backend")
        (self.folder / "go").touch()
        leaves = "SELECT count(DISTINCT leaf) FROM service_account WHERE service = 'host' AND stored > 3"
        wait_until(lambda: self.store.value(leaves) == 2, "another agent measures")
        self.finish()
        lines = self.accounts()
        hosts = [line for line in lines if line["service"] == "host"]
        self.assertEqual([line["complete"] for line in hosts], [0, 1], lines)
        both = self.store.value(
            "SELECT count(*) FROM (SELECT max(at_ns) AS last FROM host_metric WHERE leaf = "
            f"{hosts[0]['leaf']}) a, (SELECT min(at_ns) AS first FROM host_metric WHERE leaf = "
            f"{hosts[1]['leaf']}) b WHERE a.last >= b.first")
        self.assertEqual(both, 0, "two back ends measured at once")
        self.assert_nothing_left()

    def test_a_program_that_fails_disturbs_nobody_and_is_said_once(self):
        self.write("probe", "#!/bin/sh\nsleep 1000 &\nexit 3\n")
        self.start_job(*mpirun("mpich", 1, "behave", "loop", 4))
        said = self.finish()
        self.assertEqual(said.count("ended with code 3"), 1, said)
        self.assertEqual(self.store.rows("SELECT service FROM service_account WHERE captured > 0 ORDER BY 1"),
                         [{"service": "host"}, {"service": "process"}])
        self.assertEqual(self.store.rows("SELECT captured, stored, lost FROM service_account WHERE service = 'probe'"),
                         [{"captured": 0, "stored": 0, "lost": 0}])
        report = self.xylem("report", self.store.path).stdout
        self.assertRegex(report, r"  probe: 0 samples captured, 0 stored, 0 lost; .*ended with code 3")
        self.assert_nothing_left()

    def test_host_and_process_run_without_a_file_unless_they_are_turned_off(self):
        for options, expected in (((), ["host", "process"]), (("--services", "process"), ["process"]), (("--services", "none"), [])):
            store = self.run_job(mpirun("openmpi", 2, "known_times", "uneven", 15, 100, 100), "--overwrite", *options)
            self.assertEqual([row["service"] for row in store.rows(
                "SELECT DISTINCT service FROM service_account WHERE stored > 0 ORDER BY 1")], expected, options)

    def test_what_a_file_says_wrong_is_refused_with_its_line(self):
        for text, why in (("[service.Host]\n", "services.toml:1: 'Host' cannot be the name"),
                          ("[service.gpu]\n", "services.toml:1: service gpu: host and process are built in"),
                          ("[service.gpu]\nexec = \"gpu\"\n", "services.toml:2: service gpu: 'gpu' does not begin"),
                          ("[service.host]\nexec = \"/bin/true\"\n", "services.toml:2: service host: the service host"),
                          ("[service.host]\ninterval = \"1ms\"\n", "services.toml:2: service host: '1ms' is not from"),
                          ("[service.host]\nevery = \"1s\"\n", "services.toml:2: service host: a service has the keys")):
            self.write("services.toml", text)
            done = self.xylem("run", "--config", "services.toml", "--", "true")
            self.assertEqual(done.returncode, 2, text)
            self.assertIn(why, done.stderr)
        self.write("services.toml", "[service.host]\n")
        printed = self.xylem("run", "--config", "services.toml", "--print-config")
        self.assertIn("[service.host]\ninterval = \"1s\"\n", printed.stdout)


class Processors(WholeSystemTest):
    def test_the_record_has_the_processor_of_the_host_and_those_of_each_rank(self):
        allowed = sorted(os.sched_getaffinity(0))
        expected = [str(allowed[rank % len(allowed)]) for rank in range(2)]
        info = pathlib.Path("/proc/cpuinfo").read_text()
        model = re.search(r"^model name\s*: (.*?)\s*$", info, re.MULTILINE)
        for library, variable in (("openmpi", "OMPI_COMM_WORLD_RANK"), ("mpich", "PMI_RANK")):
            with self.subTest(library):
                *launcher, program, calls, threads, seed, prefix = mpirun(library, 2, "count_calls", 100, 1, 7, self.folder / "own")
                bound = f'set -- {" ".join(expected)}; shift ${variable}; exec taskset -c $1 {program} {calls} {threads} {seed} {prefix}'
                store = self.run_job([*launcher, "sh", "-c", bound], name=f"{library}.db")
                ranks = store.rows("SELECT rank, processors FROM rank ORDER BY rank")
                self.assertEqual(ranks, [{"rank": rank, "processors": expected[rank]} for rank in range(2)])
                host, = store.rows("SELECT processor, frequency_hz FROM host")
                self.assertEqual(host["processor"], model and model[1])
                if "cpu MHz" in info:
                    self.assertGreater(host["frequency_hz"], 100_000_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
