#!/usr/bin/env python3
"""Claims about skips.py: which skips it finds in ctest's results, and which of them fail a run."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent

GTEST = """[ RUN      ] Disk.IsFull
disk_test.cc:12: Skipped
needs the right to mount
[  SKIPPED ] Disk.IsFull (0 ms)
[  PASSED  ] 0 tests.
"""
GTEST_BRIEF = """disk_test.cc:12: Skipped
needs the right to mount
[  SKIPPED ] 1 test.
"""
UNITTEST = """test_one (disk_test.Disk.test_one)
A first line that says more. ... skipped "the disk's gone"
test_two (disk_test.Disk.test_two) ... said meanwhile
skipped 'no disk'
setUpClass (disk_test.Cluster) ... skipped 'no hosts'
test_three (disk_test.Disk.test_three) ... ok

OK (skipped=3)
"""
UNITTEST_IN_ANOTHER_FORM = "s.\n\nOK (skipped=1)\n"


class Skips(unittest.TestCase):
    def judge(self, *cases, expected=""):
        """(exit code, output) of skips.py for (name, output, ctest's own marks) of each test."""
        with tempfile.TemporaryDirectory() as folder:
            results, known = pathlib.Path(folder, "results.xml"), pathlib.Path(folder, "expected_skips.txt")
            results.write_text("<testsuite>" + "".join(
                f'<testcase name="{name}">{"".join(marks)}<system-out>{escape(output)}</system-out></testcase>'
                for name, output, *marks in cases) + "</testsuite>")
            known.write_text(expected)
            done = subprocess.run([sys.executable, FOLDER / "skips.py", results, known], capture_output=True, text=True,
                                  check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_run_without_skips_is_silent(self):
        self.assertEqual(self.judge(("Disk.IsFull", "[       OK ] Disk.IsFull (0 ms)\n"), ("streams", "OK\n")), (0, ""))

    def test_an_unexpected_skip_fails_with_a_sentence(self):
        for name, output, marks, said in (
                ("Disk.IsFull", GTEST, ["<skipped/>"], "Disk.IsFull: needs the right to mount"),
                ("disk_test", GTEST_BRIEF, [], "disk_test: needs the right to mount"),
                ("disk", UNITTEST, [], "disk.test_one: the disk's gone"),
                ("disk", UNITTEST, [], "disk.test_two: no disk"),
                ("disk", UNITTEST, [], "disk.Cluster: no hosts"),
                ("disk", UNITTEST_IN_ANOTHER_FORM, [], "disk: 1 tests without a reason that is known here"),
                ("tables", "libclang is missing\n", ["<skipped/>"], "tables: libclang is missing")):
            with self.subTest(said):
                code, printed = self.judge((name, output, *marks))
                self.assertEqual(code, 1)
                self.assertIn(f"xylem: skipped, but must run here: {said}\n", printed)
                self.assertIn("expected_skips.txt does not expect on this machine", printed)

    def test_an_expected_skip_is_named_and_passes(self):
        code, printed = self.judge(("Disk.IsFull", GTEST), expected="# Known.\nDisk.*: needs * | true | No right.\n")
        self.assertEqual((code, printed), (0, "xylem: skipped, as expected here: Disk.IsFull: needs the right to mount\n"))

    def test_a_skip_that_is_expected_on_other_machines_fails(self):
        code, _ = self.judge(("Disk.IsFull", GTEST), expected="Disk.*: needs * | false | No right.\n")
        self.assertEqual(code, 1)

    def test_a_list_that_cannot_be_read_fails_with_file_and_line(self):
        code, printed = self.judge(expected="Disk.*\n")
        self.assertEqual((code, printed), (1, "xylem: expected_skips.txt:1: not PATTERN | WHERE | WHY\n"))

    def test_the_committed_list_can_be_read(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.xml")
            results.write_text("<testsuite/>")
            subprocess.run([sys.executable, FOLDER / "skips.py", results, FOLDER / "expected_skips.txt"], check=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
