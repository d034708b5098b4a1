#!/usr/bin/env python3
"""`xylem calibrate` with both MPIs on this host, and between two emulated hosts with a delay of known size. The figures
of a busy machine are not known, so on one host only what must hold for any machine is checked; the estimate itself has
unit tests. The tests on emulated hosts need root."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from emulated_cluster import RSH, EmulatedClusterTest
from harness import BUILD, DEADLINE, LAUNCHERS, XYLEM, WholeSystemTest, environment, wait_until

PROGRAM = str(BUILD / "libexec/xylem/xylem-calibrate")
FIGURES = ("latency_ns", "overhead_ns", "send_overhead_ns", "receive_overhead_ns", "gap_ns", "gap_per_byte_ns",
           "overhead_per_byte_ns")
# Few rounds, and much time for a machine that is busy.
QUICK = ("--repetitions", "10", "--limit", "400s")


def two_ranks(library, *options):
    return [*LAUNCHERS[library], *options, "-n", "2"]


def assert_figures(test, result):
    """What holds for each measurement."""
    test.assertEqual((result["version"], result["view"]), (1, "calibrate"))
    for name in FIGURES:
        with test.subTest(name):
            figure = result[name]
            test.assertLessEqual(0, figure["low"])
            test.assertLessEqual(figure["low"], figure["value"])
            test.assertLessEqual(figure["value"], figure["high"])
    for name in ("send_overhead_ns", "receive_overhead_ns", "overhead_ns"):
        test.assertGreater(result[name]["value"], 0, name)
    test.assertAlmostEqual(result["overhead_ns"]["value"] * 2,
                           result["send_overhead_ns"]["value"] + result["receive_overhead_ns"]["value"])
    test.assertLessEqual(result["overhead_per_byte_ns"]["value"], result["gap_per_byte_ns"]["value"])
    test.assertGreaterEqual(len(result["checks"]), 3)
    for check in result["checks"]:
        test.assertGreater(check["measured_ns"], 0)
        test.assertGreater(check["predicted_ns"], 0)


class OneHost(WholeSystemTest):
    def calibrate(self, library, *options, launcher=()):
        done = self.xylem("calibrate", *QUICK, "--output", "my.toml", "--json", *options, "--",
                          *two_ranks(library, *launcher))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), (self.folder / "my.toml").read_text()

    def assert_predicts(self, result):
        """The file is a target, and a prediction with it has its numbers."""
        done = self.xylem("predict", "--target", "my.toml", "--message", "0,1,1001", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        predicted = json.loads(done.stdout)
        expected = (2 * round(result["overhead_ns"]["value"]) + round(result["latency_ns"]["value"]) +
                    1000 * result["gap_per_byte_ns"]["value"])
        # Rounding: three times half a nanosecond, and half of 0.0001 ns for each byte.
        self.assertAlmostEqual(predicted["total_ns"], expected, delta=2.1)
        done = self.xylem("predict", "--synthesise", "ring", "--ranks", "2", "--bytes", "1000", "--target", "my.toml")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def measure(self, library):
        result, file = self.calibrate(library, "--disk", str(self.folder))
        assert_figures(self, result)
        self.assertTrue(result["one_host"])
        self.assertEqual(result["hosts"], [os.uname().nodename] * 2)
        self.assertEqual(result["rounds"], 10)
        self.assertIn({"mpich": "libmpich", "openmpi": "libmpi.so"}[library], result["library"])
        for access in ("read", "write"):
            self.assertGreater(result["disk"][access]["latency_ns"]["value"], 0)
            self.assertGreater(result["disk"][access]["bytes_per_ns"]["value"], 0)
        self.assertIn("Both ranks were on one host", file)
        self.assert_predicts(result)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["my.toml"], "the disk's file has remained")
        self.assert_no_ranks()

    def assert_no_ranks(self):
        wait_until(lambda: not self.ranks(), "all ranks have ended")

    def ranks(self):
        """Ids of the measuring processes of this test."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
                if os.readlink(folder / "exe") == PROGRAM and f"TMPDIR={self.folder}" in variables:
                    found.append(int(folder.name))
            except OSError:
                pass
        return found

    def test_with_mpich(self):
        self.measure("mpich")

    def test_with_open_mpi(self):
        self.measure("openmpi")

    def test_finds_the_eager_limit_that_was_set(self):
        """Open MPI counts its header, of at most 64 bytes, in the limit."""
        for limit in (1024, 16384):
            with self.subTest(limit):
                result, _ = self.calibrate("openmpi", launcher=("--mca", "btl_vader_eager_limit", str(limit)))
                self.assertLessEqual(result["eager_bytes"], limit)
                self.assertGreater(result["eager_bytes"], limit - 65)
                self.assertEqual(result["waiting_bytes"], result["eager_bytes"] + 1)
                (self.folder / "my.toml").unlink()

    def refused(self, code, *words):
        done = self.xylem("calibrate", *words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Axylem(: | calibrate: )[^\n]+\n\Z")
        self.assertFalse((self.folder / "my.toml").exists())
        return done.stderr

    def test_what_is_wrong_is_said_in_a_sentence(self):
        launcher = LAUNCHERS["openmpi"]
        self.assertIn("there is no launcher", self.refused(2))
        self.assertIn("--repetitions", self.refused(2, "--repetitions", "3", "--", "true"))
        self.assertIn("--limit", self.refused(2, "--limit", "5ms", "--", "true"))
        self.assertIn("cannot start no-such-launcher", self.refused(127, "--", "no-such-launcher", "-n", "2"))
        self.assertIn("false ended with code 1 without a result",
                      self.refused(1, "--output", "my.toml", "--", "false"))
        self.assertIn("world of one rank", self.refused(1, "--", *launcher, "-n", "1"))
        self.assertIn("has started 3 ranks, and two are needed", self.refused(1, "--", *launcher, "-n", "3"))
        self.assertIn("no MPI library can be loaded (libno-such.so: ",
                      self.refused(1, "--mpi", "libno-such.so", "--", *launcher, "-n", "2"))
        self.assertIn("name the right one with --mpi LIBRARY",
                      self.refused(1, "--mpi", "libmpich.so.12", "--", *launcher, "-n", "2"))
        self.assertIn("is not an MPI library", self.refused(1, "--mpi", "libm.so.6", "--", *launcher, "-n", "2"))
        self.assertIn("--disk /no/such", self.refused(1, *QUICK, "--disk", "/no/such", "--", *launcher, "-n", "2"))
        self.assertIn("has not ended within 1.00 s", self.refused(1, "--limit", "1s", "--", "sh", "-c", "sleep 1000"))
        (self.folder / "old.toml").write_text("mine")
        self.assertIn("old.toml: exists", self.refused(2, "--output", "old.toml", "--", *launcher, "-n", "2"))
        self.assertEqual((self.folder / "old.toml").read_text(), "mine")
        self.assert_no_ranks()

    def test_a_library_may_be_named(self):
        done = self.xylem("calibrate", *QUICK, "--mpi", "libmpi.so.40", "--", *two_ranks("openmpi"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("half a round trip", done.stdout)
        self.assertIn("--output FILE writes a target", done.stdout)

    def test_a_signal_ends_all_and_leaves_no_file(self):
        for library in ("mpich", "openmpi"):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(library=library, signal=number):
                    process = subprocess.Popen([XYLEM, "calibrate", "--repetitions", "10000", "--limit", "400s",
                                                "--output", "my.toml", "--", *two_ranks(library)], cwd=self.folder,
                                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                               text=True)
                    wait_until(lambda: len(self.ranks()) == 2, "both ranks run")
                    process.send_signal(number)
                    out, said = process.communicate(timeout=DEADLINE)
                    self.assertEqual((process.returncode, out), (128 + number, ""), said)
                    self.assertIn("xylem calibrate: interrupted; nothing was written\n", said)
                    self.assertFalse((self.folder / "my.toml").exists())
                    self.assert_no_ranks()


class TwoHosts(EmulatedClusterTest):
    """A delay on both hosts adds to each message, so to L, and not to o, g or G."""

    HOSTS = 2
    NETWORK = "10.98"
    DELAY_MS = 10

    def calibrate(self, run, launcher):
        done = run("head", XYLEM, "calibrate", *QUICK, "--json", "--", *launcher)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        assert_figures(self, result)
        self.assertFalse(result["one_host"])
        self.assertEqual(result["hosts"], ["node01", "node02"])
        return result

    def rises_by_the_delay(self, launcher):
        before = self.calibrate(self.on, launcher)
        for host in self.hosts():
            self.cluster("delay", host, self.DELAY_MS)
        try:
            after = self.calibrate(self.on, launcher)
        finally:
            for host in self.hosts():
                self.cluster("delay", host, 0)
        rise = (after["latency_ns"]["value"] - before["latency_ns"]["value"]) / 1e6
        print(f"L was {before['latency_ns']['value'] / 1e6:.3f} ms; with a delay of {self.DELAY_MS} ms it is "
              f"{rise:.3f} ms more")
        # The delay holds packets at least as long, and the program that does it needs the processor too.
        self.assertGreater(rise, 0.8 * self.DELAY_MS)
        self.assertLess(rise, 2.5 * self.DELAY_MS)
        self.assertLess(after["overhead_ns"]["value"], self.DELAY_MS * 1e6 / 4)

    def test_with_open_mpi(self):
        self.rises_by_the_delay(self.open_mpi({"node01": 1, "node02": 1}))

    def test_with_mpich(self):
        hosts = ",".join(self.hosts())
        result = self.calibrate(self.on_with_mpich, ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", str(RSH),
                                                     "-hosts", hosts, "-n", "2"])
        self.assertIn("libmpich", result["library"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
