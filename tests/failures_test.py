#!/usr/bin/env python3
"""Claims about failures.py: of each test that failed it prints the end, of others nothing."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

PROGRAM = pathlib.Path(__file__).resolve().parent / "failures.py"


class Failures(unittest.TestCase):
    def said_of(self, *cases):
        """The output of failures.py for (name, whether it failed, output) of each test."""
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.xml")
            results.write_text("<testsuite>" + "".join(
                f'<testcase name="{name}">{"<failure/>" if failed else ""}<system-out>{escape(output)}</system-out></testcase>'
                for name, failed, output in cases) + "</testsuite>")
            return subprocess.run([sys.executable, PROGRAM, results], capture_output=True, text=True, check=True).stdout

    def test_a_run_without_failures_prints_nothing(self):
        self.assertEqual(self.said_of(("streams", False, "OK\n")), "")

    def test_the_end_of_each_failed_test_is_printed(self):
        said = self.said_of(("streams", False, "OK\n"), ("disk", True, "no <disk>\n"), ("api", True, ""),
                            ("many", True, "\n".join(f"line {number}." for number in range(100))))
        self.assertIn("xylem: the end of disk, which failed:\n  no <disk>\n", said)
        self.assertIn("xylem: the end of api, which failed:\n  it printed nothing\n", said)
        self.assertNotIn("OK", said)
        self.assertNotIn("line 69.", said)
        self.assertIn("  line 70.\n", said)
        self.assertTrue(said.endswith("  line 99.\n"), said)


if __name__ == "__main__":
    unittest.main()
